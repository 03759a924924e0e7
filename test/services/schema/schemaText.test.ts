import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Schema } from "effect"
import { fieldOf, nearest } from "../../../src/services/schema/schemaIssues.ts"
import { prepareSchema } from "../../../src/services/schema/schemaText.ts"

const secretFields = (schema: Schema.JsonObject): ReadonlyArray<string> =>
  Result.match(prepareSchema(schema, "a"), { onSuccess: ({ secrets }) => [...secrets], onFailure: () => [] })

describe("the secrets of a schema", () => {
  it("finds marked properties at any depth, through references, lists and alternatives", () => {
    assert.deepStrictEqual(
      secretFields({
        properties: {
          plain: { type: "string" },
          password: { format: "password" },
          a: { type: "object", properties: { token: { writeOnly: true } } },
          list: { type: "array", items: { $ref: "#/$defs/secret" } },
          maybe: { anyOf: [{ type: "null" }, { $ref: "#/$defs/secret" }] },
          not: { enum: [{ writeOnly: true }], default: { format: "password" } }
        },
        $defs: { secret: { "x-secret": true }, other: { properties: { key: { "x-secret": true } } } }
      }).toSorted(),
      ["key", "list", "maybe", "password", "token"]
    )
  })

  it("ends for schemas that refer to themselves, and for those that are too large", () => {
    assert.deepStrictEqual(secretFields({ properties: { a: { $ref: "#/properties/a" } } }), [])
    let deep: Schema.JsonObject = {}
    for (let i = 0; i < 10_000; i++) deep = { properties: { a: deep } }
    assert.deepStrictEqual(secretFields(deep), [])
  })
})

describe("fieldOf", () => {
  it("writes keys and indexes by what they lead through", () => {
    assert.strictEqual(fieldOf({ a: { b: [1] } }, "/a/b/0"), "a.b[0]")
    assert.strictEqual(fieldOf({ "0": 1 }, "/0"), "[\"0\"]")
    assert.strictEqual(fieldOf({ "a/b": { "c d": 1 } }, "/a~1b/c d"), "[\"a/b\"][\"c d\"]")
    assert.strictEqual(fieldOf([[1]], "/0/0"), "[0][0]")
    assert.strictEqual(fieldOf(1, ""), "")
  })
})

describe("nearest", () => {
  it("finds what was probably meant and nothing far off", () => {
    assert.strictEqual(nearest("recipeint", ["subject", "recipient"]), "recipient")
    assert.strictEqual(nearest("Path", ["path"]), "path")
    assert.strictEqual(nearest("x", ["y"]), undefined)
    assert.strictEqual(nearest("colour", ["path", "content"]), undefined)
    assert.strictEqual(nearest("a".repeat(1_000_000), ["a"]), undefined)
  })
})
