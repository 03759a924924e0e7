import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { admit, maxMessageBytes } from "../../../../src/programs/mcp/transport/admission.ts"
import type { Line } from "../../../../src/programs/mcp/transport/lines.ts"
import { makeLineReader } from "../../../../src/programs/mcp/transport/lines.ts"
import { makeIdFinder } from "../../../../src/programs/mcp/transport/messageId.ts"

/** Requests whose text is too long, by the id that its sender waits for. */
const requests: ReadonlyArray<readonly [text: (filler: string) => string, id: string | number | null]> = [
  [(filler) => `{"method":"ping","params":{"a":"${filler}"},"jsonrpc":"2.0","id":7}`, 7],
  [(filler) => `{"jsonrpc":"2.0","id":"ü\\n","method":"ping","params":["${filler}"]}`, "ü\n"],
  [(filler) => ` { "id" : -1.5 , "method" : "ping" , "params" : { "x" : "${filler}" } } `, -1.5],
  [(filler) => `{"params":{"id":5,"b":"\\"}${filler}","c":[{"id":6}]},"method":"x","id":8}`, 8],
  [(filler) => `{"\\u0069d":9,"method":"${filler}"}`, 9],
  [(filler) => `{"id":1,"id":2,"method":"${filler}"}`, 2],
  // An answer's id is one of the server's.
  [(filler) => `{"id":3,"result":{"method":"${filler}"}}`, null],
  [(filler) => `{"method":"x","params":"${filler}"}`, null],
  [(filler) => `{"method":"x","id":null,"params":"${filler}"}`, null],
  [(filler) => `{"method":"x","id":{"id":4},"params":"${filler}"}`, null],
  [(filler) => `{"method":"x","id":9007199254740993,"params":"${filler}"}`, null],
  [(filler) => `{"method":"x","id":"${filler}"}`, null],
  [(filler) => `[{"method":"x","id":4,"params":"${filler}"}]`, null],
  [(filler) => `"id":4,"method":"${filler}"`, null],
  [(filler) => `${filler}{"method":"x","id":4}`, 4]
]

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
    ["not-text", { tooLong: null }, { text: "{}" }]
  )
  assert.deepStrictEqual(readAll([long]), [{ tooLong: null }])
})

it("the id of a request is found without parsing it, however its bytes are cut", () => {
  for (const [text, id] of requests) {
    const bytes = encoder.encode(text("y".repeat(1_000)))
    for (const size of [1, 7, bytes.length]) {
      const finder = makeIdFinder()
      for (let i = 0; i < bytes.length; i += size) finder.take(bytes.subarray(i, i + size))
      assert.strictEqual(finder.found(), id, text("…"))
    }
  }
})

it("of a line that is too long the request's id is kept", () => {
  const filler = "y".repeat(maxMessageBytes)
  for (const [text, id] of requests.slice(0, 2)) {
    const bytes = encoder.encode(text(filler))
    assert.deepStrictEqual(readAll([bytes.subarray(0, 1_000), bytes.subarray(1_000)]), [{ tooLong: id }])
  }
})

it("a message that is too deep, or has a prototype, is refused by its own id", () => {
  const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`
  for (
    const [text, id] of [
      [`{"method":"ping","params":{"a":${deep}},"jsonrpc":"2.0","id":7}`, 7],
      [`{"jsonrpc":"2.0","id":"a","method":"ping","params":${deep}`, "a"],
      [`{"jsonrpc":"2.0","id":8,"result":${deep}}`, null],
      [`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"__proto__":{}}}`, 4],
      [deep, null]
    ] as const
  ) {
    const admission = admit(text)
    assert.strictEqual(admission._tag === "Refused" ? admission.refusal.id : "accepted", id, text.slice(0, 60))
  }
})
