// Sessions that died. Each running session holds an operating-system lock of its own, so a lock that can be had belongs
// to a dead one: its file gets a seal, the list of heads its last head, and the lock's file goes.
import { Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import type { AuditHead, AuditLink } from "../../services/audit/AuditEntry.ts"
import { parseHead, parseLink } from "../../services/audit/AuditEntry.ts"
import { markLine } from "../../services/audit/entryLine.ts"
import type { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { readFolder } from "../files/listFolder.ts"
import { isAbsent } from "../files/refused.ts"
import { sha256 } from "../identity/sha256.ts"
import { appendHead, openHeads } from "./headsFile.ts"
import { hashRange, linesOf } from "./lines.ts"
import type { Place, Places } from "./places.ts"
import { appendWhole, fileOf, openToRead, openToSeal, removeFile } from "./places.ts"

export const sessionsFolder = (state: string): string => join(state, "audit-sessions")
export const sessionLock = (session: string): string => `${session}.lock`

/** Sessions that run, or died and were not dealt with yet. */
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

/** The marker goes before the lock does, so that nobody finds one without the other. */
export const forgetSession = (state: string, session: string): void =>
  fs.rmSync(join(sessionsFolder(state), sessionLock(session)), { force: true })

const newestHeadOf = (state: string, file: string): AuditHead | undefined => {
  const fd = openHeads(state)
  if (fd === undefined) return undefined
  try {
    let newest: AuditHead | undefined
    for (const { text } of linesOf(fd)) {
      if (text?.includes(file) !== true) continue
      const head = parseHead(text)
      if (head?.file === file) newest = head
    }
    return newest
  } finally {
    fs.closeSync(fd)
  }
}

interface LastEntry {
  readonly link: AuditLink
  readonly hash: string
  readonly next: number
  readonly whole: boolean
}

/** Where the last entry has to be: there is one line after it at most, and what earlier attempts at a seal left. */
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

/** The bytes that a seal appends, and its hash. What stands after the last entry is kept, and named by the seal. */
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

const seal = (state: string, place: Place, known: AuditHead, now: number): void => {
  const finish = (head: Pick<AuditHead, "state" | "n" | "head">) =>
    void appendHead(state, { ...head, place: known.place, file: known.file }, true)
  // What was recorded last is repeated where the file does not reach it: `verify` tells the difference.
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

/** A session that died before any head named it has recorded nothing: its first line at most goes with it. */
const discard = (place: Place, file: string): void => {
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

const settle = (state: string, places: Places, session: string, now: number): void => {
  const file = fileOf(session)!
  const known = newestHeadOf(state, file)
  if (known === undefined) {
    for (const place of [places.project, places.home]) if (place !== undefined) discard(place, file)
  } else if (known.state === "opened" || known.state === "running") {
    const place = places[known.place]
    if (place === undefined) return
    seal(state, place, known, now)
  }
  forgetSession(state, session)
}

/** Under the audit's lock. What cannot be settled now, for want of space or rights, stays for the next time. */
export const recoverSessions = Effect.fnUntraced(function*(
  locks: ProcessLock["Service"],
  state: string,
  places: Places,
  now: number
) {
  const sessions = yield* Effect.orElseSucceed(Effect.try(() => openSessions(state)), () => [])
  for (const session of sessions) {
    const dead = Effect.andThen(
      locks.tryHold(sessionsFolder(state), sessionLock(session)),
      Effect.try(() => settle(state, places, session, now))
    )
    yield* Effect.ignore(Effect.scoped(dead))
  }
})
