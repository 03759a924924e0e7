// Validates call data with JSON Schema. Schemas of verified items are compiled; all others are interpreted, since the
// compiler turns a schema into code.
import { Context, type Effect, Schema } from "effect"
import type { ValidationIssue } from "../error/KiwiError.ts"

/**
 * The schema itself cannot be used: too large or deep, a remote `$ref`, an invalid keyword, a pattern that is not
 * linear.
 */
export class SchemaUnusable extends Schema.TaggedError<SchemaUnusable>()("SchemaUnusable", {
  /** "parameters of add", "config of subprocess". */
  what: Schema.String,
  issue: Schema.String
}) {
  override get message() {
    return `The schema for the ${this.what} cannot be used: ${this.issue}`
  }
  get remediation() {
    return "Correct the schema in the tool's metadata; it follows JSON Schema 2020-12 without remote references"
  }
}

export interface ValidatedValue {
  /** The value with defaults applied. Nothing is coerced. The input is never changed. */
  readonly value: Schema.Json
  readonly issues: ReadonlyArray<ValidationIssue>
}

export class SchemaValidator extends Context.Service<SchemaValidator, {
  /**
   * Validates `value`. `origin`: `verified` for schemas of verified items (`digest` is the cache key of the compiled
   * form), else `foreign`. `closed`: unknown properties at the top level are refused, unless the schema says something
   * about them.
   */
  readonly validate: (options: {
    readonly schema: Schema.JsonObject
    readonly what: string
    readonly value: Schema.Json
    readonly closed: boolean
    readonly origin: { readonly _tag: "verified"; readonly digest: string } | { readonly _tag: "foreign" }
  }) => Effect.Effect<ValidatedValue, SchemaUnusable>
}>()("kiwi/services/schema/SchemaValidator") {}
