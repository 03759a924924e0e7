import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Output from "../../../src/programs/cli/Output.ts"
import { printJson, wantsJson } from "../../../src/programs/cli/Output.ts"
import { Shell } from "../../../src/programs/cli/Shell.ts"
import { definitions, table, wrap } from "../../../src/programs/cli/text.ts"
import { safeText } from "../../../src/services/error/safeText.ts"
import { testShell } from "./runCli.ts"

describe("printJson", () => {
  it("escapes what a terminal would act on or hide, and keeps the value", () => {
    const value = { "\u001b[2J": "a\u202eb\u200bc\u009b\u007f\u{e0041}\ud800\r\n\t", plain: ["é", "日本", "👍"] }
    for (const indent of [undefined, 2]) {
      const text = printJson(value, indent)
      assert.strictEqual(safeText(text), text)
      assert.notMatch(text, /[\r\t]/)
      assert.deepStrictEqual(JSON.parse(text), value)
    }
    assert.include(printJson(value), "日本")
  })

  it.effect.prop(
    "changes no string",
    [Schema.String],
    ([text]) => Effect.sync(() => assert.strictEqual(JSON.parse(printJson(text)), text))
  )

  it("has a value for what is none", () => {
    assert.strictEqual(printJson(undefined), "null")
  })
})

describe("wantsJson", () => {
  for (
    const [args, expected] of [
      [["search", "x", "--json"], true],
      [["--json", "search", "x"], true],
      [["search", "x"], false],
      [["search", "--", "--json"], false],
      [["--json=false", "search"], false],
      [["--json=true", "search"], true],
      [["search", "x", "--json", "false"], false],
      [["search", "--json", "x"], true],
      [["run", "tool", "a", "--jsonx"], false]
    ] as const
  ) {
    it(`${args.join(" ")}: ${expected}`, () => assert.strictEqual(wantsJson(args), expected))
  }
})

const withOutput = <A, E, R>(
  options: { readonly terminal: boolean; readonly columns?: number },
  use: (output: Output.Output["Service"], written: () => string) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    let written = ""
    const pipe = {
      isTerminal: options.terminal,
      columns: options.columns ?? 80,
      write: (data: string | Uint8Array) =>
        Effect.sync(() => {
          written += String(data)
        })
    }
    const output = yield* Effect.provide(
      Output.make(false),
      Layer.succeed(Shell, testShell({ stdout: pipe, stderr: pipe }))
    )
    return yield* use(output, () => written)
  })

describe("busy", () => {
  it.effect("says nothing for a second, then what takes so long, and wipes it away", () =>
    withOutput({ terminal: true, columns: 40 }, (output, written) =>
      Effect.gen(function*() {
        const end = yield* Deferred.make<number>()
        const long = "Reading\u001b[2J " + "x".repeat(100)
        const running = yield* Effect.forkChild(
          output.busy(long, (progress) => Effect.andThen(Deferred.await(end), Effect.as(progress("done"), 7)))
        )
        yield* TestClock.adjust("999 millis")
        assert.strictEqual(written(), "")
        yield* TestClock.adjust("1 millis")
        assert.include(written(), "Reading\\u{1b}[2J x")
        assert.include(written(), "… 1.0 s")
        yield* TestClock.adjust("1 second")
        assert.include(written(), "2.0 s")
        yield* Deferred.succeed(end, 7)
        assert.strictEqual(yield* Fiber.join(running), 7)
        assert.isTrue(written().endsWith("\r\u001b[2K"))
      })))

  it.effect("says nothing at all into a pipe, nor about what is quick", () =>
    Effect.gen(function*() {
      yield* withOutput({ terminal: false }, (output, written) =>
        Effect.gen(function*() {
          const running = yield* Effect.forkChild(output.busy("Reading", () => Effect.sleep("10 seconds")))
          yield* TestClock.adjust("10 seconds")
          yield* Fiber.join(running)
          assert.strictEqual(written(), "")
        }))
      yield* withOutput({ terminal: true }, (output, written) =>
        Effect.gen(function*() {
          yield* output.busy("Reading", () => Effect.void)
          yield* TestClock.adjust("10 seconds")
          assert.strictEqual(written(), "")
        }))
    }))
})

describe("text", () => {
  it("wraps at blanks and keeps what it cannot break", () => {
    assert.deepStrictEqual(wrap("one two three", 7), ["one two", "three"])
    assert.deepStrictEqual(wrap("  in dent ed", 8), ["  in", "  dent", "  ed"])
    assert.deepStrictEqual(wrap("unbreakable x", 5), ["unbreakable", "x"])
    assert.deepStrictEqual(wrap("日本 語", 4), ["日本", "語"])
    assert.deepStrictEqual(wrap("", 5), [""])
  })

  it("aligns two columns, and gives a wide left side its own line", () => {
    assert.strictEqual(
      definitions([["a", "one two three four five six"], ["bb", "x"]], 30),
      [
        "  a   one two three four five",
        "      six",
        "  bb  x"
      ].join("\n")
    )
    assert.strictEqual(definitions([["much too wide", "x"]], 40, 4), "  much too wide\n        x")
  })

  it("aligns by what is seen, not by what is written", () => {
    assert.strictEqual(table([["\u001b[31mab\u001b[0m", "x"], ["日本", "y"]]), "\u001b[31mab\u001b[0m    x\n日本  y")
  })
})
