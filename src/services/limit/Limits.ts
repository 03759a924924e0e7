// How often and how many at once: for each caller, and for the tools that a pattern names. Every limit that fits a call
// holds for it, so one more pattern can only tighten.
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"

/** A token bucket: holds at most `tokens`, and gets as many in every `period` milliseconds. */
export interface Rate {
  readonly tokens: number
  readonly period: number
}

/** `caller`: for all calls of a caller. `tools`: by pattern, for a caller's calls of all tools that it names. */
export interface Limits<A> {
  readonly caller?: A
  readonly tools?: Readonly<Record<string, A>>
}

const periods: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const mostTokens = 100_000

export const rateForm = "a number of calls up to 100000 for each s, m, h or d, such as 600/m"

const Rate = Schema.Unknown.pipe(Schema.decodeTo(Schema.Struct({ tokens: Schema.Int, period: Schema.Int }), {
  decode: SchemaGetter.transformEffect((value) => {
    const match = typeof value === "string" ? /^([1-9]\d{0,5})\/([smhd])$/.exec(value) : null
    const tokens = Number(match?.[1])
    return match !== null && tokens <= mostTokens
      ? Effect.succeed({ tokens, period: periods[match[2]!]! })
      : Effect.fail(new SchemaIssue.InvalidValue({ message: `must be ${rateForm}` }))
  }),
  encode: SchemaGetter.forbiddenEncoding
}))

/** `600/m` */
export const showRate = ({ period, tokens }: Rate): string =>
  `${tokens}/${Object.keys(periods).find((unit) => periods[unit] === period) ?? `${period}ms`}`

const Places = Schema.Unknown.pipe(Schema.decodeTo(Schema.Int, {
  decode: SchemaGetter.transformEffect((value) =>
    /^[1-9]\d{0,3}$/.test(String(value)) && Number(value) <= 1_024
      ? Effect.succeed(Number(value))
      : Effect.fail(new SchemaIssue.InvalidValue({ message: "must be a whole number from 1 to 1024" }))
  ),
  encode: SchemaGetter.forbiddenEncoding
}))

/** A tool's id, with or without its category, or the beginning of several and a `*`: `shell.run`, `github/*`. */
const pattern = /^(?:[A-Za-z0-9][A-Za-z0-9._/-]{0,254}\*?|\*)$/

const mostPatterns = 64

const checkPatterns = Schema.makeFilter<Readonly<Record<string, unknown>>>((tools) => {
  const names = Object.keys(tools)
  return names.length <= mostPatterns && names.every((name) => pattern.test(name))
}, {
  message: `must be at most ${mostPatterns} ids of tools, each with its limit; only the last character can be a *`
})

const limitsOf = <A>(each: Schema.ConstraintDecoder<A>): Schema.ConstraintDecoder<Limits<A>> =>
  Schema.Struct({
    caller: Schema.optionalKey(each),
    tools: Schema.optionalKey(Schema.Record(Schema.String, each).check(checkPatterns))
  })

export const RateLimits = limitsOf(Rate)
export const ConcurrencyLimits = limitsOf(Places)

/** What a file does not name stays as it is without the file. */
export const combine = <A>(given: Limits<A>, base: Limits<A>): Limits<A> => ({
  ...base,
  ...given,
  tools: { ...base.tools, ...given.tools }
})

/** Whether every limit of `b` is in `a` too, and is there at least as strict. */
const isTighterWith = <A>(tighter: (a: A, b: A) => boolean) => (a: Limits<A>, b: Limits<A>): boolean =>
  [[a.caller, b.caller], ...Object.keys(b.tools ?? {}).map((name) => [a.tools?.[name], b.tools?.[name]])]
    .every(([mine, its]) => its === undefined || (mine !== undefined && tighter(mine, its)))

/** A lower rate that allows more calls at once is not stricter. */
export const isTighterRate = isTighterWith<Rate>((a, b) =>
  a.tokens <= b.tokens && a.tokens / a.period <= b.tokens / b.period
)
export const isTighterConcurrency = isTighterWith<number>((a, b) => a <= b)

/** `{caller: 600/m, tools: {github/*: 100/m}}` */
export const showLimits = <A>({ caller, tools = {} }: Limits<A>, show: (limit: A) => string): string => {
  const patterns = Object.entries(tools).map(([name, limit]) => `${name}: ${show(limit)}`)
  return `{${
    [
      ...(caller === undefined ? [] : [`caller: ${show(caller)}`]),
      ...(patterns.length === 0 ? [] : [`tools: {${patterns.join(", ")}}`])
    ].join(", ")
  }}`
}

const isNamed = (name: string, ids: ReadonlyArray<string>): boolean =>
  name.endsWith("*") ? ids.some((id) => id.startsWith(name.slice(0, -1))) : ids.includes(name)

/** A limit that holds for a call. `name`: "caller", or the pattern. */
export interface Holding<A> {
  readonly name: string
  readonly limit: A
}

/** Those that hold for a tool, by any of its `ids`. */
export const holdingFor = <A>(
  { caller, tools = {} }: Limits<A>,
  ids: ReadonlyArray<string>
): ReadonlyArray<Holding<A>> => [
  ...(caller === undefined ? [] : [{ name: "caller", limit: caller }]),
  ...Object.entries(tools).filter(([name]) => isNamed(name, ids)).map(([name, limit]) => ({
    name: `tools.${name}`,
    limit
  }))
]
