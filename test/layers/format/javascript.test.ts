import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { invalid, parseTool } from "./parsing.ts"

const head = `#!/usr/bin/env node
/**
 * Slugs a title.
 *
 * More of it.
 * @module
 */
export const __version__ = "1.0.0"
export const __executor_id__ = 'node_runtime'
`

const slug = (rest: string, name = "slug.mjs") => parseTool(`text/${name}`, head + rest)

describe("a JavaScript tool", () => {
  it.effect("is read from its module constants, in every extension", () =>
    Effect.gen(function*() {
      for (const name of ["slug.js", "slug.mjs", "slug.cjs", "slug.ts"]) {
        const tool = yield* slug(
          "const INPUT_SCHEMA = { type: \"object\", properties: { title: { type: 'string' } } }\nconst CONFIG = {}\n",
          name
        )
        assert.deepInclude(tool, {
          version: "1.0.0",
          toolType: "node",
          description: "Slugs a title.",
          entrypoint: name,
          parameters: { type: "object", properties: { title: { type: "string" } } }
        })
        assert.strictEqual(tool.executorId, "node_runtime")
      }
    }))

  it.effect("is described by the comment that it starts with, of either kind", () =>
    Effect.gen(function*() {
      const constants = `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n`
      const describedBy = (text: string) =>
        Effect.map(parseTool("text/slug.mjs", text + constants), ({ description }) => description)
      assert.strictEqual(
        yield* describedBy("#!/usr/bin/env node\n// Slugs\n// a title.\n\n// More.\n"),
        "Slugs a title."
      )
      assert.strictEqual(yield* describedBy("// Slugs.\n//\n// More.\nimport 'node:fs'\n"), "Slugs.")
      assert.strictEqual(yield* describedBy("// eslint-disable\n/** Slugs. */\n"), "Slugs.")
      assert.strictEqual(yield* describedBy("import 'node:fs'\n// Not this.\n"), "")
    }))

  it.effect("literals are evaluated from the syntax tree as JavaScript would", () =>
    Effect.gen(function*() {
      const tool = yield* slug(String.raw`
const other = compute(), CONFIG = {
  // a comment
  single: 'it\'s', "double": "\x41\u00e9\u{1F600}\uD83D\uDE00\n\q", template: ${"`"}a${"\\`"}b${"`"}, cont: "a\
b",
  int: 1_000, hex: 0xff, neg: -2, float: 1.5e3, dot: .5, end: 1., t: true, f: false, n: null,
  list: [1, [2,], { x: [] }], paren: ("x"),
}`)
      assert.deepStrictEqual(tool.config, {
        single: "it's",
        double: "A\u00e9\u{1F600}\u{1F600}\nq",
        template: "a`b",
        cont: "ab",
        int: 1000,
        hex: 255,
        neg: -2,
        float: 1500,
        dot: 0.5,
        end: 1,
        t: true,
        f: false,
        n: null,
        list: [1, [2], { x: [] }],
        paren: "x"
      })
    }))

  it.effect("TypeScript's types say nothing about a value", () =>
    Effect.gen(function*() {
      const tool = yield* slug("export const CONFIG: Config = { a: [1] } as const satisfies Config\n", "slug.ts")
      assert.deepStrictEqual(tool.config, { a: [1] })
    }))

  it.effect("what is computed is refused with its place", () =>
    Effect.gen(function*() {
      const values = [
        "`a${b}`",
        "process.env.X",
        "f()",
        "[1, , 2]",
        "[...x]",
        "{ ...x }",
        "{ x }",
        "{ [x]: 1 }",
        "{ f() {} }",
        "{ get x() { return 1 } }",
        "{ 1: 2 }",
        "{ a: 1, a: 2 }",
        "{ __proto__: {} }",
        "{ \"__proto__\": {} }",
        "'a' + 'b'",
        "!0",
        "1n",
        "1e999",
        "017",
        "12345678901234567890",
        "/x/",
        "undefined",
        "\"\\ud800\"",
        "() => 1"
      ]
      for (const value of values) {
        const error = yield* invalid(slug(`const CONFIG = { k:\n ${value} }\n`))
        assert.isAtLeast(error.line, 10, value)
        assert.include(error.item, "project:tools/text/slug.mjs")
      }
    }))

  it.effect("a known name must be one constant with a value", () =>
    Effect.gen(function*() {
      for (
        const source of [
          "let CONFIG = {}",
          "var CONFIG = {}",
          "const CONFIG = {}\nconst CONFIG = {}",
          "export let CONFIG"
        ]
      ) {
        yield* invalid(slug(source))
      }
      const tool = yield* slug("function f() { let CONFIG = compute() }\nconst { x } = y\n")
      assert.deepStrictEqual(tool.config, {})
    }))

  it.effect("without metadata it is not a tool", () =>
    Effect.gen(function*() {
      assert.include((yield* invalid(parseTool("a.js", "console.log(1)\n"))).issue, "no metadata")
    }))

  it.effect("syntax that the grammar does not know is passed over where it touches no metadata", () =>
    Effect.gen(function*() {
      const tool = yield* slug(`import data from "./x.json" with { type: "json" }
export default class {
  x = 1
}
const CONFIG = { a: 1 }
`)
      assert.deepStrictEqual(tool.config, { a: 1 })
      const error = yield* invalid(slug("const CONFIG = { a: 1 "))
      assert.include(error.issue, "syntax")
    }))

  it.effect("deep, large and broken files end in an answer", () =>
    Effect.gen(function*() {
      yield* invalid(slug(`const CONFIG = {a: ${"[".repeat(100)}${"]".repeat(100)}}`))
      for (const unit of ["(", "[", "{", "`${", "/*", "-", "]}", "class a{", "a\n", "a<", "<a>", "x=>", "#"]) {
        yield* Effect.result(parseTool("a.js", unit.repeat(Math.floor(100_000 / unit.length))))
        yield* Effect.result(parseTool("a.ts", unit.repeat(Math.floor(100_000 / unit.length))))
      }
    }), 30_000)
})
