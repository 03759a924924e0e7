import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Arguments, keepArguments, likeness } from "../../../src/services/limit/likeness.ts"

const keep = (parameters: Schema.JsonObject) => new Arguments(keepArguments(parameters))
const alike = (a: Schema.JsonObject, b: Schema.JsonObject) => likeness(keep(a), keep(b))

const Parameters = Schema.Record(
  Schema.Literals(["path", "query", "deep", "n"]),
  Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Array(Schema.String), Schema.Null])
)

describe("likeness", () => {
  it.effect.prop(
    "is symmetric, from 0 to 1, and 1 for equal arguments",
    [Parameters, Parameters],
    ([a, b]) =>
      Effect.sync(() => {
        const one = alike(a, b)
        assert.strictEqual(one, alike(b, a))
        assert.isTrue(one >= 0 && one <= 1)
        assert.strictEqual(alike(a, JSON.parse(JSON.stringify(a))), 1)
        assert.strictEqual(
          alike(a, Object.fromEntries(Object.entries(a).toReversed())),
          1,
          "whatever the order of keys"
        )
      })
  )

  const words = "one two three four five six seven eight nine ten eleven twelve"
  const rows: ReadonlyArray<readonly [string, Schema.JsonObject, Schema.JsonObject, boolean]> = [
    ["a question mark", { query: "how to add a tool" }, { query: "How to add a tool?" }, true],
    ["blanks", { command: "npm  test" }, { command: "npm test " }, true],
    ["one word of twelve", { query: words }, { query: words.replace("six", "sechs") }, true],
    ["one word of two", { command: "npm test" }, { command: "npm build" }, false],
    ["another file", { path: "src/a/b/c/d/e/f/g/h/i/j.ts" }, { path: "src/a/b/c/d/e/f/g/h/i/k.ts" }, false],
    ["the same text in another file", { path: "a", content: words }, { path: "b", content: words }, false],
    ["another number", { id: 1 }, { id: 2 }, false],
    ["another page", { query: words, offset: 0 }, { query: words, offset: 10 }, false],
    ["one more argument", { query: words }, { query: words, limit: 1 }, false],
    ["signs alone", { query: "???" }, { query: "!!!" }, false],
    ["nothing and nothing", {}, {}, true],
    ["a name that every object has", { constructor: "a" }, { toString: "a" }, false],
    ["a text and a list of it", { a: "x" }, { a: ["x"] }, false],
    ["a nested value", { a: { b: [1, 2, { c: "x" }] } }, { a: { b: [1, 2, { c: "y" }] } }, false]
  ]
  for (const [what, a, b, same] of rows) {
    it(`${what}: ${same ? "alike" : "not alike"}`, () => assert.strictEqual(alike(a, b) >= 0.9, same))
  }

  it("keeps a few thousand characters of arguments of any size, and knows them by these", () => {
    const text = Array.from({ length: 400_000 }, (_, index) => `w${index}`).join(" ")
    const large: ReadonlyArray<Schema.JsonObject> = [
      { text },
      { list: Array.from({ length: 200_000 }, (_, index) => index) },
      Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key-${index}`.repeat(20), index])),
      JSON.parse(`${"{\"a\":".repeat(3_000)}1${"}".repeat(3_000)}`)
    ]
    for (const one of large) {
      assert.isBelow(keepArguments(one).length, 40_000)
      assert.strictEqual(alike(one, { ...one }), 1)
    }
    assert.isBelow(alike({ text }, { text: text.replaceAll("w", "x") }), 0.9)
    assert.isBelow(alike({ text, path: "a" }, { text, path: "b" }), 0.9)
    assert.isBelow(alike({ text }, { text: `${text} and some more` }), 1)
  })
})
