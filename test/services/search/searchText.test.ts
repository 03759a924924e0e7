import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { isItemId } from "../../../src/services/item/ItemId.ts"
import { documentOf, fold, parseQuery, tokens } from "../../../src/services/search/searchText.ts"

const words = (query: string) =>
  parseQuery(query).words.map((word) =>
    word.alternatives.map((terms) => terms.map((t) => t.token + (t.prefix ? "*" : "")).join("+")).join("|")
  )

describe("tokens", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["Send email", ["send", "email"]],
    ["send_email.now-please", ["nowplease", "send", "email", "now", "please"]],
    ["readFile", ["readfile", "read", "file"]],
    ["HTTPServer", ["httpserver", "http", "server"]],
    ["sha256", ["sha256", "sha", "256"]],
    ["v2 s3", ["v2", "s3"]],
    ["Größe Élan", ["große", "elan"]],
    ["数据库", ["数据", "据库", "库"]],
    ["库", ["库"]],
    ["SQL数据", ["sql", "数据", "据"]],
    ["ｆｕｌｌ ﬁne", ["full", "fine"]],
    ["\"NEAR(a, b)\" * -", ["near", "a", "b"]],
    ["", []]
  ]
  for (const [text, expected] of cases) {
    it(`of ${JSON.stringify(text)}`, () => assert.deepStrictEqual(tokens(text), expected))
  }

  it("of a text that is one run without a blank", () => {
    assert.strictEqual(tokens("漢".repeat(300_000)).length, 300_000)
  })

  it("are never longer than 64 characters", () => {
    assert.deepStrictEqual(tokens("x".repeat(100_000)).map((t) => t.length), [64])
  })

  it.effect.prop(
    "hold nothing but letters, digits and marks, so that none can be an operator",
    [Schema.String],
    ([s]) =>
      Effect.sync(() => {
        for (const token of tokens(s)) assert.match(token, /^[\p{L}\p{N}\p{M}\p{Co}]+$/u)
      })
  )

  it.effect.prop(
    "are folded once and for all",
    [Schema.String],
    ([s]) => Effect.sync(() => assert.strictEqual(fold(s), fold(fold(s))))
  )

  it("of capitals that become two characters", () => {
    assert.strictEqual(fold("İ℻"), "ifax")
    assert.strictEqual(fold(fold("İ℻")), fold("İ℻"))
  })
})

describe("parseQuery", () => {
  it("takes the last word as a beginning, unless it is one letter", () => {
    assert.deepStrictEqual(words("send ema"), ["send", "ema*"])
    assert.deepStrictEqual(words("vitamin c"), ["vitamin", "c"])
  })

  it("gives a compound its parts as another way to match", () => {
    assert.deepStrictEqual(words("readFile now"), ["readfile|read+file", "now*"])
    assert.deepStrictEqual(words("readFile"), ["readfile*|read+file*"])
  })

  it("drops words that say nothing, unless there are no others", () => {
    assert.deepStrictEqual(words("how do I send it"), ["send"])
    assert.deepStrictEqual(words("how to"), ["how", "to*"])
  })

  it("keeps to twenty-four words and drops repeated ones", () => {
    assert.deepStrictEqual(words("mail mail mail "), ["mail"])
    assert.strictEqual(words(Array.from({ length: 100 }, (_, i) => `word${i}`).join(" ")).length, 24)
    assert.isBelow(words("数".repeat(5000)).length, 25)
  })

  it("has no words in a text of separators", () => {
    for (const query of ["", "*", "\"\"", " - ", "()", "\0"]) assert.deepStrictEqual(words(query), [])
  })

  it("a long hostile query takes no time", () => {
    const start = performance.now()
    for (const part of ["aA", "a1", "\u0301", "(\"", "数a", "-"]) parseQuery(part.repeat(500_000))
    for (const part of ["aA", "a1", "a\u0301", "(\"", "数a", "-"]) tokens(part.repeat(30_000))
    assert.isBelow(performance.now() - start, 5000)
  })
})

describe("documentOf", () => {
  const id = "filesystem.read_file"
  it("has the name in words and in one", () => {
    assert.isTrue(isItemId(id))
    if (!isItemId(id)) return
    assert.deepStrictEqual(documentOf({ id, category: "core/files" }, undefined), {
      name: ["filesystem", "read", "file", "filesystemreadfile"],
      title: [],
      description: [],
      labels: ["core", "files"],
      body: []
    })
  })
})
