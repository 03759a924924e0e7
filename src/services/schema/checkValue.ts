// The steps around both validators: limits first, then defaults, then the validator's failures, then unknown keys where
// the schema does not mention them. Shared, so that a schema means the same in both.
import { Result, type Schema } from "effect"
import { isJsonObject } from "./json.ts"
import { explainFailures, type SchemaFailure, unknownKey } from "./schemaIssues.ts"
import { applyDefaults, knownKeys, type PreparedSchema, tooMuch, valueLimits } from "./schemaText.ts"
import type { SchemaUnusable, ValidatedValue } from "./SchemaValidator.ts"

export interface Checks {
  readonly prepared: PreparedSchema
  readonly failures: (value: Schema.Json) => Result.Result<ReadonlyArray<SchemaFailure>, SchemaUnusable>
  /** The top-level keys. Undefined if any key is allowed, or the schema itself says which. */
  readonly known: {
    readonly keys: ReadonlySet<string>
    readonly patterns: ReadonlyArray<(key: string) => boolean>
  } | undefined
}

/** The keys that `closed` allows, if the schema does not say. */
export const topLevelKeys = (prepared: PreparedSchema, closed: boolean) => {
  const { keys, open, patterns } = knownKeys(prepared)
  return closed && !open ? { keys, patterns } : undefined
}

export const checkValue = (checks: Checks, value: Schema.Json): Result.Result<ValidatedValue, SchemaUnusable> => {
  const { known, prepared } = checks
  const excess = tooMuch(value, {
    ...valueLimits,
    nodes: prepared.uniqueItems ? valueLimits.comparedNodes : valueLimits.nodes
  })
  const unchecked = (why: string) =>
    Result.succeed({ value, issues: [{ field: "", error: `cannot be checked: ${why}` }] })
  if (excess !== undefined) return unchecked(excess)
  const complete = applyDefaults(prepared, value)
  if (complete === undefined) return unchecked("the schema's defaults never end")
  return Result.map(checks.failures(complete), (failures) => {
    const issues = explainFailures(failures, complete, prepared.secrets)
    if (known === undefined || !isJsonObject(complete)) return { value: complete, issues }
    const unknown = Object.keys(complete).filter((key) => !known.keys.has(key) && !known.patterns.some((p) => p(key)))
    return {
      value: complete,
      issues: [...issues, ...unknown.map((key) => ({ field: key, error: unknownKey(key, [...known.keys]) }))]
    }
  })
}
