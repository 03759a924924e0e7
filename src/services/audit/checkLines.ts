// What is wrong in one chain of lines: a session's file, or the list of heads. Fed line by line and keeps no lines, so
// that a file of any size is checked in little memory. It says what kind of harm it was as well as one can from what
// is left; that something was done is certain, its name is a guess.
import type { AuditProblem } from "./AuditLog.ts"

export interface CheckedLine {
  /** From 1. */
  readonly line: number
  readonly hash: string
  /** The numbers that the line itself claims; `undefined` for what is no entry. */
  readonly entry: { readonly n: number; readonly prev: string; readonly last: boolean } | undefined
}

export interface Expected {
  readonly file: string
  /** Number of the first line, and the hash that it names as the one before; `undefined` takes it as it comes. */
  readonly first: { readonly n: number; readonly prev: string } | undefined
  /** Hashes that were recorded elsewhere, by number. Emptied on the way. */
  readonly points: Map<number, string>
  /** The number that the chain ends with, where it has ended. */
  readonly final: number | undefined
}

/** More of one file say nothing new. */
const maxProblems = 100

export const checkLines = (expected: Expected) => {
  const { file, points } = expected
  const problems: Array<AuditProblem> = []
  const blamed = new Set<number>()
  /** Ranges of numbers that were skipped so far. */
  let gaps: Array<{ from: number; to: number; readonly line: number }> = []
  let known = expected.first !== undefined
  let next = expected.first?.n ?? 1
  let prev = expected.first?.prev ?? ""
  let ended = false
  let lines = 0
  /** Lines that are no entries, since the last one that is. */
  let foreign: Array<number> = []
  /** A line that does not follow from the one before it: either of them was changed, and the line after tells which. */
  let suspect: number | undefined

  const report = (line: number, problem: AuditProblem["problem"], detail: string): void => {
    if (blamed.has(line) || problems.length >= maxProblems) return
    blamed.add(line)
    problems.push({ file, line, problem, detail })
  }

  const resolveSuspect = (intact: boolean): void => {
    if (suspect === undefined) return
    report(intact ? Math.max(1, suspect - 1) : suspect, "changed", "the line after it was written for other bytes")
    suspect = undefined
  }

  const takeFromGap = (n: number): boolean => {
    const gap = gaps.find(({ from, to }) => n >= from && n <= to)
    if (gap === undefined) return false
    gaps = gaps.flatMap((g) =>
      g !== gap
        ? [g]
        : [{ ...g, to: n - 1 }, { ...g, from: n + 1 }].filter(({ from, to }) => from <= to)
    )
    return true
  }

  const checkPoint = (line: number, n: number, hash: string): void => {
    const point = points.get(n)
    if (point === undefined) return
    points.delete(n)
    if (point !== hash) report(line, "changed", `entry ${n} is not the one that was recorded`)
  }

  const settleForeign = (follows: { readonly n: number; readonly prev: string }): void => {
    const [at] = foreign
    if (at === undefined) return
    const missing = follows.n - next
    for (const line of foreign) {
      report(line, missing > 0 ? "changed" : "inserted", "it is no entry of the audit")
    }
    if (missing > 0 && missing <= foreign.length) {
      for (let n = next; n < follows.n; n++) points.delete(n)
      next = follows.n
      prev = follows.prev
    }
    foreign = []
  }

  const accept = (n: number, { entry, hash, line }: CheckedLine): void => {
    checkPoint(line, n, hash)
    next = n + 1
    prev = hash
    ended = entry?.last === true
  }

  const take = (checked: CheckedLine): void => {
    const { entry, hash, line } = checked
    lines = line
    if (ended) return report(line, "inserted", "it stands after the end of the session")
    if (entry === undefined) {
      if (foreign.length < maxProblems) foreign.push(line)
      return
    }
    if (!known) {
      known = true
      next = entry.n
      prev = entry.prev
    }
    settleForeign(entry)
    if (entry.n === next) {
      const follows = entry.prev === prev
      if (suspect !== undefined) resolveSuspect(follows)
      else if (!follows) suspect = line
      return accept(next, checked)
    }
    if (entry.prev === prev) {
      resolveSuspect(true)
      report(line, "changed", `it says it is entry ${entry.n}, and stands where entry ${next} was`)
      return accept(next, checked)
    }
    if (entry.n > next) {
      if (gaps.length < maxProblems) gaps.push({ from: next, to: entry.n - 1, line })
      return accept(entry.n, checked)
    }
    if (!takeFromGap(entry.n)) {
      return report(line, "inserted", `entry ${entry.n} stands before it already`)
    }
    report(line, "reordered", `entry ${entry.n} stands after entry ${next - 1}`)
    checkPoint(line, entry.n, hash)
  }

  const end = (whole: boolean): ReadonlyArray<AuditProblem> => {
    resolveSuspect(true)
    const { final } = expected
    // A session that runs, or could not be dealt with yet, may have a line that is not finished.
    const held = final === undefined && !whole ? foreign.slice(0, -1) : foreign
    for (const at of held) report(at, "changed", "it is no entry of the audit")
    for (const { from, line: at, to } of gaps) {
      report(
        at,
        "removed",
        from === to ? `entry ${from} is missing before it` : `entries ${from} to ${to} are missing before it`
      )
    }
    let last = final ?? 0
    for (const n of points.keys()) last = Math.max(last, n)
    const seen = next - 1 + (final === undefined ? 0 : foreign.length)
    if (last > seen) {
      report(lines + 1, "cut-tail", `entries ${next} to ${last} are missing at the end`)
    } else if (final !== undefined && !whole) {
      report(lines, "cut-tail", "its line end is missing")
    }
    return problems
  }

  return {
    line: take,
    end,
    /** For a line that a seal accounts for: it is not held against the file. */
    pardon: (): void => {
      foreign = []
    }
  }
}
