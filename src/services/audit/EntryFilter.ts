// Which entries a reader wants. Only the entry that asks for something names its caller, so the entries of one call are
// matched together.
import { Predicate } from "effect"

export interface EntryFilter {
  readonly call?: string
  /** Any of these calls. */
  readonly calls?: ReadonlySet<string>
  /** The id of an item or `server/tool`: it was requested by that name, or shown under it. */
  readonly item?: string
  readonly outcome?: string
  /** The rule that allowed or denied it. */
  readonly rule?: string
  /** The surface, the client's name, its label or its session. */
  readonly caller?: string
  /** Milliseconds since 1970: only entries from then on. */
  readonly since?: number
  /** Number of an entry. Several entries have it if sessions ran side by side. */
  readonly n?: number
  /** `2026-11-21/….jsonl`, or only the file's name. */
  readonly file?: string
}

type Fields = { readonly [key: string]: unknown }

const isAbout = ({ query, shown, subject }: Fields, item: string): boolean =>
  (Predicate.isReadonlyObject(subject) && subject["item"] === item) || query === item ||
  (Array.isArray(shown) && shown.some((one) => Predicate.isReadonlyObject(one) && one["id"] === item))

const isBy = (caller: unknown, name: string): boolean =>
  Predicate.isReadonlyObject(caller) &&
  (caller["surface"] === name || caller["client"] === name || caller["label"] === name || caller["session"] === name)

/** So many calls are remembered by their caller; the oldest are forgotten first. */
const mostCalls = 10_000

/** Whether the entries of a file, taken in order, match. `file` is not compared here. */
export const makeMatches = (filter: EntryFilter): (entry: Fields) => boolean => {
  const since = filter.since === undefined ? undefined : new Date(filter.since).toISOString()
  const calls = new Set<unknown>()
  const isByCaller = (entry: Fields, name: string): boolean => {
    if (!isBy(entry["caller"], name)) return calls.delete(entry["call"])
    if (entry["kind"] === "request") {
      calls.add(entry["call"])
      if (calls.size > mostCalls) calls.delete(calls.values().next().value)
    }
    return true
  }
  return (entry) => {
    const { at, call, n, outcome, rule } = entry
    return (filter.caller === undefined || isByCaller(entry, filter.caller)) &&
      (filter.call === undefined || call === filter.call) &&
      (filter.calls === undefined || (typeof call === "string" && filter.calls.has(call))) &&
      (filter.outcome === undefined || outcome === filter.outcome) &&
      (filter.rule === undefined || rule === filter.rule) &&
      (filter.n === undefined || n === filter.n) &&
      (since === undefined || (typeof at === "string" && at >= since)) &&
      (filter.item === undefined || isAbout(entry, filter.item))
  }
}

/** Texts of which a line has all if its entry matters: finding them is quicker than decoding the line. */
export const hintsOf = ({ call, caller, item, outcome, rule }: EntryFilter): ReadonlyArray<string> =>
  [call, item, ...(caller === undefined ? [outcome, rule] : [])]
    .flatMap((word) => word === undefined ? [] : [JSON.stringify(word)])
