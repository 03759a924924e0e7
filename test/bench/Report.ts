// What `npm run bench` prints: one JSON document. Programs read it, so its fields are extended and never changed.
import { Schema } from "effect"

/** Times in the row's unit. `p99` only where a hundred measurements or more were taken. */
export const Quantiles = Schema.Struct({
  n: Schema.Int,
  min: Schema.Finite,
  p50: Schema.Finite,
  p99: Schema.NullOr(Schema.Finite)
})
export type Quantiles = typeof Quantiles.Type

export const Target = Schema.Struct({
  /** `ratio` is this row's p50 over its rival's. */
  of: Schema.Literals(["p50", "p99", "ratio"]),
  /** One of the two. */
  most: Schema.optionalKey(Schema.Finite),
  least: Schema.optionalKey(Schema.Finite),
  met: Schema.Boolean
})

export const Row = Schema.Struct({
  /** `<suite>.<what>`; `--only` takes the suite. */
  name: Schema.String,
  what: Schema.String,
  /** `share`: from 0 to 1, the more the better. */
  unit: Schema.Literals(["ms", "MB", "share"]),
  measured: Quantiles,
  /** The same done without Kiwi, in turns with it. */
  rival: Schema.NullOr(Schema.Struct({ what: Schema.String, measured: Quantiles })),
  ratio: Schema.NullOr(Schema.Finite),
  targets: Schema.Array(Target),
  /** Null where nothing is aimed at. */
  met: Schema.NullOr(Schema.Boolean)
})
export type Row = typeof Row.Type

export const Report = Schema.Struct({
  kiwi: Schema.String,
  quick: Schema.Boolean,
  machine: Schema.Struct({
    node: Schema.String,
    platform: Schema.String,
    cpu: Schema.String,
    cores: Schema.Int,
    memory_mb: Schema.Int,
    /** One-minute load averages: above the number of cores, other work took part in every number. */
    load_before: Schema.Finite,
    load_after: Schema.Finite
  }),
  rows: Schema.Array(Row)
})
export type Report = typeof Report.Type

const round = (value: number): number => Number(value.toPrecision(4))

const at = (sorted: ReadonlyArray<number>, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN

export const quantiles = (times: ReadonlyArray<number>): Quantiles => {
  const sorted = times.toSorted((a, b) => a - b)
  return {
    n: sorted.length,
    min: round(at(sorted, 0)),
    p50: round(at(sorted, 0.5)),
    p99: sorted.length < 100 ? null : round(at(sorted, 0.99))
  }
}

export interface RowInput {
  readonly name: string
  readonly what: string
  readonly unit?: Row["unit"]
  readonly times: ReadonlyArray<number>
  readonly rival?: { readonly what: string; readonly times: ReadonlyArray<number> }
  /** The most that each may be. */
  readonly target?: { readonly p50?: number; readonly p99?: number; readonly ratio?: number }
}

export const makeRow = ({ name, rival, target = {}, times, unit = "ms", what }: RowInput): Row => {
  const measured = quantiles(times)
  const other = rival === undefined ? null : { what: rival.what, measured: quantiles(rival.times) }
  const ratio = other === null ? null : round(measured.p50 / other.measured.p50)
  const got = { p50: measured.p50, p99: measured.p99, ratio }
  const targets = (["p50", "p99", "ratio"] as const).flatMap((of) => {
    const most = target[of]
    const value = got[of]
    return most === undefined || value === null ? [] : [{ of, most, met: value <= most }]
  })
  return {
    name,
    what,
    unit,
    measured,
    rival: other,
    ratio,
    targets,
    met: targets.length === 0 ? null : targets.every((one) => one.met)
  }
}

export interface ScoreInput {
  readonly name: string
  readonly what: string
  readonly score: number
  readonly rival: { readonly what: string; readonly score: number }
  readonly least: { readonly p50?: number; readonly ratio?: number }
}

/** A row of what was counted once: from 0 to 1, the more the better. */
export const makeScore = ({ least, name, rival, score, what }: ScoreInput): Row => {
  const measured = quantiles([score])
  const other = { what: rival.what, measured: quantiles([rival.score]) }
  const ratio = rival.score === 0 ? null : round(score / rival.score)
  const got = { p50: measured.p50, ratio }
  const targets = (["p50", "ratio"] as const).flatMap((of) => {
    const wanted = least[of]
    const value = got[of]
    return wanted === undefined || value === null ? [] : [{ of, least: wanted, met: value >= wanted }]
  })
  return { name, what, unit: "share", measured, rival: other, ratio, targets, met: targets.every((one) => one.met) }
}
