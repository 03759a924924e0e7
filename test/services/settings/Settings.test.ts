import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { defaults, definitions, documentation, interpret } from "../../../src/services/settings/Settings.ts"
import { parseControlYaml } from "../../../src/services/workspace/controlYaml.ts"

const settings = (text: string, narrow: boolean, base = defaults) =>
  Effect.map(parseControlYaml(new TextEncoder().encode(text)), (node) => interpret(node, base, "f", narrow))

const quantities = Schema.Struct({
  timeout: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  inline: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 16_000 })),
  calls: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  full: Schema.Boolean
})

describe("Settings", () => {
  it("docs/settings.md says what the definitions say (build/settingsDoc.ts writes it)", () => {
    assert.strictEqual(readFileSync(new URL("../../../docs/settings.md", import.meta.url), "utf8"), documentation())
  })

  it("each default is what its written form means", () => {
    for (const [field, definition] of Object.entries(definitions)) {
      const written: unknown = definition.key === "calls.concurrency" || definition.key === "isolation.tools"
        ? JSON.parse(definition.written)
        : definition.written
      const parsed: Result.Result<unknown, unknown> = Schema.decodeUnknownResult<Schema.ConstraintDecoder<unknown>>(
        definition.schema
      )(written)
      assert.deepStrictEqual(parsed, Result.succeed(definition.default), field)
    }
  })

  it.effect("reads both spellings, durations and sizes", () =>
    Effect.gen(function*() {
      const text = "subprocess.timeout: 40s\noutput:\n  inline: 512KiB\n  max: 1GiB\ncalls: {concurrency: 4}\n"
      const { problems, values } = yield* settings(text, false)
      assert.deepStrictEqual(problems, [])
      assert.strictEqual(Duration.toMillis(values.subprocessTimeout), 40_000)
      assert.strictEqual(values.outputInline, 524_288)
      assert.strictEqual(values.outputMax, 1_073_741_824)
      assert.strictEqual(values.callsConcurrency, 4)
      assert.deepStrictEqual(values.httpTimeout, defaults.httpTimeout)
    }))

  it.effect("tells unknown keys and bad values with their lines, and the default holds", () =>
    Effect.gen(function*() {
      const text = [
        "subprocess.timeout: 40",
        "http.timeout: -1s",
        "output.inline: 1MB",
        "output.max: [1]",
        "calls.concurrency: 0",
        "audit.durability: none",
        "no.such: 1",
        "__proto__: {polluted: true}",
        "output: {keep: 1h}",
        "output.keep: 2h"
      ].join("\n")
      const { problems, values } = yield* settings(text, false)
      assert.deepStrictEqual(problems.map(({ line }) => line), [1, 2, 3, 4, 5, 6, 7, 8, 10])
      assert.deepStrictEqual({ ...values, outputKeep: defaults.outputKeep }, defaults)
      assert.strictEqual(Duration.toMillis(values.outputKeep), 3_600_000)
      assert.isFalse("polluted" in {})
      assert.lengthOf((yield* settings("[1, 2]", false)).problems, 1)
    }))

  it.effect.prop(
    "a file that may only tighten never loosens anything",
    [quantities, quantities],
    ([a, b]) =>
      Effect.gen(function*() {
        const write = (q: typeof quantities.Type) =>
          `subprocess.timeout: ${q.timeout}s\noutput.inline: ${q.inline}KiB\ncalls.concurrency: ${q.calls}\n` +
          `audit.durability: ${q.full ? "full" : "os"}\noutput.keep: ${q.timeout}h\n`
        const base = (yield* settings(write(a), false)).values
        const { values } = yield* settings(write(b), true, base)
        assert.isTrue(Duration.isLessThanOrEqualTo(values.subprocessTimeout, base.subprocessTimeout))
        assert.isAtMost(values.outputInline, base.outputInline)
        assert.isAtMost(values.callsConcurrency, base.callsConcurrency)
        assert.isTrue(values.auditDurability === "full" || base.auditDurability === "os")
        assert.deepStrictEqual(values.outputKeep, base.outputKeep)
        assert.strictEqual(values.callsConcurrency, Math.min(a.calls, b.calls))
      })
  )
})
