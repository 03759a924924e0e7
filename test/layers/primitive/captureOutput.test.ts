import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { isUtf8 } from "node:buffer"
import { makeCapture } from "../../../src/layers/primitive/captureOutput.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import { redactText } from "../../../src/services/audit/redaction.ts"
import { WriteRefused } from "../../../src/services/files/SafeFiles.ts"
import { Outputs } from "../../../src/services/primitive/Outputs.ts"

const full = new WriteRefused({ path: ".ai/outputs/x", issue: "no-space", detail: "the disk is full" })

const captured = (outputs: Outputs["Service"], inline: number, chunks: ReadonlyArray<Uint8Array>) =>
  Effect.gen(function*() {
    const capture = makeCapture(outputs, { inline, spill: 1_000_000 })
    for (const chunk of chunks) yield* capture.take(Buffer.from(chunk)) ?? Effect.void
    return yield* capture.finish
  })

const lines = Array.from({ length: 50 }, (_, i) => Buffer.from(`line ${i}\n`))

describe("makeCapture", () => {
  it.effect("a disk that refuses from the start loses no head, no tail and no count", () =>
    Effect.gen(function*() {
      const outputs = Outputs.of({ create: Effect.fail(full), read: () => Effect.die("read") })
      const output = yield* captured(outputs, 100, lines)
      const bytes = lines.reduce((sum, line) => sum + line.length, 0)
      assert.deepStrictEqual([output.bytes, output.spilled, output.dropped], [bytes, undefined, bytes])
      assert.isTrue(output.text.startsWith("line 0\n") && output.text.endsWith("line 49\n"))
      assert.include(output.text, "not kept (the disk is full)")
    }))

  it.effect("a disk that becomes full in between keeps what was written, and says what was not", () =>
    Effect.gen(function*() {
      let room = 3
      const outputs = Outputs.of({
        create: Effect.succeed({
          uri: "kiwi://output/x",
          append: () => room-- > 0 ? Effect.void : Effect.fail(full),
          close: Effect.void,
          discard: Effect.void
        }),
        read: () => Effect.die("read")
      })
      const output = yield* captured(outputs, 100, lines)
      assert.strictEqual(output.spilled, "kiwi://output/x")
      assert.isAbove(output.dropped, 0)
      assert.isBelow(output.dropped, output.bytes)
      assert.include(output.text, "the first")
    }))

  const Chunks = Schema.Array(Schema.Uint8Array.check(Schema.isMaxLength(40))).check(Schema.isMaxLength(40))

  it.effect.prop(
    "what is kept is what was said, and head and tail are of it",
    [Chunks],
    ([chunks]) =>
      Effect.gen(function*() {
        const outputs = yield* Outputs
        const all = Buffer.concat(chunks)
        const output = yield* captured(outputs, 64, chunks)
        assert.strictEqual(output.bytes, all.length)
        const isText = isUtf8(all)
        assert.strictEqual(output.binary === true, !isText)
        if (all.length <= 64) {
          assert.strictEqual(output.spilled === undefined, isText)
          assert.strictEqual(output.text, new TextDecoder("utf-8", { ignoreBOM: true }).decode(all))
        } else {
          const { bytes } = yield* outputs.read(output.spilled ?? "", { offset: 0, length: 1_000_000 })
          assert.isTrue(all.equals(bytes))
          assert.include(output.text, `of ${all.length.toLocaleString("en-US")} bytes left out`)
        }
      }).pipe(Effect.provide(OutputsMemory.layer))
  )
})

describe("secrets", () => {
  const secret = "a-long-secret/value"
  const longer = `${secret}-and-more`
  const pieces = Schema.Array(
    Schema.Literals([secret, longer, secret.slice(0, 9), secret.slice(9), "-and-more", "x".repeat(40), "\n"])
  )
  const sizes = Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 })))

  it.effect.prop(
    "are not in what is kept, cut or quoted, wherever the pieces end",
    [pieces, sizes],
    ([texts, lengths]) =>
      Effect.gen(function*() {
        const outputs = yield* Outputs
        const secrets = [Redacted.make(secret), Redacted.make(longer)]
        const capture = makeCapture(outputs, { inline: 64, spill: 1_000_000, secrets })
        const all = Buffer.from(texts.join(""))
        for (let at = 0, turn = 0; at < all.length; turn++) {
          const length = lengths[turn % lengths.length] ?? 1
          yield* capture.take(all.subarray(at, at + length)) ?? Effect.void
          assert.notInclude(capture.tail(4096), secret)
          at += length
        }
        const { spilled, text } = yield* capture.finish
        if (spilled === undefined) return assert.strictEqual(text, all.toString())
        const { bytes } = yield* outputs.read(spilled, { offset: 0, length: 1_000_000 })
        assert.strictEqual(Buffer.from(bytes).toString(), redactText(all.toString(), secrets))
        assert.notInclude(text, secret)
      }).pipe(Effect.provide(OutputsMemory.layer))
  )
})
