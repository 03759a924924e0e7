// The audit in files of the project; the list of heads is in Kiwi's own folder. An append is one synchronous write to a
// descriptor that was checked once: handing a line to another thread costs ten times as much as writing it.
import { Clock, Duration, Effect, Exit, Layer, Option, Queue, type Redacted, Result, Scope, Semaphore } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { dirname } from "node:path"
import type { AuditAnchor } from "../../services/audit/AuditAnchor.ts"
import { type AuditHead, type AuditRecord, signedText, zeros } from "../../services/audit/AuditEntry.ts"
import { AuditLog, AuditUnavailable } from "../../services/audit/AuditLog.ts"
import { type AuditMark, entryLine, markLine } from "../../services/audit/entryLine.ts"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { Settings, type SettingsValues } from "../../services/settings/Settings.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { version } from "../../services/workspace/version.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { Refused } from "../files/refused.ts"
import { sha256 } from "../identity/sha256.ts"
import type { AuditFolder } from "./auditFolders.ts"
import {
  appendWhole,
  auditFolders,
  createFile,
  currentFolder,
  cutBack,
  fileOf,
  refusedFolder,
  removeFile,
  sessionId,
  syncWithFolder,
  unavailable
} from "./auditFolders.ts"
import { type AuditKey, make as makeAuditKeys } from "./auditKeys.ts"
import { type ExpiredFile, expireFiles } from "./expireFiles.ts"
import { appendHead, newestHead, type SignHead } from "./headsFile.ts"
import { readStored } from "./readEntries.ts"
import { forgetSession, openSessions, recoverSessions, sessionLock, sessionsFolder } from "./recoverSessions.ts"
import { followEntries, streamEntries } from "./streamEntries.ts"
import { type AuditToVerify, verifyAudit } from "./verifyAudit.ts"

/** The maximum number of entries between two recorded heads. */
const headEvery = 1_000

const day = 86_400_000

/** How long a session goes on in its file if a new one cannot be begun, in milliseconds. */
const untilNextTry = 60_000

type ExpiredRecord = Extract<AuditMark, { readonly kind: "expired" }>

interface Session {
  readonly id: string
  readonly place: AuditFolder
  readonly file: string
  readonly fd: number
  readonly lock: Scope.Closeable
  /** Number of its first entry. */
  readonly first: number
  /** Number and hash of the newest entry. */
  n: number
  head: string
  size: number
  /** The length in bytes of a partly written line that may still be at the end of the file. */
  torn: number
  /** Number of the entry that the newest head names. */
  recorded: number
  newest: { readonly i: number; readonly hash: string }
  /** From this time on a new file is due, in milliseconds since 1970. */
  endOfDay: number
  /** Before this time no new file is tried, since the last attempt failed. */
  noNewBefore: number
}

export const make = Effect.gen(function*() {
  const files = yield* SafeFiles
  const locks = yield* ProcessLock
  const settings = yield* Settings
  const workspace = yield* Workspace
  const { state } = workspace
  const project = Option.match(workspace.project, { onNone: () => "", onSome: ({ id }) => id })
  const folders = auditFolders(workspace)
  const keys = yield* makeAuditKeys
  const opening = yield* Semaphore.make(1)
  /** Signalled by the first entry after a head, and again when the next head is due. */
  const traffic = yield* Queue.sliding<void>(1)
  /** Signalled by every new file. */
  const begun = yield* Queue.sliding<void>(1)
  let session: Session | undefined
  let signalled = false
  let closed = false
  let key: AuditKey | undefined

  const locked = locks.withLock(state, "audit.lock")
  const loadKey = Effect.suspend(() =>
    key !== undefined ? Effect.void : Effect.map(keys.current, (found) => {
      key = found
    })
  )
  const signHead: SignHead = (head) => {
    if (key === undefined) return head
    const named = { ...head, key: key.publicKey }
    return { ...named, sig: key.sign(signedText(project, named)) }
  }
  const recover = (now: number) =>
    Effect.gen(function*() {
      const some = yield* Effect.orElseSucceed(Effect.try(() => openSessions(state).length > 0), () => true)
      if (!some) return
      yield* loadKey
      yield* recoverSessions(locks, state, signHead, folders, now)
    })
  const durable = Effect.map(settings.current, ({ auditDurability }) => auditDurability === "full")

  const writeLine = (current: Session, line: string, full: boolean): void => {
    const bytes = Buffer.from(`${line}\n`)
    if (current.torn > 0 && !cutBack(current.fd, current.size, current.torn)) {
      throw new Refused("io", "the previous line could not be completed, and something was written after it")
    }
    current.torn = bytes.length
    appendWhole(current.fd, current.size, bytes)
    current.torn = 0
    current.n++
    current.head = sha256(line)
    current.size += bytes.length
    if (full) fs.fsyncSync(current.fd)
  }

  const recordHead = (current: Session, how: AuditHead["state"], full: boolean): void => {
    const { file, head, n, place } = current
    current.newest = appendHead(state, signHead, { state: how, place: place.name, file, n, head }, full)
    current.recorded = n
  }

  /** Creates the file, writes its first entry and records its first head. The caller holds the lock. */
  const begin = (
    id: string,
    place: AuditFolder,
    lock: Scope.Closeable,
    now: number,
    full: boolean,
    before: Session | undefined
  ): Session => {
    const file = fileOf(id)!
    const tail = newestHead(state)
    const parent = tail.head === undefined
      ? { head: zeros, n: 0 }
      : { head: tail.head.head, n: tail.head.n, file: tail.head.file }
    const fd = createFile(place, file)
    const current: Session = {
      id,
      place,
      file,
      fd,
      lock,
      first: parent.n + 1,
      n: parent.n,
      head: parent.head,
      size: 0,
      torn: 0,
      recorded: 0,
      newest: { i: tail.i, hash: tail.hash },
      endOfDay: now - now % day + day,
      noNewBefore: 0
    }
    try {
      writeLine(
        current,
        markLine({ n: parent.n + 1, now, prev: parent.head }, {
          kind: "opened",
          project,
          session: id,
          kiwi: version,
          parent,
          heads: { head: tail.hash, i: tail.i },
          ...(before === undefined ? {} : { continues: before.file })
        }),
        false
      )
      if (full) syncWithFolder(fd, place, file)
      recordHead(current, "opened", full)
      return current
    } catch (error) {
      fs.closeSync(fd)
      removeFile(place, file)
      throw error
    }
  }

  const release = (current: Pick<Session, "id" | "lock">) =>
    Effect.andThen(
      Effect.ignore(Effect.try(() => forgetSession(state, current.id))),
      Scope.close(current.lock, Exit.void)
    )

  const seal = (current: Session, now: number, full: boolean): void =>
    writeLine(
      current,
      markLine({ n: current.n + 1, now, prev: current.head }, { kind: "sealed", how: "closed" }),
      full
    )

  /** Seals the session's file. The session is over then, even if its last head could not be recorded. */
  const finish = (current: Session, now: number, full: boolean): void => {
    seal(current, now, full)
    session = undefined
    fs.closeSync(current.fd)
    recordHead(current, "closed", full)
    forgetSession(state, current.id)
  }

  /** Begins a file: the first of this process, or one that continues the file `before`. */
  const open = Effect.fnUntraced(function*(before?: Session) {
    const now = yield* Clock.currentTimeMillis
    const full = yield* durable
    const id = yield* Effect.sync(() => sessionId(now, randomBytes(8).toString("hex")))
    const place = yield* Effect.try({ try: () => currentFolder(folders), catch: unavailable("The project's folder") })
    yield* Effect.mapError(
      files.makeDirectory(place.root, `${place.path}/${dirname(fileOf(id)!)}`, { mode: 0o700 }),
      refusedFolder
    )
    yield* loadKey
    const lock = yield* Scope.make()
    const start = Effect.gen(function*() {
      yield* recover(now)
      yield* Scope.provide(locks.tryHold(sessionsFolder(state), sessionLock(id)), lock)
      yield* Effect.try({
        try: () => {
          if (before !== undefined) finish(before, now, full)
          session = begin(id, place, lock, now, full, before)
        },
        catch: unavailable(place.shown)
      })
    })
    yield* locked(start).pipe(
      Effect.onError(() => session?.id === id ? Effect.void : release({ id, lock })),
      Effect.ensuring(
        Effect.suspend(() =>
          before === undefined || session === before ? Effect.void : Scope.close(before.lock, Exit.void)
        )
      ),
      Effect.mapError((error) =>
        error._tag === "AuditUnavailable" ? error : new AuditUnavailable({ detail: error.message, cause: error })
      )
    )
    yield* Queue.offer(begun, undefined)
  })

  /** Whether somebody deleted the file: anything more that is written to it is lost. The next session reports it. */
  const isGone = ({ fd }: Session): boolean =>
    Result.getOrElse(Result.try(() => fs.fstatSync(fd).nlink === 0), () => true)

  const abandon = (current: Session) =>
    Effect.andThen(
      Effect.sync(() => {
        session = undefined
        fs.closeSync(current.fd)
      }),
      Scope.close(current.lock, Exit.void)
    )

  const recordNow = Effect.gen(function*() {
    const full = yield* durable
    yield* loadKey
    yield* locked(Effect.try(() => {
      if (session !== undefined && session.n > session.recorded) recordHead(session, "running", full)
    }))
  })

  const due = (current: Session): boolean => current.n - current.recorded >= headEvery

  const recordHeads = Effect.forever(Effect.gen(function*() {
    yield* Queue.take(traffic)
    if (session === undefined || !due(session)) {
      yield* Effect.timeoutOption(Queue.take(traffic), "1 minute")
    }
    signalled = false
    if (Exit.isFailure(yield* Effect.exit(recordNow))) yield* Effect.sleep("10 seconds")
  }))

  const signal = (current: Session): void => {
    if (signalled && (current.n - current.recorded) % headEvery !== 0) return
    signalled = true
    Queue.offerUnsafe(traffic, undefined)
  }

  const isUsable = (current: Session | undefined): current is Session =>
    current !== undefined && !closed && !isGone(current)

  const ready = Effect.suspend((): Effect.Effect<void, AuditUnavailable> => {
    if (closed) return Effect.fail(new AuditUnavailable({ detail: "this Kiwi is shutting down" }))
    if (isUsable(session)) return Effect.void
    return session === undefined ? open() : Effect.andThen(abandon(session), open())
  })

  type Secrets = ReadonlyArray<Redacted.Redacted<string>>

  const isDue = (current: Session, values: SettingsValues, now: number): boolean =>
    (now >= current.endOfDay || current.size >= values.auditFile) && now >= current.noNewBefore &&
    current.n > current.first

  /** Goes on in a new file. If that is not possible now, in the old one. */
  const goOn = (values: SettingsValues, now: number) =>
    Effect.suspend(() => {
      const before = session
      if (!isUsable(before) || !isDue(before, values, now)) return Effect.void
      before.noNewBefore = now + untilNextTry
      return Effect.ignore(open(before))
    })

  // Nothing else may run between reading the session and writing the line: a descriptor that was closed in between
  // could belong to another file.
  const write = (
    record: AuditRecord | ExpiredRecord,
    secrets: Secrets,
    values: SettingsValues
  ): Effect.Effect<void, AuditUnavailable> =>
    Effect.clockWith((clock) => {
      const current = session
      const now = clock.currentTimeMillisUnsafe()
      if (!isUsable(current)) return Effect.andThen(opening.withPermit(ready), write(record, secrets, values))
      if (isDue(current, values, now)) {
        return Effect.andThen(opening.withPermit(goOn(values, now)), write(record, secrets, values))
      }
      return Effect.fromResult(Result.try({
        try: () => {
          const place = { n: current.n + 1, now, prev: current.head }
          const line = record.kind === "expired" ? markLine(place, record) : entryLine(place, record, secrets)
          writeLine(current, line, values.auditDurability === "full")
          signal(current)
        },
        catch: unavailable(current.place.shown)
      }))
    })

  const append = (record: AuditRecord, secrets: Secrets = []) =>
    Effect.flatMap(settings.current, (values) => write(record, secrets, values))

  const recordExpired = ({ entries, file, last, place, sealed_at }: ExpiredFile, values: SettingsValues) =>
    Effect.andThen(
      write({ kind: "expired", file, entries, last, sealed_at }, [], values),
      locked(
        Effect.try(() =>
          appendHead(state, signHead, { state: "expired", place: place.name, file, n: last.n, head: last.head }, true)
        )
      )
    )

  const prune = Effect.gen(function*() {
    const values = yield* settings.current
    const now = yield* Clock.currentTimeMillis
    const removed = yield* expireFiles({
      state,
      project,
      folders,
      ownKeys: keys.own,
      before: now - Duration.toMillis(values.auditKeep),
      record: (expired) => recordExpired(expired, values)
    })
    // The newest head is of a file that exists: the next session continues from it.
    if (removed.length > 0) yield* recordNow
    return removed
  }).pipe(Effect.mapError(unavailable("The audit's old files")), Effect.withSpan("AuditLog.prune"))

  const expireSometimes = Effect.forever(Effect.gen(function*() {
    yield* Queue.take(begun)
    yield* Effect.sleep("1 minute")
    yield* Effect.ignore(prune)
  }))

  const close = Effect.gen(function*() {
    const current = session
    if (current === undefined) return
    const now = yield* Clock.currentTimeMillis
    const full = yield* durable
    const sealed = Effect.try(() => seal(current, now, full))
    // If sealing fails now, the next start finds the session dead and seals it.
    yield* sealed.pipe(
      Effect.andThen(
        locked(Effect.try(() => {
          recordHead(current, "closed", full)
          forgetSession(state, current.id)
        })).pipe(Effect.timeout("2 seconds"))
      ),
      Effect.ignore
    )
    yield* Effect.sync(() => fs.closeSync(current.fd))
    yield* Scope.close(current.lock, Exit.void)
  })
  // Also closes a session that is just being opened, so that its lock is released.
  yield* Effect.addFinalizer(() => {
    closed = true
    return opening.withPermit(close)
  })
  yield* Effect.forkScoped(recordHeads)
  yield* Effect.forkScoped(expireSometimes)

  const own = () => session && { ...session, session: session.id }

  const toVerify = (now: number): AuditToVerify => ({
    state,
    project,
    folders,
    own,
    ownKeys: keys.own,
    withLock: locked,
    recover: recover(now)
  })
  const verifyWith = (anchor?: AuditAnchor) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => verifyAudit(toVerify(now), anchor))
  const verify = Effect.withSpan(verifyWith(), "AuditLog.verify")
  const verifyAgainst = Effect.fn("AuditLog.verifyAgainst")(verifyWith)

  const anchor = Effect.gen(function*() {
    if (session !== undefined) yield* Effect.ignore(recordNow)
    const { hash, i } = yield* Effect.sync(() => newestHead(state))
    return { head: hash, n: i }
  }).pipe(Effect.withSpan("AuditLog.anchor"))

  const read = Effect.fn("AuditLog.read")((filter: Parameters<AuditLog["Service"]["read"]>[0] = {}) =>
    Effect.map(readStored(state, folders, filter), (found) => found.map(({ entry }) => entry))
  )

  return AuditLog.of({
    append,
    read,
    stream: (filter = {}) => streamEntries(state, folders, filter),
    follow: (filter = {}) => followEntries(state, folders, filter),
    verify,
    verifyAgainst,
    anchor,
    prune
  })
})

export const layer = Layer.effect(AuditLog, make)
