import { format } from "@cfworker/json-schema"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import * as SchemaValidatorInterpreter from "../../../src/layers/schema/SchemaValidatorInterpreter.ts"
import { SchemaValidator } from "../../../src/services/schema/SchemaValidator.ts"
import { contract } from "./SchemaValidator.contract.ts"

contract("SchemaValidatorInterpreter", SchemaValidatorInterpreter.layer, () => ({ _tag: "foreign" }))

const validate = (schema: Schema.JsonObject, value: Schema.Json) =>
  SchemaValidator.use((v) =>
    v.validate({ schema, what: "schema of upstream", value, closed: false, origin: { _tag: "foreign" } })
  ).pipe(Effect.provide(SchemaValidatorInterpreter.layer))

describe("SchemaValidatorInterpreter", () => {
  it.effect("a small schema that would work for years is stopped", () =>
    Effect.gen(function*() {
      const $defs: Record<string, Schema.Json> = { a0: { type: "number" } }
      for (let i = 1; i <= 40; i++) {
        $defs[`a${i}`] = { allOf: [{ $ref: `#/$defs/a${i - 1}` }, { $ref: `#/$defs/a${i - 1}` }] }
      }
      assert.include((yield* Effect.flip(validate({ $ref: "#/$defs/a40", $defs }, 1))).message, "more steps")
      const both = { properties: { a: { allOf: [{ $ref: "#" }, { $ref: "#" }] } } }
      let value: Schema.Json = {}
      for (let i = 0; i < 60; i++) value = { a: value }
      assert.include((yield* Effect.flip(validate(both, value))).message, "more steps")
    }))

  it.effect("leaves nothing behind in the library that it borrows", () =>
    Effect.gen(function*() {
      const before = Object.keys(format)
      yield* validate({ pattern: "^a$" }, "a")
      yield* Effect.flip(validate({ allOf: [{ pattern: "^a$" }, { $ref: "#/nowhere" }] }, "a"))
      assert.deepStrictEqual(Object.keys(format), before)
    }))

  it.effect("refuses what the interpreter would silently ignore", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(validate({ $dynamicRef: "#a", $defs: { a: { $dynamicAnchor: "a" } } }, 1))
      assert.include(error.message, "$dynamicRef")
    }))
})
