// Removes sealed files that are older than `audit.keep`. A file is removed only if every line of it was verified, and
// only after its session's newest entry and a head name it as expired. The list of heads itself is never shortened.
import { Effect } from "effect"
import * as fs from "node:fs"
import type { AuditExpired } from "../../services/audit/AuditEntry.ts"
import { type AuditFolder, type AuditFolders, dayOf, daysOf, openToRead, removeSame } from "./auditFolders.ts"
import { checkFile, mostBytes } from "./checkFile.ts"
import { newestHead } from "./headsFile.ts"
import { type KnownSession, readHeads } from "./knownSessions.ts"
import { withFile } from "./lines.ts"

export interface ExpiredFile extends Pick<typeof AuditExpired.Type, "file" | "entries" | "last" | "sealed_at"> {
  readonly place: AuditFolder
}

export interface FilesToExpire {
  readonly state: string
  /** The project's id, or "". */
  readonly project: string
  readonly folders: AuditFolders
  readonly ownKeys: Effect.Effect<ReadonlySet<string> | undefined>
  /** Files that were sealed before this time may go. Milliseconds since 1970. */
  readonly before: number
  /** Records that the file expired. If that fails, the file stays. */
  readonly record: (expired: ExpiredFile) => Effect.Effect<void, unknown>
}

/** Whether a file may be old enough, by the name of its folder. */
const anyOlder = (folders: AuditFolders, day: string): boolean =>
  [folders.project, folders.home].some((place) => place !== undefined && daysOf(place).some((one) => one < day))

/** Returns the files that were removed. */
export const expireFiles = Effect.fnUntraced(function*(
  { before, folders, ownKeys, project, record, state }: FilesToExpire
) {
  const day = new Date(before).toISOString().slice(0, 10)
  if (!(yield* Effect.try(() => anyOlder(folders, day)))) return []
  const { size } = yield* Effect.try(() => newestHead(state))
  const { problems, sessions } = yield* readHeads({ state, project, ownKeys: yield* ownKeys, size, points: [] })
  // In a list that was changed, no file can be proved to be whole.
  if (problems.length > 0) return []

  const expire = Effect.fnUntraced(function*(session: KnownSession, place: AuditFolder) {
    const { file, final, recorded } = session
    const isRemoved = yield* withFile(
      () => openToRead(place, file, mostBytes(recorded)),
      (fd) =>
        Effect.gen(function*() {
          const { entries, last, problems: found } = yield* checkFile(fd, file, session)
          if (found.length > 0 || last === undefined || last.n !== final?.n || last.head !== final.head) return false
          if (typeof last.at !== "string" || !(Date.parse(last.at) < before)) return false
          const { head, n } = last
          if (!session.isExpired) {
            const expired = { place, file, entries, last: { n, head }, sealed_at: last.at }
            const isRecorded = yield* Effect.isSuccess(record(expired))
            if (!isRecorded) return false
          }
          const same = Effect.try(() => removeSame(place, file, fs.fstatSync(fd, { bigint: true })))
          return yield* Effect.orElseSucceed(same, () => false)
        })
    )
    return isRemoved === true
  })

  const removed: Array<string> = []
  for (const session of sessions.values()) {
    const place = folders[session.place]
    if (session.final === undefined || place === undefined || dayOf(session.file) >= day) continue
    if (yield* Effect.orElseSucceed(expire(session, place), () => false)) removed.push(session.file)
  }
  return removed
})
