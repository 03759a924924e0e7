// Compares one session's file with what the list of heads records of it, in constant memory.
import { Effect } from "effect"
import { parseLink } from "../../services/audit/AuditEntry.ts"
import type { AuditProblem } from "../../services/audit/AuditLog.ts"
import { checkLines } from "../../services/audit/checkLines.ts"
import { type AuditFolder, openToRead } from "./auditFolders.ts"
import { headsName, type KnownSession, problem } from "./knownSessions.ts"
import { forEachLine, hashRange, longestEntry, withFile } from "./lines.ts"

/** How many entries a session may have written after its newest head. */
const unrecorded = 10_000
/** The longest unfinished line that a seal can account for, in bytes. */
const longestTorn = 2_097_152

/** The maximum size of a file whose newest recorded entry is number `n`, in bytes. */
export const mostBytes = (n: number): number => (n + unrecorded) * longestEntry

export interface Checked {
  readonly entries: number
  /** How many were read. */
  readonly bytes: number
  readonly last: { readonly n: number; readonly head: string; readonly at: unknown } | undefined
  /** The project that the first entry names. */
  readonly project: unknown
  readonly problems: ReadonlyArray<AuditProblem>
}

export const checkFile = Effect.fnUntraced(function*(fd: number, file: string, known: KnownSession | undefined) {
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
  let last: Checked["last"]
  let project: unknown
  /** Where the last entry ended. */
  let after = 0
  yield* forEachLine(fd, ({ hash, next, number, start, text, whole }) => {
    ended = whole
    bytes = next
    const link = text === undefined ? undefined : parseLink(text)
    if (link !== undefined) {
      entries++
      last = { n: link.n, head: hash, at: link.at }
      const { heads, torn } = link
      if (number === 1) project = link.project
      if (
        torn !== undefined && torn.bytes <= longestTorn && torn.bytes === start - after &&
        hashRange(fd, after, torn.bytes) === torn.sha256
      ) {
        check.pardon()
      }
      const opening = number === 1 ? known?.opening?.head : undefined
      if (opening !== undefined && (heads?.head !== opening.prev || heads.i !== opening.i - 1)) {
        const detail = `${file} began after other heads than those listed before its own`
        problems.push(problem(headsName, opening.i, "changed", detail, opening.i))
      }
      after = next
    }
    check.line({ line: number, hash, entry: link && { n: link.n, prev: link.prev, last: link.kind === "sealed" } })
  })
  const checked: Checked = { entries, bytes, last, project, problems: [...check.end(ended), ...problems] }
  return checked
})

/** Checks one file, whatever type it has. Undefined if there is none. */
export const checkAt = (place: AuditFolder, file: string, known: KnownSession | undefined, most: number) =>
  withFile(() => openToRead(place, file, most), (fd) => checkFile(fd, file, known)).pipe(
    Effect.catch(({ why }) =>
      Effect.succeed<Checked>({
        entries: 0,
        bytes: 0,
        last: undefined,
        project: undefined,
        problems: [problem(file, 0, "unreadable", why)]
      })
    )
  )
