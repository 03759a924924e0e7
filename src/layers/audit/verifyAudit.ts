// Compares every file with the list of heads, in constant memory. Which sessions are open is determined once, under the
// lock. The files are read without the lock: entries that are appended meanwhile do no harm.
import { Effect, Option } from "effect"
import type { AuditAnchor } from "../../services/audit/AuditAnchor.ts"
import type { AuditProblem, AuditReport } from "../../services/audit/AuditLog.ts"
import type { AuditFolder, AuditFolders, Listed } from "./auditFolders.ts"
import { listFiles, sessionOf } from "./auditFolders.ts"
import { checkAt, mostBytes } from "./checkFile.ts"
import { newestHead, newestHeadOf, type Tail } from "./headsFile.ts"
import { headsName, type KnownSession, problem, readHeads } from "./knownSessions.ts"
import { openSessions } from "./recoverSessions.ts"

/** Kiwi cannot distinguish these cases: what another home recorded is not in this one's list. */
const unnamed = "no recorded head names it: somebody put it there, or it was written under another KIWI_HOME " +
  "(check it with that one: KIWI_HOME=DIR kiwi audit verify) or before the project was moved"

/** The limit, in total, on bytes read from files that no head names. */
const mostUnnamed = 1_073_741_824
/** Further files that no head names are counted, not listed. */
const mostTold = 1_000

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

export interface AuditToVerify {
  readonly state: string
  /** The project's id, or "". */
  readonly project: string
  readonly folders: AuditFolders
  readonly own: () => OwnSession | undefined
  readonly ownKeys: Effect.Effect<ReadonlySet<string> | undefined>
  readonly withLock: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, unknown>
  /** Seals what dead sessions left. Runs under the lock. */
  readonly recover: Effect.Effect<void>
}

export const verifyAudit = Effect.fnUntraced(function*(
  { folders, own, ownKeys, project, recover, state, withLock }: AuditToVerify,
  anchor?: AuditAnchor
) {
  const readSnapshot = Effect.sync(() => takeSnapshot(state, folders, own()))
  const first = yield* readSnapshot
  const untouched = first.open.size === 0 && first.heads.size + first.heads.rest === 0 && first.listed.length === 0
  const under = untouched ? undefined : yield* Effect.option(withLock(Effect.andThen(recover, readSnapshot)))
  const locked = under !== undefined && Option.isSome(under)
  const snapshot = locked ? under.value : yield* readSnapshot
  const { heads, listed, open, unreadable } = snapshot
  const { isChain, keys, problems: ofHeads, sessions } = yield* readHeads({
    state,
    project,
    ownKeys: yield* ownKeys,
    size: heads.size,
    points: [
      ...(snapshot.own === undefined ? [] : [snapshot.own.newest]),
      ...(anchor === undefined || anchor.n === 0 ? [] : [{ i: anchor.n, hash: anchor.head }])
    ]
  })
  const problems = [...unreadable, ...ofHeads]
  if (heads.unended) problems.push(problem(headsName, heads.i, "cut-tail", "its line end is missing", heads.i))
  // A process that died while it wrote a line left a session to recover. Under the lock that has been done by now.
  if (locked && heads.rest > 0) problems.push(problem(headsName, heads.i + 1, "inserted", "it is not a head"))
  const counts = { files: 0, entries: 0, sealed: 0, recovered: 0, expired: 0 }
  const stillOpen: Array<string> = []

  const verifyFile = Effect.fnUntraced(
    function*(place: AuditFolder, file: string, known?: KnownSession, most?: number) {
      const checked = yield* checkAt(place, file, known, most ?? Infinity)
      if (checked === undefined) return undefined
      counts.files++
      counts.entries += checked.entries
      problems.push(...checked.problems)
      return checked
    }
  )

  const lostAtEnd = (detail: string) =>
    void problems.push(problem(headsName, heads.i + 1, "cut-tail", detail, heads.i + 1))

  /** Another process may have removed the file since the snapshot. */
  const isExpiredNow = (file: string) =>
    Effect.orElseSucceed(Effect.try(() => newestHeadOf(state, file)?.state === "expired"), () => false)

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
      if (open.has(sessionOf(file))) stillOpen.push(file)
      else if (isChain) lostAtEnd(`the last head of ${file} is missing at the end`)
      else problems.push(problem(headsName, line, "removed", `the last head of ${file} is missing`))
    }
    const most = mostBytes(snapshot.own?.file === file ? snapshot.own.n : recorded)
    const checked = place === undefined ? undefined : yield* verifyFile(place, file, session, most)
    if (checked === undefined) {
      if (session.isExpired || (yield* isExpiredNow(file))) counts.expired++
      else problems.push(problem(file, 0, "missing-file", `it held the entries up to ${recorded}`, recorded))
    } else if (final !== undefined) counts[final.state === "closed" ? "sealed" : "recovered"]++
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
    const checked = regular ? yield* verifyFile(place, file, undefined, unread) : undefined
    unread -= checked?.bytes ?? 0
    if (checked?.project === project && (project !== "" || place.name === "home")) {
      lostAtEnd(`${file} was begun under this KIWI_HOME, and its heads are missing`)
    }
    problems.push(
      regular
        ? problem(file, 0, "inserted", unnamed)
        : problem(file, 0, "unreadable", "it is a link, or not a file")
    )
  }
  if (told > mostTold) problems.push(problem(".", 0, "inserted", `${told - mostTold} more files like these`))
  const report: AuditReport = { ...counts, open: stillOpen, keys, problems }
  return report
})
