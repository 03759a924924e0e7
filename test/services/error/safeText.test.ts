import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { exactText, safeLine, safeText } from "../../../src/services/error/safeText.ts"

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

describe("exactText", () => {
  it("shows no two texts alike", () => {
    const twins: ReadonlyArray<readonly [string, string]> = [
      ["a\u200bb", "a\\u{200b}b"],
      ["a\u00a0b", "a\\u{a0}b"],
      ["a\u21e5b", "a\\u{21e5}b"],
      ["\u037e", ";"],
      ["\u212a", "K"],
      ["\u212b", "\u00c5"],
      ["\u2126", "\u03a9"],
      ["\u00e9", "e\u0301"],
      ["e\u0301", "e\\u{301}"],
      ["\uf900", "\u8c48"],
      ["\u0344", "\u0308\u0301"],
      ["\u1fef", "`"]
    ]
    for (const [a, b] of twins) {
      assert.notStrictEqual(exactText(a), exactText(b), JSON.stringify([a, b]))
      assert.notStrictEqual(exactText(a).normalize("NFC"), exactText(b).normalize("NFC"), JSON.stringify([a, b]))
    }
    assert.strictEqual(
      exactText("\\u{41} \\u{1f600} caf\u00e9 \u0e01\u0e34"),
      "\\u{41} \\u{1f600} caf\u00e9 \u0e01\u0e34"
    )
  })

  it("shows a tab and other blanks as what they are", () => {
    assert.strictEqual(exactText("a\tb\t c"), "a\u21e5 b\u21e5  c")
    assert.strictEqual(exactText("a\u21e5 b"), "a\\u{21e5} b")
    assert.strictEqual(exactText("rm -rf /tmp\u00a0/home\u2003x"), "rm -rf /tmp\\u{a0}/home\\u{2003}x")
    assert.strictEqual(exactText("日本\u3000語\n"), "日本\u3000語\n")
  })

  it.prop("never shows two texts alike that differ in a blank", [pieces, pieces], ([a, b]) => {
    const blanks = ["\t", " ", "\u00a0", "\u21e5 ", "\u2007", "\u3000"]
    const shown = blanks.map((blank) => exactText(`${a.join("")}x${blank}x${b.join("")}`))
    assert.strictEqual(new Set(shown).size, blanks.length)
  })
})

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
