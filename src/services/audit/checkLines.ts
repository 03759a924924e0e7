// Checks one chain of lines: a session's file, or the list of heads. Takes line by line and keeps no lines, so that a
// file of any size is checked in little memory. That something was changed is certain; which kind of change it was
// (removed, inserted, …) is a best guess from what is left.
import type { AuditProblem } from "./AuditLog.ts"

export interface CheckedLine {
  /** 1-based. */
  readonly line: number
  readonly hash: string
  /** The numbers that the line itself states. Undefined if the line is not an entry. */
  readonly entry: { readonly n: number; readonly prev: string; readonly last: boolean } | undefined
}

export interface Expected {
  readonly file: string
  /** Number of the first line and the `prev` that it must have. Undefined accepts any. */
  readonly first: { readonly n: number; readonly prev: string } | undefined
  /** Hashes that were recorded elsewhere, by number. Checked ones are removed. */
  readonly points: Map<number, string>
  /** The chain's last number, if it has ended. */
  readonly final: number | undefined
}

/** Further problems in the same file add nothing. */
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
  /** Lines that are not entries, since the last entry. */
  let foreign: Array<number> = []
  /**
   * A line whose `prev` does not match the line before it: one of the two was changed, and the next line decides which.
   */
  let suspect: number | undefined

  const report = (line: number, problem: AuditProblem["problem"], detail: string, entry?: number): void => {
    if (blamed.has(line) || problems.length >= maxProblems) return
    blamed.add(line)
    problems.push({ file, line, problem, detail, ...(entry === undefined ? {} : { entry }) })
  }

  const resolveSuspect = (intact: boolean): void => {
    if (suspect === undefined) return
    report(intact ? Math.max(1, suspect - 1) : suspect, "changed", "the next line's hash is of different bytes")
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
    if (point !== hash) report(line, "changed", `entry ${n} is not the one that was recorded`, n)
  }

  const reportForeign = (follows: { readonly n: number; readonly prev: string }): void => {
    const [at] = foreign
    if (at === undefined) return
    const missing = follows.n - next
    for (const line of foreign) {
      report(line, missing > 0 ? "changed" : "inserted", "it is not an audit entry")
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
    if (ended) return report(line, "inserted", "it is after the end of the session", entry?.n)
    if (entry === undefined) {
      if (foreign.length < maxProblems) foreign.push(line)
      return
    }
    if (!known) {
      known = true
      next = entry.n
      prev = entry.prev
    }
    reportForeign(entry)
    if (entry.n === next) {
      const follows = entry.prev === prev
      if (suspect !== undefined) resolveSuspect(follows)
      else if (!follows) suspect = line
      return accept(next, checked)
    }
    if (entry.prev === prev) {
      resolveSuspect(true)
      report(line, "changed", `it says it is entry ${entry.n}, but it is where entry ${next} was`, next)
      return accept(next, checked)
    }
    if (entry.n > next) {
      if (gaps.length < maxProblems) gaps.push({ from: next, to: entry.n - 1, line })
      return accept(entry.n, checked)
    }
    if (!takeFromGap(entry.n)) {
      return report(line, "inserted", `entry ${entry.n} is already there, before it`, entry.n)
    }
    report(line, "reordered", `entry ${entry.n} comes after entry ${next - 1}`, entry.n)
    checkPoint(line, entry.n, hash)
  }

  const end = (whole: boolean): ReadonlyArray<AuditProblem> => {
    resolveSuspect(true)
    const { final } = expected
    // The last line of a session that is running, or is not recovered yet, may be unfinished.
    const held = final === undefined && !whole ? foreign.slice(0, -1) : foreign
    for (const at of held) report(at, "changed", "it is not an audit entry")
    for (const { from, line: at, to } of gaps) {
      report(
        at,
        "removed",
        from === to ? `entry ${from} is missing before it` : `entries ${from} to ${to} are missing before it`,
        from
      )
    }
    let last = final ?? 0
    for (const n of points.keys()) last = Math.max(last, n)
    const seen = next - 1 + (final === undefined ? 0 : foreign.length)
    if (last > seen) {
      report(
        lines + 1,
        "cut-tail",
        next === last ? `entry ${last} is missing at the end` : `entries ${next} to ${last} are missing at the end`,
        next
      )
    } else if (final !== undefined && !whole) {
      report(lines, "cut-tail", "its line end is missing")
    }
    return problems
  }

  return {
    line: take,
    end,
    /** Excuses an unfinished line that a seal accounts for. */
    pardon: (): void => {
      foreign = []
    }
  }
}
