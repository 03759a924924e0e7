import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { inputsSchema, maxSignature, schemaSignature } from "../../../src/services/item/CallSignature.ts"

const signature = (properties: Schema.JsonObject, required: ReadonlyArray<string> = []) =>
  schemaSignature("add", { type: "object", properties, required })

describe("a call signature", () => {
  it("names parameters and types, required ones first", () => {
    assert.strictEqual(
      signature({ a: { type: "number" }, b: { type: "number" } }, ["a", "b"]),
      "add(a: number, b: number)"
    )
    assert.strictEqual(
      signature({ a: { type: "integer", default: 1 }, b: { type: "string" }, c: {} }, ["b"]),
      "add(b: string, a?: integer = 1, c?: any)"
    )
    assert.strictEqual(signature({}), "add()")
    assert.strictEqual(schemaSignature("x", { type: "object", additionalProperties: { type: "string" } }), "x(…)")
    assert.strictEqual(schemaSignature("x", {}), "x()")
  })

  it("shows choices, lists and objects briefly", () => {
    assert.strictEqual(
      signature({
        e: { enum: ["a", "b"] },
        f: { enum: [1, 2, 3, 4, 5] },
        l: { type: "array", items: { type: "string" } },
        m: { type: "array" },
        n: { type: "array", items: { enum: ["x", "y"] } }
      }),
      "add(e?: \"a\"|\"b\", f?: 1|2|3|4|…, l?: string[], m?: any[], n?: (\"x\"|\"y\")[])"
    )
    assert.strictEqual(
      signature({
        o: { type: "object", properties: { x: {} } },
        p: { type: "object" },
        u: { type: ["string", "null"] },
        v: { anyOf: [{ type: "string" }, { type: "number" }] },
        c: { const: 3 }
      }),
      "add(o?: {…}, p?: object, u?: string|null, v?: string|number, c?: 3)"
    )
  })

  it("is cut, never too long, and always closed", () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`parameter_${i}`, { type: "string" }]))
    const text = signature(many)
    assert.isAtMost(text.length, maxSignature)
    assert.isTrue(text.endsWith(", …)"))
    const long = schemaSignature("a".repeat(128), { properties: { ["b".repeat(500)]: { enum: ["c".repeat(500)] } } })
    assert.isAtMost(long.length, maxSignature)
  })

  it.effect.prop(
    "is one bounded line for any schema",
    [Schema.Record(Schema.String, Schema.Json)],
    ([properties]) =>
      Effect.sync(() => {
        const text = schemaSignature("x", { type: "object", properties })
        assert.isAtMost(text.length, maxSignature)
        assert.isTrue(text.startsWith("x(") && text.endsWith(")") && !text.includes("\n"))
      })
  )

  it("deep schemas end", () => {
    let schema: Schema.JsonObject = { type: "string" }
    for (let i = 0; i < 1000; i++) schema = { anyOf: [schema, { type: "array", items: schema }] }
    assert.isAtMost(signature({ a: schema }).length, maxSignature)
  })

  it("of a directive comes from its inputs, or its own schema", () => {
    const inputs = [
      { name: "branch", type: "string", required: true, description: "Which" },
      { name: "count", type: "integer", required: false, default: 3, description: "" }
    ] as const
    assert.strictEqual(
      schemaSignature("deploy", inputsSchema({ inputs, inputSchema: undefined })),
      "deploy(branch: string, count?: integer = 3)"
    )
    assert.strictEqual(
      schemaSignature("deploy", inputsSchema({ inputs, inputSchema: { type: "object", properties: { x: {} } } })),
      "deploy(x?: any)"
    )
  })
})
