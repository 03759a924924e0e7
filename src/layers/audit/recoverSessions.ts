// Recovers sessions that died. Each running session holds an operating-system lock of its own, so a lock that can be
// acquired belongs to a dead one: its file gets a seal, the list of heads gets its last head, and the lock file is
// removed.
import { Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import type { AuditHead, AuditLink } from "../../services/audit/AuditEntry.ts"
import { parseLink } from "../../services/audit/AuditEntry.ts"
import { markLine } from "../../services/audit/entryLine.ts"
import type { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { readFolder } from "../files/listFolder.ts"
import { isAbsent } from "../files/refused.ts"
import { sha256 } from "../identity/sha256.ts"
import type { AuditFolder, AuditFolders } from "./auditFolders.ts"
import { appendWhole, fileOf, openToRead, openToSeal, removeFile } from "./auditFolders.ts"
import { appendHead, newestHeadOf, type SignHead } from "./headsFile.ts"
import { hashRange, linesOf } from "./lines.ts"

export const sessionsFolder = (state: string): string => join(state, "audit-sessions")
export const sessionLock = (session: string): string => `${session}.lock`

/** Sessions that are running, or that died and are not recovered yet. */
export const openSessions = (state: string): ReadonlyArray<string> => {
  try {
    return readFolder(sessionsFolder(state))
      .filter(({ name }) => name.endsWith(".lock"))
      .map(({ name }) => name.slice(0, -".lock".length))
      .filter((session) => fileOf(session) !== undefined)
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

/** Removes the marker before the lock is released, so that nobody sees a marker without its lock. */
export const forgetSession = (state: string, session: string): void =>
  fs.rmSync(join(sessionsFolder(state), sessionLock(session)), { force: true })

interface LastEntry {
  readonly link: AuditLink
  readonly hash: string
  readonly next: number
  readonly whole: boolean
}

/**
 * The last entry is within this many bytes of the end: at most one line, and remains of earlier attempts at a seal,
 * follow it.
 */
const tailBytes = 1_048_576

const lastEntry = (fd: number, size: number): LastEntry | undefined => {
  const from = Math.max(0, size - tailBytes)
  let last: LastEntry | undefined
  for (const { hash, next, number, text, whole } of linesOf(fd, from)) {
    if (text === undefined || (number === 1 && from > 0)) continue
    const link = parseLink(text)
    if (link !== undefined) last = { link, hash, next, whole }
  }
  return last
}

/**
 * The bytes of the seal to append, and the hash of its line. Bytes after the last entry stay, and the seal records
 * them.
 */
const sealFor = (fd: number, size: number, last: LastEntry, now: number) => {
  const rest = size - last.next
  const ended = rest === 0 ? last.whole : hashRange(fd, size - 1, 1) === sha256("\n")
  const prefix = ended ? "" : "\n"
  const torn = rest === 0
    ? {}
    : { torn: { bytes: rest + prefix.length, sha256: hashRange(fd, last.next, rest, prefix) } }
  const line = markLine({ n: last.link.n + 1, now, prev: last.hash }, { kind: "sealed", how: "recovered", ...torn })
  return { bytes: Buffer.from(`${prefix}${line}\n`), n: last.link.n + 1, head: sha256(line) }
}

const seal = (state: string, signHead: SignHead, place: AuditFolder, known: AuditHead, now: number): void => {
  const finish = (head: Pick<AuditHead, "state" | "n" | "head">) =>
    void appendHead(state, signHead, { ...head, place: known.place, file: known.file }, true)
  // If the file ends before the last recorded entry, the last head is repeated: `verify` reports the difference.
  const repeat = () => finish({ state: "recovered", n: known.n, head: known.head })
  let fd: number
  try {
    fd = openToSeal(place, known.file)
  } catch (error) {
    if (isAbsent(error)) return repeat()
    throw error
  }
  try {
    const { size } = fs.fstatSync(fd)
    const last = lastEntry(fd, size)
    if (last === undefined || last.link.n < known.n) return repeat()
    if (last.link.kind === "sealed" && last.whole) {
      return finish({ state: last.link.how === "closed" ? "closed" : "recovered", n: last.link.n, head: last.hash })
    }
    const { bytes, head, n } = sealFor(fd, size, last, now)
    appendWhole(fd, size, bytes)
    fs.fsyncSync(fd)
    finish({ state: "recovered", n, head })
  } finally {
    fs.closeSync(fd)
  }
}

/** Removes the file of a session that died before its first head: at most its first line is lost with it. */
const discard = (place: AuditFolder, file: string): void => {
  const fd = openToRead(place, file)
  if (fd === undefined) return
  let lines = 0
  try {
    if (fs.fstatSync(fd).size > tailBytes) return
    for (const _ of linesOf(fd)) if (++lines > 1) return
  } finally {
    fs.closeSync(fd)
  }
  removeFile(place, file)
}

const recoverSession = (
  state: string,
  signHead: SignHead,
  folders: AuditFolders,
  session: string,
  now: number
): void => {
  const file = fileOf(session)!
  const known = newestHeadOf(state, file)
  if (known === undefined) {
    for (const place of [folders.project, folders.home]) if (place !== undefined) discard(place, file)
  } else if (known.state === "opened" || known.state === "running") {
    const place = folders[known.place]
    if (place === undefined) return
    seal(state, signHead, place, known, now)
  }
  forgetSession(state, session)
}

/**
 * The caller holds the audit's lock. A session that cannot be recovered now, for lack of space or permission, is left
 * for the next time.
 */
export const recoverSessions = Effect.fnUntraced(function*(
  locks: ProcessLock["Service"],
  state: string,
  signHead: SignHead,
  folders: AuditFolders,
  now: number
) {
  const sessions = yield* Effect.orElseSucceed(Effect.try(() => openSessions(state)), () => [])
  for (const session of sessions) {
    const dead = Effect.andThen(
      locks.tryHold(sessionsFolder(state), sessionLock(session)),
      Effect.try(() => recoverSession(state, signHead, folders, session, now))
    )
    yield* Effect.ignore(Effect.scoped(dead))
  }
})
