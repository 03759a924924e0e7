// What both validators promise: the same verdicts, the same defaults, the same words.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, type Schema } from "effect"
import { SchemaValidator } from "../../../src/services/schema/SchemaValidator.ts"

type Origin = Parameters<SchemaValidator["Service"]["validate"]>[0]["origin"]

export const contract = (name: string, layer: Layer.Layer<SchemaValidator>, originOf: (n: number) => Origin) => {
  let count = 0
  const validate = (schema: Schema.JsonObject, value: Schema.Json, closed = false) =>
    SchemaValidator.use((v) =>
      v.validate({ schema, what: "parameters of t", value, closed, origin: originOf(count++) })
    ).pipe(Effect.provide(layer))
  const issues = (schema: Schema.JsonObject, value: Schema.Json, closed = false) =>
    Effect.map(validate(schema, value, closed), (v) => v.issues.map((i) => `${i.field}: ${i.error}`))
  const one = (schema: Schema.JsonObject, value: Schema.Json) =>
    Effect.map(issues(schema, value), (all) => all.join(" | "))
  const unusable = (schema: Schema.JsonObject, value: Schema.Json = {}) => Effect.flip(validate(schema, value))

  describe(`${name} satisfies SchemaValidator`, () => {
    describe("attacks", () => {
      it.effect("names that every object inherits are neither present nor known", () =>
        Effect.gen(function*() {
          const inherited = ["constructor", "toString", "hasOwnProperty", "valueOf"]
          assert.deepStrictEqual(
            yield* issues({ type: "object", required: inherited }, {}),
            inherited.map((n) => `${n}: is missing`)
          )
          assert.deepStrictEqual(
            yield* issues({ type: "object", properties: { constructor: { type: "string" } } }, {}, true),
            []
          )
          assert.deepStrictEqual(yield* issues({ type: "object" }, { constructor: 1 }, true), [
            "constructor: there is no such key: none is allowed here"
          ])
          assert.deepStrictEqual(
            yield* issues({ additionalProperties: false, properties: { a: {} } }, { toString: 1 }),
            ["toString: there is no such key; allowed: a"]
          )
        }))

      it.effect("__proto__ is no key, in a value or in a schema", () =>
        Effect.gen(function*() {
          const hostile: Schema.Json = JSON.parse(`{"a": [{"__proto__": {"polluted": true}}]}`)
          const result = yield* validate({}, hostile)
          assert.include(result.issues[0]?.error, "__proto__")
          const schema: Schema.JsonObject = JSON.parse(
            `{"properties": {"__proto__": {"default": {"polluted": true}}, "b": {"default": 1}}}`
          )
          assert.strictEqual((yield* unusable(schema))._tag, "SchemaUnusable")
          assert.isFalse("polluted" in {})
        }))

      it.effect("a pattern with exponential backtracking costs nothing, and one that is not linear is refused", () =>
        Effect.gen(function*() {
          const evil = `${"a".repeat(50_000)}!`
          assert.lengthOf(yield* issues({ pattern: "^(?:(?:a+)+)+$" }, evil), 1)
          assert.lengthOf(
            yield* issues({ patternProperties: { "^(?:(?:a+)+)+$": false } }, { [evil]: 1, aaa: 1 }),
            1
          )
          for (const pattern of ["(?=a)b", "(a)\\1", "(?<!a)b", "["]) {
            assert.include((yield* unusable({ properties: { a: { pattern } } }, { a: "x" })).message, "linear time")
            assert.include((yield* unusable({ patternProperties: { [pattern]: true } }, { a: "x" })).message, "linear")
          }
        }))

      it.effect("nothing leads out of the schema", () =>
        Effect.gen(function*() {
          for (
            const $ref of ["https://evil.example/s.json", "file:///etc/passwd", "other.json", "//evil.example", "/x"]
          ) assert.include((yield* unusable({ properties: { a: { $ref } } })).message, "refers outside of it")
          assert.include((yield* unusable({ $defs: { a: { $id: "https://x.example/a" } } })).message, "$id")
          assert.strictEqual((yield* unusable({ $ref: "#/$defs/nowhere" }))._tag, "SchemaUnusable")
        }))

      it.effect("size, depth and number are bounded, in the schema and in the value", () =>
        Effect.gen(function*() {
          let deep: Schema.JsonObject = {}
          let list: Schema.Json = 1
          for (let i = 0; i < 5_000; i++) {
            deep = { properties: { a: deep } }
            list = [list]
          }
          assert.include((yield* unusable(deep)).message, "levels deep")
          assert.include((yield* unusable({ description: "x".repeat(300_000) })).message, "characters")
          assert.include((yield* unusable({ enum: Array.from({ length: 20_000 }, (_, i) => i) })).message, "values")
          assert.include((yield* issues({}, list))[0], "levels deep")
          assert.include((yield* issues({}, Array.from({ length: 200_000 }, () => 1)))[0], "values")
          assert.include((yield* issues({}, "x".repeat(9_000_000)))[0], "characters")
          assert.include(
            (yield* issues({ uniqueItems: true }, Array.from({ length: 20_000 }, (_, i) => ({ i }))))[0],
            "values"
          )
        }))

      it.effect("a schema that refers to itself without end is refused", () =>
        Effect.gen(function*() {
          assert.strictEqual((yield* unusable({ $ref: "#" }))._tag, "SchemaUnusable")
          const loop = { $ref: "#/$defs/a", $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { $ref: "#/$defs/a" } } }
          assert.strictEqual((yield* unusable(loop))._tag, "SchemaUnusable")
        }))

      it.effect("defaults that hold themselves end", () =>
        Effect.gen(function*() {
          const properties = { a: { $ref: "#", default: {} }, b: { $ref: "#", default: {} } }
          assert.deepStrictEqual(yield* issues({ type: "object", properties }, {}), [
            ": cannot be checked: the schema's defaults never end"
          ])
        }))

      it.effect("a keyword with a value that it cannot have is no crash", () =>
        Effect.gen(function*() {
          for (
            const schema of [
              { enum: 5 },
              { required: "a" },
              { properties: [1] },
              { anyOf: { a: 1 } },
              { type: "strin" },
              { items: 5 },
              { $async: true },
              { dependentRequired: 3 },
              { minimum: "x" },
              { $schema: "http://json-schema.org/draft-03/schema#" },
              { $schema: 7 }
            ] as const
          ) {
            const result = yield* Effect.result(validate(schema as unknown as Schema.JsonObject, { a: [1] }))
            if (result._tag === "Failure") assert.strictEqual(result.failure._tag, "SchemaUnusable")
          }
        }))

      it.effect("a secret is not repeated", () =>
        Effect.gen(function*() {
          const schema = {
            properties: {
              password: { type: "number", writeOnly: true },
              nested: { type: "object", properties: { key: { format: "password", enum: ["a"] } } },
              tokens: { type: "array", items: { "x-secret": true, type: "string", maxLength: 2, pattern: "^a" } }
            }
          }
          const result = yield* validate(schema, {
            password: "hunter2",
            nested: { key: "hunter2" },
            tokens: ["hunter2"]
          })
          assert.lengthOf(result.issues, 4)
          assert.notInclude(JSON.stringify(result.issues), "hunter2")
        }))
    })

    describe("words", () => {
      const object = {
        type: "object",
        properties: {
          text: { type: "string", minLength: 2, maxLength: 4, pattern: "^a" },
          count: { type: "integer", minimum: 1, exclusiveMaximum: 10 },
          mode: { enum: ["fast", "slow", 3] },
          list: { type: "array", maxItems: 2, items: { type: "object", properties: { b: { type: "number" } } } },
          either: { anyOf: [{ type: "string" }, { type: "number" }, { const: null }] },
          on: { type: "boolean" }
        },
        required: ["text"],
        additionalProperties: false
      }
      const cases: ReadonlyArray<readonly [Schema.Json, ReadonlyArray<string>]> = [
        [{ text: 5 }, ["text: expected a string, got 5"]],
        [{}, ["text: is missing"]],
        [[], [": expected an object, got a list of 0"]],
        [{ text: "ab", count: "x" }, ["count: expected a whole number, got \"x\""]],
        [{ text: "ab", count: 1.5 }, ["count: expected a whole number, got 1.5"]],
        [{ text: "ab", count: 0 }, ["count: expected at least 1, got 0"]],
        [{ text: "ab", count: 10 }, ["count: expected less than 10, got 10"]],
        [{ text: "a" }, ["text: expected at least 2 characters, got 1"]],
        [{ text: "bbb" }, ["text: expected text that matches ^a, got \"bbb\""]],
        [{ text: "ab", mode: "fats" }, [
          "mode: expected \"fast\", \"slow\" or 3, got \"fats\"; did you mean \"fast\"?"
        ]],
        [{ text: "ab", list: [{ b: 1 }, { b: "x" }] }, ["list[1].b: expected a number, got \"x\""]],
        [{ text: "ab", list: [{}, {}, {}] }, ["list: expected at most 2 items, got 3"]],
        [{ text: "ab", either: [] }, ["either: expected a string, a number or null, got a list of 0"]],
        [{ text: "ab", on: "yes" }, ["on: expected true or false, got \"yes\""]],
        [{ text: "ab", txet: 1 }, ["txet: there is no such key; did you mean \"text\"?"]],
        [{ text: "ab", zzzzzzzz: 1 }, [
          "zzzzzzzz: there is no such key; allowed: text, count, mode, list, either, on"
        ]],
        [{ text: "x".repeat(500), count: 1 }, [
          "text: expected at most 4 characters, got 500",
          "text: expected text that matches ^a, got a string of 500 characters"
        ]]
      ]
      for (const [value, expected] of cases) {
        it.effect(`${JSON.stringify(value).slice(0, 60)} → ${expected[0]}`, () =>
          Effect.gen(function*() {
            assert.deepStrictEqual(yield* issues(object, value), expected)
          }))
      }

      it.effect("values are shown where they are small and plain", () =>
        Effect.gen(function*() {
          const result = yield* validate(object, { text: 5, list: "x".repeat(100), mode: { a: 1 } })
          assert.strictEqual(result.issues.find((i) => i.field === "text")?.value, 5)
          assert.isFalse(result.issues.some((i) => i.field !== "text" && "value" in i))
        }))

      it.effect("alternatives: the one that fits in kind speaks", () =>
        Effect.gen(function*() {
          const schema = {
            properties: {
              a: {
                anyOf: [
                  { type: "object", properties: { b: { $ref: "#/$defs/n" } }, required: ["b"] },
                  { type: "null" }
                ]
              },
              c: { oneOf: [{ type: "number", minimum: 2 }, { type: "integer" }] },
              d: {
                anyOf: [
                  { type: "object", required: ["x"] },
                  { type: "object", required: ["y"] }
                ]
              }
            },
            $defs: { n: { type: "number" } }
          }
          assert.deepStrictEqual(yield* issues(schema, { a: { b: "x" } }), ["a.b: expected a number, got \"x\""])
          assert.deepStrictEqual(yield* issues(schema, { a: {} }), ["a.b: is missing"])
          assert.deepStrictEqual(yield* issues(schema, { c: 3 }), [
            "c: fits more than one of the alternatives, and only one is allowed"
          ])
          assert.include((yield* issues(schema, { d: {} }))[0], "d: fits none of the 2 alternatives")
          assert.deepStrictEqual(yield* issues(schema, { a: null, c: 1, d: { y: 1 } }), [])
        }))

      it.effect("the rest of the keywords", () =>
        Effect.gen(function*() {
          assert.strictEqual(yield* one({ const: 1 }, 2), ": expected 1, got 2")
          assert.strictEqual(yield* one({ uniqueItems: true }, [1, 1]), ": contains the same item twice")
          assert.strictEqual(yield* one({ multipleOf: 2 }, 3), ": expected a multiple of 2, got 3")
          assert.strictEqual(yield* one({ minProperties: 1 }, {}), ": expected at least 1 keys, got 0")
          assert.strictEqual(yield* one({ not: { type: "string" } }, "x"), ": is forbidden by the schema, got \"x\"")
          assert.include(yield* one({ contains: { const: 1 } }, [2, 3]), "contains none of the items")
          assert.strictEqual(
            yield* one({ propertyNames: { pattern: "^a" } }, { b: 1 }),
            "b: has a key whose name is not allowed"
          )
          assert.strictEqual(
            yield* one({ dependentRequired: { a: ["b"] } }, { a: 1 }),
            "b: is missing, and \"a\" needs it"
          )
          assert.strictEqual(yield* one({ properties: { a: false } }, { a: 1 }), "a: is not allowed here")
          assert.strictEqual(
            yield* one({ prefixItems: [{}], items: false }, [1, 2]),
            "[1]: is one item more than the schema allows"
          )
          assert.strictEqual(
            // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
            yield* one({ if: { required: ["a"] }, then: { required: ["b"] } }, { a: 1 }),
            "b: is missing"
          )
          assert.strictEqual(
            yield* one({ properties: { "a b": { items: { type: "null" } } } }, { "a b": [1] }),
            "[\"a b\"][0]: expected null, got 1"
          )
          assert.deepStrictEqual(yield* one({ format: "email" }, "no"), "")
          assert.deepStrictEqual(yield* one({ format: "kiwi-unknown" }, "no"), "")
        }))

      it.effect("at most twenty, and a count of the others", () =>
        Effect.gen(function*() {
          const all = yield* issues({ items: { type: "string" } }, Array.from({ length: 50 }, (_, i) => i))
          assert.lengthOf(all, 21)
          assert.strictEqual(all.at(-1), ": and 30 more")
        }))
    })

    it.effect("defaults are applied to a copy, at any depth, and nothing is coerced", () =>
      Effect.gen(function*() {
        const schema = {
          type: "object",
          properties: {
            n: { type: "number", default: 5 },
            s: { type: "string" },
            z: { default: null },
            o: { type: "object", default: {}, properties: { deep: { $ref: "#/$defs/d" } } },
            l: { type: "array", items: { properties: { k: { default: true } } } }
          },
          allOf: [{ properties: { all: { default: "x" } } }],
          anyOf: [{ properties: { no: { default: 1 } } }],
          $defs: { d: { type: "string", default: "way down" } }
        }
        const value = { s: "1", l: [{}, { k: false }], n: null }
        const frozen = JSON.stringify(value)
        const result = yield* validate(schema, value)
        assert.deepStrictEqual(result.value, {
          s: "1",
          n: null,
          l: [{ k: true }, { k: false }],
          z: null,
          o: { deep: "way down" },
          all: "x"
        })
        assert.strictEqual(JSON.stringify(value), frozen)
        assert.deepStrictEqual(result.issues.map((i) => i.error), ["expected a number, got null"])
        assert.deepStrictEqual(yield* issues({ properties: { n: { type: "number" } } }, { n: "5" }), [
          "n: expected a number, got \"5\""
        ])
        assert.lengthOf(yield* issues({ properties: { n: { type: "number", default: "five" } } }, {}), 1)
      }))

    it.effect("closed: keys that a silent schema does not have, through composition and references", () =>
      Effect.gen(function*() {
        const schema = {
          $ref: "#/$defs/base",
          properties: { own: {} },
          anyOf: [{ properties: { any: {} } }, { properties: { other: {} } }],
          patternProperties: { "^x-": {} },
          $defs: { base: { type: "object", properties: { base: {} } } }
        }
        const value = { own: 1, any: 1, other: 1, "x-1": 1, base: 1 }
        assert.deepStrictEqual(yield* issues(schema, value, true), [])
        assert.deepStrictEqual(yield* issues(schema, { ...value, bsae: 1 }, true), [
          "bsae: there is no such key; did you mean \"base\"?"
        ])
        assert.deepStrictEqual(yield* issues(schema, { bsae: 1 }, false), [])
        for (const open of [{ additionalProperties: true }, { additionalProperties: { type: "number" } }]) {
          assert.deepStrictEqual(yield* issues({ type: "object", ...open }, { a: 1 }, true), [])
        }
        assert.lengthOf(
          yield* issues({ type: "object", properties: { a: { type: "object" } } }, { a: { b: 1 } }, true),
          0
        )
        assert.deepStrictEqual(yield* issues({ type: "string" }, "x", true), [])
      }))

    it.effect("additionalProperties: false beside patternProperties and composition", () =>
      Effect.gen(function*() {
        const schema = {
          properties: { a: { type: "number" }, "x-b": { type: "string" } },
          patternProperties: { "^x-": { maxLength: 2 }, "^x-c": { type: "number" } },
          additionalProperties: false
        }
        assert.deepStrictEqual(yield* issues(schema, { a: 1, "x-b": "ab", "x-c": 1 }), [])
        assert.deepStrictEqual((yield* issues(schema, { "x-b": "abc", "x-c": "d", y: 1 })).toSorted(), [
          "x-b: expected at most 2 characters, got 3",
          "x-c: expected a number, got \"d\"",
          "y: there is no such key; allowed: a, x-b"
        ])
        assert.deepStrictEqual(
          yield* issues({ allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, { a: 1, b: 1 }),
          ["b: there is no such key: none is allowed here"]
        )
      }))

    it.effect("2020-12 unless the schema says draft-07", () =>
      Effect.gen(function*() {
        const tuple = { items: [{ type: "string" }, { type: "number" }], additionalItems: false }
        const seven = { $schema: "http://json-schema.org/draft-07/schema#", $id: "https://x.example/s", ...tuple }
        assert.deepStrictEqual(yield* issues(seven, ["a", 1]), [])
        assert.deepStrictEqual(yield* issues(seven, ["a", "b"]), ["[1]: expected a number, got \"b\""])
        assert.lengthOf(yield* issues(seven, ["a", 1, 2]), 1)
        const now = { $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "string" }] }
        assert.lengthOf(yield* issues(now, [1]), 1)
        assert.lengthOf(
          yield* issues({ $schema: seven.$schema, definitions: { a: { type: "null" } }, $ref: "#/definitions/a" }, 1),
          1
        )
        assert.lengthOf(yield* issues({ $defs: { a: { $anchor: "here", type: "null" } }, $ref: "#here" }, 1), 1)
      }))

    it.effect("recursive schemas", () =>
      Effect.gen(function*() {
        const tree = {
          type: "object",
          properties: { value: { type: "number" }, children: { type: "array", items: { $ref: "#" } } },
          required: ["value"]
        }
        assert.deepStrictEqual(yield* issues(tree, { value: 1, children: [{ value: 2 }, { children: [] }] }), [
          "children[1].value: is missing"
        ])
      }))
  })
}
