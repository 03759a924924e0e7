// Compares every file with the list of heads, in constant memory. Which sessions are open is determined once, under the
// lock. The files are read without the lock: entries that are appended meanwhile do no harm.
import { Effect, Option, Result } from "effect"
import { type AuditHead, parseHead, parseLink, zeros } from "../../services/audit/AuditEntry.ts"
import type { AuditProblem } from "../../services/audit/AuditLog.ts"
import { checkLines } from "../../services/audit/checkLines.ts"
import type { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import type { AuditFolder, AuditFolders, Listed } from "./auditFolders.ts"
import { listFiles, openToRead, sessionOf } from "./auditFolders.ts"
import { newestHead, openHeads, type Tail } from "./headsFile.ts"
import { forEachLine, hashRange, longestEntry, withFile } from "./lines.ts"
import { openSessions, recoverSessions } from "./recoverSessions.ts"

const headsName = "audit-heads"

/** Kiwi cannot distinguish these cases: what another home recorded is not in this one's list. */
const unnamed = "no recorded head names it: somebody put it there, or it was written under another KIWI_HOME " +
  "(check it with that one: KIWI_HOME=DIR kiwi audit verify) or before the project was moved"

/** How many entries a session may have written after its newest head. */
const unrecorded = 10_000
/** The limit, in total, on bytes read from files that no head names. */
const mostUnnamed = 1_073_741_824
/** Further files that no head names are counted, not listed. */
const mostTold = 1_000
/** The longest unfinished line that a seal can account for, in bytes. */
const longestTorn = 2_097_152

/** The state of the session that asks, from memory and not from disk. */
export interface OwnSession {
  readonly session: string
  readonly file: string
  readonly n: number
  readonly head: string
  readonly newest: { readonly i: number; readonly hash: string }
}

interface Snapshot {
  /** Sessions that are running, or that died and could not be recovered. */
  readonly open: ReadonlySet<string>
  readonly listed: ReadonlyArray<{ readonly place: AuditFolder; readonly listed: Listed }>
  /** What could not be read. */
  readonly unreadable: ReadonlyArray<AuditProblem>
  readonly heads: Pick<Tail, "i" | "size" | "unended" | "rest">
  readonly own: OwnSession | undefined
}

interface KnownSession {
  readonly place: AuditHead["place"]
  readonly file: string
  /** Its first head, and the hash of the line before that. Undefined if the first head is missing. */
  readonly opening: { readonly head: AuditHead; readonly parent: string } | undefined
  readonly points: Map<number, string>
  final: AuditHead | undefined
  /** Line of its newest head, and that head's entry number. */
  line: number
  recorded: number
}

const problem = (
  file: string,
  line: number,
  what: AuditProblem["problem"],
  detail: string
): AuditProblem => ({ file, line, problem: what, detail })

const takeSnapshot = (state: string, folders: AuditFolders, own: OwnSession | undefined): Snapshot => {
  const unreadable: Array<AuditProblem> = []
  const attempt = <A>(file: string, detail: string, read: () => A, otherwise: A): A => {
    try {
      return read()
    } catch {
      unreadable.push(problem(file, 0, "unreadable", detail))
      return otherwise
    }
  }
  const listed = [folders.project, folders.home].flatMap((place) =>
    place === undefined
      ? []
      : attempt(".", `${place.shown} cannot be listed`, () => listFiles(place), [])
        .map((found) => ({ place, listed: found }))
  )
  const nothing = { i: 0, size: 0, unended: false, rest: 0 }
  const heads = attempt<Snapshot["heads"]>(headsName, "it cannot be read", () => newestHead(state), nothing)
  const open = attempt(headsName, "Kiwi's list of running sessions cannot be read", () => openSessions(state), [])
  return { open: new Set(open), listed, unreadable, heads, own }
}

/** Checks the list of heads itself, and collects what it records of each session, by file. */
const readHeads = Effect.fnUntraced(function*(state: string, { heads, own }: Snapshot, locked: boolean) {
  const sessions = new Map<string, KnownSession>()
  const check = checkLines({
    file: headsName,
    first: { n: 1, prev: zeros },
    points: new Map(own === undefined ? [] : [[own.newest.i, own.newest.hash]]),
    final: undefined
  })
  const problems: Array<AuditProblem> = []
  let before: AuditHead | undefined
  const read = withFile(() => openHeads(state), (fd) =>
    forEachLine(fd, ({ hash, number, text }) => {
      const head = text === undefined ? undefined : parseHead(text)
      check.line({ line: number, hash, entry: head && { n: head.i, prev: head.prev, last: false } })
      if (head === undefined) return
      let session = sessions.get(head.file)
      if (session === undefined) {
        const opening = head.state === "opened" ? { head, parent: before?.head ?? zeros } : undefined
        session = {
          place: head.place,
          file: head.file,
          opening,
          points: new Map(),
          final: undefined,
          line: number,
          recorded: head.n
        }
        sessions.set(head.file, session)
        if (opening === undefined) {
          problems.push(problem(headsName, number, "removed", `the first head of ${head.file} is missing before it`))
        }
      }
      session.points.set(head.n, head.head)
      session.line = number
      session.recorded = head.n
      if (head.state === "closed" || head.state === "recovered") session.final = head
      before = head
    }, heads.size))
  if (Result.isFailure(yield* Effect.result(read))) {
    problems.push(problem(headsName, 0, "unreadable", "it cannot be read to its end"))
  }
  problems.push(...check.end(true))
  if (heads.unended) problems.push(problem(headsName, heads.i, "cut-tail", "its line end is missing"))
  // A process that died while it wrote a line left a session to recover. Under the lock that has been done by now.
  if (locked && heads.rest > 0) problems.push(problem(headsName, heads.i + 1, "inserted", "it is not a head"))
  return { sessions, problems }
})

interface Checked {
  readonly entries: number
  /** How many were read. */
  readonly bytes: number
  readonly problems: ReadonlyArray<AuditProblem>
}

const checkFile = Effect.fnUntraced(function*(fd: number, file: string, known: KnownSession | undefined) {
  const check = checkLines({
    file,
    first: known?.opening && { n: known.opening.head.n, prev: known.opening.parent },
    points: known?.points ?? new Map<number, string>(),
    final: known?.final?.n
  })
  const problems: Array<AuditProblem> = []
  let entries = 0
  let bytes = 0
  let ended = true
  /** Where the last entry ended. */
  let after = 0
  yield* forEachLine(fd, ({ hash, next, number, start, text, whole }) => {
    ended = whole
    bytes = next
    const link = text === undefined ? undefined : parseLink(text)
    if (link !== undefined) {
      entries++
      const { heads, torn } = link
      if (
        torn !== undefined && torn.bytes <= longestTorn && torn.bytes === start - after &&
        hashRange(fd, after, torn.bytes) === torn.sha256
      ) {
        check.pardon()
      }
      const opening = number === 1 ? known?.opening?.head : undefined
      if (opening !== undefined && (heads?.head !== opening.prev || heads.i !== opening.i - 1)) {
        const detail = `${file} began after other heads than those listed before its own`
        problems.push(problem(headsName, opening.i, "changed", detail))
      }
      after = next
    }
    check.line({ line: number, hash, entry: link && { n: link.n, prev: link.prev, last: link.kind === "sealed" } })
  })
  return { entries, bytes, problems: [...check.end(ended), ...problems] }
})

/** Checks one file, whatever type it has. Undefined if there is none. */
const checkAt = (place: AuditFolder, file: string, known: KnownSession | undefined, most: number) =>
  withFile(() => openToRead(place, file, most), (fd) => checkFile(fd, file, known)).pipe(
    Effect.catch(({ why }) =>
      Effect.succeed<Checked>({ entries: 0, bytes: 0, problems: [problem(file, 0, "unreadable", why)] })
    )
  )

export const verifyAudit = Effect.fnUntraced(function*(
  withLock: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, unknown>,
  locks: ProcessLock["Service"],
  state: string,
  folders: AuditFolders,
  now: number,
  own: () => OwnSession | undefined
) {
  const readSnapshot = Effect.sync(() => takeSnapshot(state, folders, own()))
  const first = yield* readSnapshot
  const untouched = first.open.size === 0 && first.heads.size + first.heads.rest === 0 && first.listed.length === 0
  const under = untouched
    ? undefined
    : yield* Effect.option(withLock(Effect.andThen(recoverSessions(locks, state, folders, now), readSnapshot)))
  const locked = under !== undefined && Option.isSome(under)
  const snapshot = locked ? under.value : yield* readSnapshot
  const { sessions, problems: ofHeads } = yield* readHeads(state, snapshot, locked)
  const { listed, open, unreadable } = snapshot
  const problems = [...unreadable, ...ofHeads]
  const report = { files: 0, entries: 0, open: new Array<string>() }
  const count = (checked: Checked): void => {
    report.files++
    report.entries += checked.entries
    problems.push(...checked.problems)
  }
  if (snapshot.own !== undefined) {
    const { file, head, n } = snapshot.own
    const session = sessions.get(file)
    session?.points.set(n, head)
    if (session === undefined) problems.push(problem(headsName, 0, "removed", `every head of ${file} is missing`))
  }

  for (const session of sessions.values()) {
    const place = folders[session.place]
    const { file, final, line, recorded } = session
    if (final === undefined) {
      if (open.has(sessionOf(file))) report.open.push(file)
      else problems.push(problem(headsName, line, "removed", `the last head of ${file} is missing`))
    }
    const most = ((snapshot.own?.file === file ? snapshot.own.n : recorded) + unrecorded) * longestEntry
    const checked = place === undefined ? undefined : yield* checkAt(place, file, session, most)
    if (checked === undefined) problems.push(problem(file, 0, "missing-file", `it held the entries up to ${recorded}`))
    else count(checked)
    session.points.clear()
  }
  if (sessions.size === 0 && listed.length > 0) {
    problems.push(problem(headsName, 0, "missing-file", "this Kiwi has no record of these files"))
  }
  let unread = mostUnnamed
  let told = 0
  for (const { listed: { file, regular }, place } of listed) {
    if (sessions.get(file)?.place === place.name || open.has(sessionOf(file))) continue
    if (++told > mostTold) continue
    if (regular) {
      const checked = yield* checkAt(place, file, undefined, unread)
      if (checked !== undefined) {
        count(checked)
        unread -= checked.bytes
      }
    }
    problems.push(
      regular
        ? problem(file, 0, "inserted", unnamed)
        : problem(file, 0, "unreadable", "it is a link, or not a file")
    )
  }
  if (told > mostTold) problems.push(problem(".", 0, "inserted", `${told - mostTold} more files like these`))
  return { ...report, problems }
})
