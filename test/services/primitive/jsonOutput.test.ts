import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { parsePath, pick } from "../../../src/services/primitive/jsonOutput.ts"

const at = (value: Schema.Json, path: string) =>
  Result.match(Result.flatMap(parsePath(path), (keys) => pick(value, keys)), {
    onSuccess: (found) => found,
    onFailure: (issue) => issue
  })

describe("a path into an answer", () => {
  const answer = { items: [{ name: "a", "x.y": 1, "s/t": 2, "~": 3 }], empty: {}, list: [], text: "t", none: null }

  it("is a pointer, or names with dots", () => {
    assert.strictEqual(at(answer, "/items/0/name"), "a")
    assert.strictEqual(at(answer, "items.0.name"), "a")
    assert.strictEqual(at(answer, "/items/0/x.y"), 1)
    assert.strictEqual(at(answer, "/items/0/s~1t"), 2)
    assert.strictEqual(at(answer, "/items/0/~0"), 3)
    assert.strictEqual(at(answer, "none"), null)
  })

  it("that leads nowhere says how far it came and what was there", () => {
    const missing: ReadonlyArray<readonly [string, string, string]> = [
      ["/items/1/name", "/items", "a list of 1"],
      ["items.first", "/items", "a list of 1"],
      ["/items/00", "/items", "a list of 1"],
      ["/items/-", "/items", "a list of 1"],
      ["/items/0/nome", "/items/0", "an object with name, x.y, s/t, ~"],
      ["/empty/a", "/empty", "an empty object"],
      ["/list/0", "/list", "an empty list"],
      ["/text/0", "/text", "a text"],
      ["/none/a", "/none", "null"],
      ["/other", "", "an object with items, empty, list, text, none"]
    ]
    for (const [path, stopped, found] of missing) assert.deepStrictEqual(at(answer, path), { at: stopped, found }, path)
  })

  it("reaches nothing that is inherited or computed", () => {
    for (const path of ["constructor", "__proto__", "/items/length", "/text/length", "/items/0/toString", "items.*"]) {
      assert.isObject(at(answer, path), path)
    }
  })

  it("is refused where it is none", () => {
    for (const path of ["", "a..b", ".a", "a.", "/~2", "/a~"]) assert.isString(at(answer, path), path)
  })

  const Key = Schema.NonEmptyString
  it.effect.prop(
    "finds every member that a pointer is written for",
    [Schema.Array(Key), Schema.Json],
    ([keys, value]) =>
      Effect.sync(() => {
        const nested = keys.reduceRight<Schema.Json>((inner, key) => Object.fromEntries([[key, inner]]), value)
        const pointer = keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")
        if (keys.length > 0) assert.deepStrictEqual(at(nested, pointer), value)
      })
  )
})
