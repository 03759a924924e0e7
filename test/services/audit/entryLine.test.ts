import { assert, describe, it } from "@effect/vitest"
import { Redacted, Schema } from "effect"
import type { AuditRecord } from "../../../src/services/audit/AuditEntry.ts"
import { encodeHead, parseHead, parseLink } from "../../../src/services/audit/AuditEntry.ts"
import { entryLine, maxLine } from "../../../src/services/audit/entryLine.ts"
import { safeText } from "../../../src/services/error/safeText.ts"

const place = { n: 7, now: 0, prev: "a".repeat(64) }

const request = (parameters: Schema.Json): AuditRecord => ({
  kind: "request",
  call: "c1",
  caller: { surface: "test", client: "tester", session: "s" },
  operation: "run",
  subject: { item: "add" },
  parameters
})

describe("entryLine", () => {
  it.prop("is one line that fits, whatever the parameters", [Schema.Json, Schema.Int], ([json, times]) => {
    const parameters = Array.from({ length: Math.abs(times) % 3_000 }, () => json)
    const line = entryLine(place, request(parameters), [])
    assert.notInclude(line, "\n")
    assert.isBelow(Buffer.byteLength(line), maxLine)
    assert.strictEqual(parseLink(line)?.n, 7)
  })

  const breaking = [
    ..."\u007f\u0085\u009b\u00ad\u061c\u200b\u200d\u200e\u2028\u2029\u202e\u2066\u2069\u3164\ufeff\ufff9",
    "\u{e0041}"
  ]
  const record = (text: string, times: number): AuditRecord => ({
    kind: "request",
    call: "c1",
    caller: { surface: "test", client: text, label: text, session: "s" },
    operation: "run",
    subject: { item: text },
    parameters: { [text]: Array.from({ length: times }, () => ({ [text]: text })) }
  })

  it.prop(
    "is printable text without characters that end a line, reorder or hide text",
    [Schema.Array(Schema.Union([Schema.Literals(breaking), Schema.String])), Schema.Int],
    ([pieces, times]) => {
      const line = entryLine(place, record(pieces.join(""), Math.abs(times) % 300), [])
      assert.strictEqual(safeText(line), line)
      assert.isBelow(Buffer.byteLength(line), maxLine)
      assert.strictEqual(parseLink(line)?.n, 7)
    }
  )

  it("has the same value, whatever the characters", () => {
    for (const one of [...breaking, "\ud800", "é", "語", "\u{1f600}", "\"\\"]) {
      const text = `before${one}{"v":1,"n":8}`
      const line = entryLine(place, record(text, 2), [])
      assert.deepStrictEqual(JSON.parse(line).parameters, { [text]: [{ [text]: text }, { [text]: text }] })
    }
    assert.include(entryLine(place, record("\u2028", 1), []), "\\u2028")
  })

  it("begins with what the chain needs, so that half a line still says it", () => {
    assert.match(
      entryLine(place, request({}), []),
      /^\{"v":1,"n":7,"at":"1970-01-01T00:00:00\.000Z","prev":"a{64}","kind":"request","call":"c1",/
    )
  })

  it("leaves an entry that just fits, and cuts the next", () => {
    const empty = Buffer.byteLength(entryLine(place, request(""), []))
    const fits = entryLine(place, request("x".repeat(maxLine - 1 - empty)), [])
    assert.strictEqual(Buffer.byteLength(fits), maxLine - 1)
    const cut = entryLine(place, request("x".repeat(maxLine - empty)), [])
    assert.include(cut, "‹cut: ")
  })

  it("redacts before it cuts", () => {
    const secret = "0123456789abcdef"
    for (let at = 16_384 - 20; at < 16_384; at++) {
      const text = `${"x".repeat(at)}${secret}${"y".repeat(100_000)}`
      assert.notInclude(entryLine(place, request({ text }), [Redacted.make(secret)]), "x012")
    }
  })

  it("redacts what a failure says, never what ran", () => {
    const line = entryLine(place, {
      kind: "result",
      call: "c1",
      subject: { item: "filesystem.read", digest: "deadbeefdeadbeef" },
      outcome: "failure",
      rule: "because of filesystem.read",
      error: { code: "FAILED", message: "deadbeefdeadbeef was wrong" },
      duration_ms: 1
    }, [Redacted.make("filesystem.read"), Redacted.make("deadbeefdeadbeef")])
    const entry = JSON.parse(line)
    assert.deepStrictEqual(entry.subject, { item: "filesystem.read", digest: "deadbeefdeadbeef" })
    assert.strictEqual(entry.rule, "because of ‹redacted›")
    assert.deepStrictEqual(entry.error, { code: "FAILED", message: "‹redacted› was wrong" })
  })
})

describe("a head's line", () => {
  const head = {
    i: 3,
    prev: "b".repeat(64),
    state: "running",
    place: "project",
    file: "2026-11-21/20261121T150405123Z-0123456789abcdef.jsonl",
    n: 12,
    head: "c".repeat(64)
  } as const
  const line = encodeHead(head)

  it("is read as it was written", () => assert.deepStrictEqual(parseHead(line), { v: 1, ...head }))

  for (
    const [what, text] of [
      [
        "another order",
        JSON.stringify({ ...JSON.parse(line), v: 1, i: 3 }).replace("\"v\":1,\"i\":3", "\"i\":3,\"v\":1")
      ],
      ["a blank", line.replace("\"v\":1,", "\"v\":1, ")],
      ["a key too many", line.replace("}", ",\"x\":1}")],
      ["a path that leaves the folder", line.replace("2026-11-21/", "../")],
      ["another state", line.replace("running", "walking")],
      ["half of it", line.slice(0, -1)],
      ["nothing", ""]
    ] as const
  ) {
    it(`is none with ${what}`, () => assert.isUndefined(parseHead(text)))
  }
})
