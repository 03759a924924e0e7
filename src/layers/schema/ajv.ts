// The only import of the compiling validator, so that it is loaded on first use and its types stay in this file.
import { Ajv } from "ajv"
import { Ajv2020, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from "ajv/dist/2020.js"
import { JsonPointer, Result, type Schema } from "effect"
import { isJsonObject } from "../../services/schema/json.ts"
import type { SchemaFailure } from "../../services/schema/schemaIssues.ts"
import { type PreparedSchema } from "../../services/schema/schemaText.ts"
import type { linearPattern } from "./linearPatterns.ts"

class PatternRefused extends Error {}

/** Ajv distinguishes patterns by `toString`, and needs source text that is only used for generated modules. */
const engineOf = (read: typeof linearPattern) =>
  Object.assign(
    (pattern: string) => ({
      test: Result.getOrThrowWith(read(pattern), (issue) => new PatternRefused(issue)),
      toString: () => pattern
    }),
    { code: "linearPattern" }
  )

const options: Options = {
  allErrors: true,
  verbose: true,
  strict: false,
  // Inherited names such as `constructor` are not keys of the data.
  ownProperties: true,
  // Formats are annotations, as in 2020-12.
  validateFormats: false,
  // Keyword values are checked while compiling; compiling the meta-schema would cost ten times the rest.
  validateSchema: false,
  // Nor is the meta-schema needed to refer to: only local references are followed.
  meta: false,
  messages: false,
  logger: false
}

export type Check = (value: Schema.Json) => Result.Result<ReadonlyArray<SchemaFailure>, string>

/** A new Ajv for every schema: an Ajv never releases what it compiled, and creating one costs less than compiling. */
export const compile = (prepared: PreparedSchema, read: typeof linearPattern): Result.Result<Check, string> =>
  Result.map(
    Result.try({
      try: () => {
        const all: Options = { ...options, code: { regExp: engineOf(read) } }
        return (prepared.draft === "draft-07" ? new Ajv(all) : new Ajv2020(all)).compile(prepared.schema)
      },
      catch: (e) => e instanceof Error ? e.message : "it cannot be compiled"
    }),
    (validate: ValidateFunction) => (value) =>
      Result.try({
        try: () => validate(value) ? [] : failuresOf(validate.errors ?? [], prepared),
        catch: (e) => e instanceof RangeError ? "it refers to itself endlessly" : `it cannot be run: ${String(e)}`
      })
  )

interface Collected {
  readonly failure: SchemaFailure
  readonly parent: AnySchemaObject | undefined
}

/** Every schema below an alternative, through local references. */
const reachable = (schema: unknown, prepared: PreparedSchema): ReadonlySet<unknown> => {
  const seen = new Set<unknown>()
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return
    seen.add(value)
    for (const inner of Object.values(value)) visit(inner)
    if ("$ref" in value && typeof value.$ref === "string") visit(prepared.resolve(value.$ref))
  }
  visit(schema)
  return seen
}

const keyPointer = (pointer: string, key: unknown) => `${pointer}/${JsonPointer.escapeToken(String(key))}`

/** Ajv reports an alternative after all failures of its branches. This moves those back below it. */
const failuresOf = (errors: ReadonlyArray<ErrorObject>, prepared: PreparedSchema): ReadonlyArray<SchemaFailure> => {
  const collected: Array<Collected> = []
  /** Removes and returns the failures of the schemas below `alternative` for the value at `pointer`. */
  const takeBelow = (alternative: unknown, pointer: string): ReadonlyArray<SchemaFailure> => {
    const schemas = reachable(alternative, prepared)
    const taken: Array<SchemaFailure> = []
    for (let i = collected.length - 1; i >= 0; i--) {
      const entry = collected[i]
      if (entry === undefined || !schemas.has(entry.parent) || !isWithin(entry.failure.pointer, pointer)) continue
      taken.unshift(entry.failure)
      collected.splice(i, 1)
    }
    return taken
  }
  for (const e of errors) {
    const { instancePath: pointer, keyword, params } = e
    // `if` repeats its branch's failures. Names inside propertyNames are not paths in the value.
    if (keyword === "if" || e.propertyName !== undefined) continue
    const parent: Schema.Json | undefined = e.parentSchema
    // The schema was JSON when it was compiled, so its keywords' values are.
    const constraint = e.schema as Schema.Json | undefined
    const base = { keyword, pointer, constraint, parent: isJsonObject(parent) ? parent : undefined }
    const add = (failure: Partial<SchemaFailure>) =>
      collected.push({ failure: { ...base, ...failure }, parent: e.parentSchema })
    switch (keyword) {
      case "anyOf":
      case "oneOf": {
        const branches = Array.isArray(e.schema) ? e.schema : []
        const passing = new Set(Array.isArray(params["passingSchemas"]) ? params["passingSchemas"] : [])
        add({ branches: branches.map((b, i) => passing.has(i) ? [] : takeBelow(b, pointer)) })
        break
      }
      case "contains":
        takeBelow(e.schema, pointer)
        add({})
        break
      case "propertyNames":
        add({ pointer: keyPointer(pointer, params["propertyName"]) })
        break
      case "additionalProperties":
        add({ pointer: keyPointer(pointer, params["additionalProperty"]) })
        break
      case "unevaluatedProperties":
        add({ pointer: keyPointer(pointer, params["unevaluatedProperty"]) })
        break
      case "false schema":
        add({ keyword: "false" })
        break
      case "items":
      case "additionalItems":
      case "unevaluatedItems":
        add({ keyword: "additionalItems", pointer: keyPointer(pointer, params["limit"] ?? params["len"]) })
        break
      default:
        add({})
    }
  }
  return collected.map((c) => c.failure)
}

const isWithin = (pointer: string, outer: string) => pointer === outer || pointer.startsWith(`${outer}/`)
