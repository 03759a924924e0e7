// The flags that choose entries.
import { Clock, Effect, Option } from "effect"
import * as Flag from "effect/cli/Flag"
import type { EntryFilter } from "../../../../services/audit/EntryFilter.ts"
import { Outcome } from "../../../../services/call/callOutcome.ts"

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

type Since = { readonly ago: number } | { readonly at: number }

/** `90m`, `7d`, or a date that `Date` understands. */
const parseSince = (text: string): Since | undefined => {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count !== undefined && unit !== undefined) return { ago: Number(count) * units[unit]! }
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : { at }
}

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

export const limit = Flag.Int("limit").pipe(
  Flag.withAlias("n"),
  Flag.withMetavar("N"),
  Flag.filter((n) => n >= 1 && n <= 10_000, () => "a number from 1 to 10000"),
  Flag.withDescription("How many entries, the newest ones")
)

export const filters = {
  item: text("item", "ID", "Only entries about this item"),
  tool: text("tool", "ID", "The same as --item"),
  outcome: Flag.Literals("outcome", Outcome.literals).pipe(
    Flag.withMetavar("OUTCOME"),
    Flag.withDescription("Only entries with this outcome"),
    Flag.optional
  ),
  caller: text("caller", "NAME", "Only what was asked for by this client, surface or session"),
  rule: text("rule", "RULE", "Only what this rule allowed or denied"),
  since: Flag.String("since").pipe(
    Flag.withMetavar("TIME"),
    Flag.filterMap(
      (given) => Option.fromUndefinedOr(parseSince(given)),
      () => "a time that has passed, such as 90m, 12h or 7d, or a date such as 2026-11-21"
    ),
    Flag.withDescription("Only entries from then on: 90m, 12h, 7d, or a date"),
    Flag.optional
  )
}

export interface Filters {
  readonly item: Option.Option<string>
  readonly tool: Option.Option<string>
  readonly outcome: Option.Option<string>
  readonly caller: Option.Option<string>
  readonly rule: Option.Option<string>
  readonly since: Option.Option<Since>
}

export const filterOf = ({ caller, item, outcome, rule, since, tool }: Filters) =>
  Effect.map(Clock.currentTimeMillis, (now): EntryFilter => ({
    ...Option.match(Option.orElse(item, () => tool), { onNone: () => ({}), onSome: (id) => ({ item: id }) }),
    ...Option.match(outcome, { onNone: () => ({}), onSome: (one) => ({ outcome: one }) }),
    ...Option.match(caller, { onNone: () => ({}), onSome: (name) => ({ caller: name }) }),
    ...Option.match(rule, { onNone: () => ({}), onSome: (name) => ({ rule: name }) }),
    ...Option.match(since, {
      onNone: () => ({}),
      onSome: (from) => ({ since: "ago" in from ? now - from.ago : from.at })
    })
  }))
