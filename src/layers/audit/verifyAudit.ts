// Compares every file with the list of heads, in memory that does not grow with the files. What counts as open is
// settled once, under the lock; the reading itself holds up nobody, and what is written meanwhile does no harm to it.
import { Effect } from "effect"
import * as fs from "node:fs"
import { type AuditHead, parseHead, parseLink, zeros } from "../../services/audit/AuditEntry.ts"
import type { AuditProblem, AuditReport } from "../../services/audit/AuditLog.ts"
import { checkLines } from "../../services/audit/checkLines.ts"
import type { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { newestHead, openHeads } from "./headsFile.ts"
import { hashRange, linesOf } from "./lines.ts"
import type { Listed, Place, Places } from "./places.ts"
import { listFiles, openToRead, sessionOf } from "./places.ts"
import { openSessions, recoverSessions } from "./recoverSessions.ts"

const headsName = "audit-heads"
const pause = 2_000

/** What the asking session knows of itself, whatever stands on disk. */
export interface OwnSession {
  readonly session: string
  readonly file: string
  readonly n: number
  readonly head: string
  readonly newest: { readonly i: number; readonly hash: string }
}

interface Snapshot {
  readonly open: ReadonlySet<string>
  readonly listed: ReadonlyArray<{ readonly place: Place; readonly listed: Listed }>
  readonly unlisted: ReadonlyArray<AuditProblem>
  readonly heads: { readonly size: number; readonly unended: boolean; readonly i: number }
  readonly own: OwnSession | undefined
}

interface KnownSession {
  readonly place: AuditHead["place"]
  readonly file: string
  /** Its first head, and the one before that; `undefined` when the first head is gone. */
  readonly opening: { readonly head: AuditHead; readonly parent: string } | undefined
  readonly points: Map<number, string>
  final: AuditHead | undefined
  /** Line of its newest head. */
  line: number
}

const takeSnapshot = (state: string, places: Places, own: OwnSession | undefined): Snapshot => {
  const unlisted: Array<AuditProblem> = []
  const listed = [places.project, places.home].flatMap((place) => {
    if (place === undefined) return []
    try {
      return listFiles(place).map((l) => ({ place, listed: l }))
    } catch {
      unlisted.push({ file: ".", line: 0, problem: "unreadable", detail: `${place.shown} cannot be listed` })
      return []
    }
  })
  let heads: Snapshot["heads"] = { size: 0, unended: false, i: 0 }
  try {
    heads = newestHead(state)
  } catch {
    unlisted.push({ file: headsName, line: 0, problem: "unreadable", detail: "it cannot be read" })
  }
  return { open: new Set(openSessions(state)), listed, unlisted, heads, own }
}

/** The list of heads itself, and what it says of each session, by file. */
const readHeads = Effect.fnUntraced(function*(state: string, { heads, own }: Snapshot) {
  const sessions = new Map<string, KnownSession>()
  const check = checkLines({
    file: headsName,
    first: { n: 1, prev: zeros },
    points: new Map(own === undefined ? [] : [[own.newest.i, own.newest.hash]]),
    final: undefined
  })
  const problems: Array<AuditProblem> = []
  const fd = yield* Effect.sync(() => heads.size === 0 ? undefined : openHeads(state))
  if (fd === undefined) return { sessions, problems: check.end(true) }
  let before: AuditHead | undefined
  const read = Effect.gen(function*() {
    for (const { hash, next, number, text } of linesOf(fd)) {
      if (next > heads.size) break
      if (number % pause === 0) yield* Effect.yieldNow
      const head = text === undefined ? undefined : parseHead(text)
      check.line({ line: number, hash, entry: head && { n: head.i, prev: head.prev, last: false } })
      if (head === undefined) continue
      let session = sessions.get(head.file)
      if (session === undefined) {
        const opening = head.state === "opened" ? { head, parent: before?.head ?? zeros } : undefined
        session = { place: head.place, file: head.file, opening, points: new Map(), final: undefined, line: number }
        sessions.set(head.file, session)
        if (opening === undefined) {
          const detail = `the first head of ${head.file} is missing before it`
          problems.push({ file: headsName, line: number, problem: "removed", detail })
        }
      }
      session.points.set(head.n, head.head)
      session.line = number
      if (head.state === "closed" || head.state === "recovered") session.final = head
      before = head
    }
  })
  yield* Effect.ensuring(read, Effect.sync(() => fs.closeSync(fd)))
  problems.push(...check.end(true))
  if (heads.unended) {
    problems.push({ file: headsName, line: heads.i, problem: "cut-tail", detail: "its line end is missing" })
  }
  return { sessions, problems }
})

const checkFile = Effect.fnUntraced(function*(fd: number, file: string, known: KnownSession | undefined) {
  const check = checkLines({
    file,
    first: known?.opening && { n: known.opening.head.n, prev: known.opening.parent },
    points: known?.points ?? new Map<number, string>(),
    final: known?.final?.n
  })
  const problems: Array<AuditProblem> = []
  let entries = 0
  let whole = true
  /** Where the last entry ended. */
  let after = 0
  for (const line of linesOf(fd)) {
    if (line.number % pause === 0) yield* Effect.yieldNow
    whole = line.whole
    const link = line.text === undefined ? undefined : parseLink(line.text)
    if (link !== undefined) {
      entries++
      const { heads, torn } = link
      if (torn !== undefined && torn.bytes === line.start - after && hashRange(fd, after, torn.bytes) === torn.sha256) {
        check.pardon()
      }
      const opening = line.number === 1 ? known?.opening?.head : undefined
      if (opening !== undefined && (heads?.head !== opening.prev || heads.i !== opening.i - 1)) {
        const detail = `${file} began after other heads than stand before its own`
        problems.push({ file: headsName, line: opening.i, problem: "changed", detail })
      }
      after = line.next
    }
    check.line({
      line: line.number,
      hash: line.hash,
      entry: link && { n: link.n, prev: link.prev, last: link.kind === "sealed" }
    })
  }
  return { entries, problems: [...check.end(whole), ...problems] }
})

/** One file, whatever stands in its place. `undefined` when nothing does. */
const checkAt = Effect.fnUntraced(function*(place: Place, file: string, known: KnownSession | undefined) {
  const opened = yield* Effect.result(Effect.try(() => openToRead(place, file)))
  if (opened._tag === "Failure") {
    const detail = "it cannot be read, or is no file but a link"
    return { entries: 0, problems: [{ file, line: 0, problem: "unreadable", detail } satisfies AuditProblem] }
  }
  const fd = opened.success
  if (fd === undefined) return undefined
  return yield* checkFile(fd, file, known).pipe(
    Effect.ensuring(Effect.sync(() => fs.closeSync(fd))),
    Effect.catchDefect(() =>
      Effect.succeed({
        entries: 0,
        problems: [
          { file, line: 0, problem: "unreadable", detail: "it cannot be read to its end" } satisfies AuditProblem
        ]
      })
    )
  )
})

export const verifyAudit = Effect.fnUntraced(function*(
  locked: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, unknown>,
  locks: ProcessLock["Service"],
  state: string,
  places: Places,
  now: number,
  own: () => OwnSession | undefined
) {
  const look = Effect.sync(() => takeSnapshot(state, places, own()))
  const first = yield* look
  const untouched = first.open.size === 0 && first.heads.size === 0 && first.listed.length === 0
  const snapshot = untouched ? first : yield* locked(
    Effect.andThen(recoverSessions(locks, state, places, now, first.own?.session), look)
  ).pipe(Effect.catch(() => look))
  const { listed, open, unlisted } = snapshot
  const { problems: ofHeads, sessions } = yield* readHeads(state, snapshot)
  const problems = [...unlisted, ...ofHeads]
  const report = { files: 0, entries: 0, open: new Array<string>() }
  const ownFile = snapshot.own?.file
  if (snapshot.own !== undefined) sessions.get(snapshot.own.file)?.points.set(snapshot.own.n, snapshot.own.head)

  for (const session of sessions.values()) {
    const place = places[session.place]
    const { file, final, line } = session
    if (final === undefined) {
      if (open.has(sessionOf(file))) report.open.push(file)
      else problems.push({ file: headsName, line, problem: "removed", detail: `the last head of ${file} is missing` })
    }
    const checked = place === undefined ? undefined : yield* checkAt(place, file, session)
    if (checked === undefined) {
      problems.push({ file, line: 0, problem: "missing-file", detail: `it had ${session.points.size} recorded heads` })
      continue
    }
    report.files++
    report.entries += checked.entries
    problems.push(...checked.problems)
    session.points.clear()
  }
  if (sessions.size === 0 && listed.length > 0) {
    const detail = "this Kiwi has no record of the files that are here"
    problems.push({ file: headsName, line: 0, problem: "missing-file", detail })
  }
  for (const { listed: { file, regular }, place } of listed) {
    if (sessions.get(file)?.place === place.name || open.has(sessionOf(file))) continue
    const checked = regular ? yield* checkAt(place, file, undefined) : undefined
    report.files++
    report.entries += checked?.entries ?? 0
    problems.push(
      ...(checked?.problems ?? []),
      regular
        ? { file, line: 0, problem: "inserted", detail: "no recorded head names it" }
        : { file, line: 0, problem: "unreadable", detail: "it is a link, or no file" }
    )
  }
  if (ownFile !== undefined && !sessions.has(ownFile)) {
    problems.push({ file: headsName, line: 0, problem: "removed", detail: `every head of ${ownFile} is missing` })
  }
  return { ...report, problems } satisfies AuditReport
})
