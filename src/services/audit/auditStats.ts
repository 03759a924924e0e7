// Counts entries in little memory, whatever their number.
import type { AuditEntry } from "./AuditEntry.ts"

export interface ItemStats {
  readonly item: string
  /** Those that were run or refused. */
  readonly calls: number
  /** Attempts that ended with a question: the call after the answer counts by itself. */
  readonly asked: number
  readonly failed: number
  readonly denied: number
  /** Milliseconds. */
  readonly mean_ms: number
  readonly max_ms: number
}

export interface AuditStats {
  readonly entries: number
  /** Times of the first and the last entry, or null. */
  readonly from: string | null
  readonly to: string | null
  readonly sessions: number
  /** Calls that have a result, by outcome. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Requests and lookups, by operation. */
  readonly operations: Readonly<Record<string, number>>
  readonly callers: Readonly<Record<string, number>>
  readonly rules: Readonly<Record<string, number>>
  readonly errors: Readonly<Record<string, number>>
  /** The most used first. */
  readonly items: ReadonlyArray<ItemStats>
}

/** Further names are counted together: an audit may have a name for every entry. */
const mostNames = 1_000
const others = "(others)"

const makeCounts = () => {
  const counts = new Map<string, number>()
  return {
    add: (name: string): void => {
      const key = counts.has(name) || counts.size < mostNames ? name : others
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    result: (): Readonly<Record<string, number>> => Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a))
  }
}

interface Item {
  calls: number
  asked: number
  failed: number
  denied: number
  total: number
  max: number
}

export const makeStats = () => {
  const [outcomes, operations, callers, rules, errors] = [
    makeCounts(),
    makeCounts(),
    makeCounts(),
    makeCounts(),
    makeCounts()
  ]
  const items = new Map<string, Item>()
  let entries = 0
  let sessions = 0
  let from: string | null = null
  let to: string | null = null

  const addItem = (name: string, outcome: string, took: number): void => {
    const key = items.has(name) || items.size < mostNames ? name : others
    const item = items.get(key) ?? { calls: 0, asked: 0, failed: 0, denied: 0, total: 0, max: 0 }
    items.set(key, item)
    if (outcome === "asked") {
      item.asked++
      return
    }
    item.calls++
    if (outcome === "failure") item.failed++
    if (outcome === "denied") item.denied++
    item.total += took
    item.max = Math.max(item.max, took)
  }

  return {
    add: (entry: AuditEntry): void => {
      entries++
      if (from === null || entry.at < from) from = entry.at
      if (to === null || entry.at > to) to = entry.at
      switch (entry.kind) {
        case "opened":
          if (entry.continues === undefined) sessions++
          return
        case "request":
          operations.add(entry.operation)
          return callers.add(`${entry.caller.surface}:${entry.caller.client}`)
        case "read":
          operations.add(entry.operation)
          callers.add(`${entry.caller.surface}:${entry.caller.client}`)
          return outcomes.add(entry.outcome)
        case "act":
          operations.add(entry.act)
          return callers.add(`${entry.caller.surface}:${entry.caller.client}`)
        case "result":
          outcomes.add(entry.outcome)
          if (entry.rule !== undefined) rules.add(entry.rule)
          if (entry.error !== undefined) errors.add(entry.error.code)
          return addItem(entry.subject.item, entry.outcome, entry.duration_ms)
      }
    },
    result: (): AuditStats => ({
      entries,
      from,
      to,
      sessions,
      outcomes: outcomes.result(),
      operations: operations.result(),
      callers: callers.result(),
      rules: rules.result(),
      errors: errors.result(),
      items: [...items].toSorted(([, a], [, b]) => b.calls - a.calls).map((
        [item, { asked, calls, denied, failed, max, total }]
      ) => ({
        item,
        calls,
        asked,
        failed,
        denied,
        mean_ms: Math.round(total / Math.max(1, calls) * 1_000) / 1_000,
        max_ms: max
      }))
    })
  }
}
