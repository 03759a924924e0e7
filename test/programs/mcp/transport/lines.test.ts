import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { maxMessageBytes } from "../../../../src/programs/mcp/transport/admission.ts"
import type { Line } from "../../../../src/programs/mcp/transport/lines.ts"
import { makeLineReader } from "../../../../src/programs/mcp/transport/lines.ts"

const encoder = new TextEncoder()

const readAll = (chunks: ReadonlyArray<Uint8Array>): ReadonlyArray<Line> => {
  const lines = makeLineReader()
  return [...chunks.flatMap((chunk) => lines.read(chunk)), ...lines.end()]
}

it.prop(
  "lines are the same however the bytes are cut, with and without a newline at the end",
  [Schema.Array(Schema.String), Schema.Int, Schema.Boolean],
  ([texts, size, ends]) => {
    const wanted = texts.map((text) => text.replaceAll("\n", " ").toWellFormed())
    const bytes = encoder.encode(wanted.join("\n") + (ends ? "\n" : ""))
    const step = 1 + Math.abs(size % 7)
    const chunks = Array.from(
      { length: Math.ceil(bytes.length / step) },
      (_, i) => bytes.slice(i * step, (i + 1) * step)
    )
    assert.deepStrictEqual(readAll(chunks), wanted.filter((text) => text !== "").map((text) => ({ text })))
  }
)

it("a line that is not UTF-8 or too long is reported, and the next one is read", () => {
  const long = new Uint8Array(maxMessageBytes + 1).fill(0x61)
  const newline = Uint8Array.of(0x0a)
  assert.deepStrictEqual(
    readAll([Uint8Array.of(0xff), newline, long, long, newline, encoder.encode("{}")]),
    ["not-text", "too-long", { text: "{}" }]
  )
  assert.deepStrictEqual(readAll([long]), ["too-long"])
})
