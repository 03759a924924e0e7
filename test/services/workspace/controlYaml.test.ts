import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { parseControlYaml } from "../../../src/services/workspace/controlYaml.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

describe("parseControlYaml", () => {
  it.effect("keeps values with their lines", () =>
    Effect.gen(function*() {
      const root = yield* parseControlYaml(bytes("# head\na: 1\nb:\n  - x\n  - {c: true}\n__proto__: null\n"))
      assert.strictEqual(root._tag, "Map")
      if (root._tag !== "Map") return
      assert.deepStrictEqual([...root.entries].map(([key, e]) => [key, e.line, e.value._tag, e.value.line]), [
        ["a", 2, "Scalar", 2],
        ["b", 3, "List", 4],
        ["__proto__", 6, "Scalar", 6]
      ])
    }))

  it.effect("takes an empty file for an empty map", () =>
    Effect.gen(function*() {
      for (const text of ["", "# only a comment\n", "\n\n"]) {
        const root = yield* parseControlYaml(bytes(text))
        assert.isTrue(root._tag === "Map" && root.entries.size === 0)
      }
    }))

  it.effect("refuses what nobody needs in a control file, with the line", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, number]> = [
        ["a: &x 1\nb: *x\n", 2],
        ["ok: 1\na: !!js/function \"x\"\n", 2],
        ["ok: 1\n<<: {a: 1}\nb: !custom 1\n", 3],
        ["a: 1\na: 2\n", 2],
        ["1: x\n", 1],
        ["a: 1\n---\nb: 2\n", 2],
        ["a: [1\n", 2],
        [`a: ${"[".repeat(80)}${"]".repeat(80)}\n`, 1]
      ]
      for (const [text, line] of cases) {
        const error = yield* Effect.flip(parseControlYaml(bytes(text)))
        assert.strictEqual(error._tag, "ControlInvalid", text)
        assert.strictEqual(error.issues[0].line, line, `${text}: ${error.message}`)
        assert.notInclude(error.message, "\n")
      }
      for (const bad of [new Uint8Array([0xff, 0xfe, 0x00]), bytes("x".repeat(140_000)), bytes("[".repeat(20_000))]) {
        assert.strictEqual((yield* Effect.flip(parseControlYaml(bad)))._tag, "ControlInvalid")
      }
    }))

  it.effect.prop(
    "never dies, whatever the bytes",
    [Schema.Union([Schema.Uint8Array, Schema.String])],
    ([input]) => Effect.ignore(parseControlYaml(typeof input === "string" ? bytes(input) : input))
  )
})
