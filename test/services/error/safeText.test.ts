import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { safeLine, safeText } from "../../../src/services/error/safeText.ts"

const hostile = [
  "\u001b[31m",
  "\u009b31m",
  "\u202e",
  "\u2066",
  "\u200b",
  "\u200d",
  "\ufeff",
  "\u00ad",
  "\u{e0041}",
  "\u{e01ef}",
  "\ud800",
  "\udfff",
  "\u2028",
  "\u0085",
  "\u0000",
  "\u007f",
  "\r",
  "\n",
  "\u3164",
  "\ufffe",
  "\u1161",
  "\u11ff",
  "\ud7b0",
  "\u2800"
]
const pieces = Schema.Array(Schema.Union([Schema.String, Schema.Literals(hostile)]))
const dangerous = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|\p{Noncharacter_Code_Point}/u

describe("safeText", () => {
  it("keeps Hangul in syllables, and letters with marks", () => {
    for (const text of ["한글".normalize("NFD"), "한글", "e\u0301\u0323", "व्यक्ति"]) {
      assert.strictEqual(safeLine(text), text)
    }
    assert.strictEqual(safeLine("dry_run\u1161 = 1"), "dry_run\\u{1161} = 1")
    assert.strictEqual(safeLine("a\u1161\u11a8"), "a\\u{1161}\\u{11a8}")
    assert.strictEqual(safeLine(`a${"\u0301".repeat(5)}`), `a${"\u0301".repeat(3)}\\u{301}\\u{301}`)
  })

  it.prop("lets nothing through that acts or hides", [pieces], ([parts]) => {
    const text = parts.join("")
    assert.notMatch(safeLine(text), dangerous)
    assert.notMatch(safeText(text).replaceAll(/[\n\t]/g, ""), dangerous)
  })

  it.prop("changes nothing the second time", [pieces], ([parts]) => {
    const once = safeLine(parts.join(""), Infinity)
    assert.strictEqual(safeLine(once, Infinity), once)
  })

  it.prop(
    "leaves printable text as it is",
    [Schema.String.check(Schema.isPattern(/^[ -~äöüßéλж漢字한글]*$/u))],
    ([text]) => {
      assert.strictEqual(safeLine(text), text)
    }
  )

  it("shows what it took away", () => {
    assert.strictEqual(safeLine("\u001b[2Ja\u202eb"), "\\u{1b}[2Ja\\u{202e}b")
    assert.strictEqual(safeLine("a\nb\r\tc"), "a\\nb\\r\\tc")
    assert.strictEqual(safeLine("\u{e0041}"), "\\u{e0041}")
    assert.strictEqual(safeLine("x\ud800y"), "x\\u{d800}y")
    for (const one of hostile) assert.notStrictEqual(safeLine(one), one)
  })

  it("keeps line breaks and tabs where asked, and no lone carriage return", () => {
    assert.strictEqual(safeText("a\r\nb\n\tc\rd\u2028"), "a\nb\n\tc\\rd\\u{2028}")
  })

  it("keeps one presentation selector after a pictograph, and none that carries data", () => {
    assert.strictEqual(safeLine("☂\ufe0f 🏗\ufe0f"), "☂\ufe0f 🏗\ufe0f")
    assert.strictEqual(safeLine("a\ufe0f"), "a\\u{fe0f}")
    assert.strictEqual(safeLine("☂\ufe0f\ufe0f"), "☂\ufe0f\\u{fe0f}")
    assert.strictEqual(safeLine("☂\ufe01"), "☂\\u{fe01}")
  })

  it("takes time in proportion to the text", () => {
    const started = performance.now()
    safeLine("\u202e\u001b\ufe0f".repeat(400_000), Infinity)
    assert.isBelow(performance.now() - started, 5_000)
  })
})
