import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as SchemaValidatorAjv from "../../../src/layers/schema/SchemaValidatorAjv.ts"
import { SchemaValidator } from "../../../src/services/schema/SchemaValidator.ts"
import { contract } from "./SchemaValidator.contract.ts"

contract("SchemaValidatorAjv", SchemaValidatorAjv.layer, (n) => ({ _tag: "verified", digest: String(n) }))

describe("SchemaValidatorAjv", () => {
  const base = { what: "parameters of t", closed: false, value: { a: "x" } }

  it.effect("compiles no schema that comes from no verified item", () =>
    Effect.gen(function*() {
      const validator = yield* SchemaValidator
      const error = yield* Effect.flip(validator.validate({ ...base, schema: {}, origin: { _tag: "foreign" } }))
      assert.strictEqual(error._tag, "SchemaUnusable")
    }).pipe(Effect.provide(SchemaValidatorAjv.layer)))

  it.effect("keeps the compiled form by digest, place and closedness", () =>
    Effect.gen(function*() {
      const validator = yield* SchemaValidator
      const of = (schema: { readonly properties: Record<string, { readonly type: string }> }, over: object = {}) =>
        Effect.map(
          validator.validate({ ...base, schema, origin: { _tag: "verified", digest: "d" }, ...over }),
          (v) => v.issues.length
        )
      const strings = { properties: { a: { type: "string" } } }
      const numbers = { properties: { a: { type: "number" } } }
      assert.strictEqual(yield* of(strings), 0)
      // The digest stands for the bytes that the schema was read from.
      assert.strictEqual(yield* of(numbers), 0)
      assert.strictEqual(yield* of(numbers, { what: "config of t" }), 1)
      assert.strictEqual(yield* of(numbers, { origin: { _tag: "verified", digest: "e" } }), 1)
      assert.strictEqual(yield* of({ properties: {} }, { closed: true }), 1)
    }).pipe(Effect.provide(SchemaValidatorAjv.layer)))
})
