import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { exactLine, exactText, mostColumns } from "../../../src/services/error/exactText.ts"

/** What the escapes are made of, and what they stand for. */
const Piece = Schema.Literals([
  "\\",
  "u{",
  "u",
  "{",
  "}",
  "5c",
  "200b",
  "\\u{5c}",
  "\\u{200b}",
  "\\u{d}",
  "\\r",
  "r",
  "n",
  "d",
  "D",
  "0",
  "\u200b",
  "\r",
  "\n",
  "\r\n",
  "\t",
  "\u21e5",
  "\u21e5 ",
  " ",
  "\u001b",
  "\u{13441}",
  "\u0301",
  "\u0e34",
  "\u0e01",
  "e",
  "\u00e9",
  "\ud800",
  "\udc41",
  "\u212a"
])
const pieces = Schema.Array(Schema.Union([Piece, Schema.String]))

/** The text that is shown so: each `\u{…}` that is an escape of ours, and each arrow. */
const read = (shown: string): string =>
  shown.replace(/\\u\{([0-9a-f]+)\}|\u21e5 /g, (token, code: string | undefined) => {
    if (code === undefined) return "\t"
    const character = String.fromCodePoint(Number.parseInt(code, 16))
    return character !== "\\" && exactText(`x${character}`) === `x${character}` ? token : character
  })

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

  it("joins no two characters into one", () => {
    assert.strictEqual(exactText("👍\u{1f3fd} \u{1f1e9}\u{1f1ea}"), "👍\\u{1f3fd} \\u{1f1e9}\\u{1f1ea}")
  })

  it("shows a tab and other blanks as what they are", () => {
    assert.strictEqual(exactText("a\tb\t c"), "a\u21e5 b\u21e5  c")
    assert.strictEqual(exactText("a\u21e5 b"), "a\\u{21e5} b")
    assert.strictEqual(exactText("rm -rf /tmp\u00a0/home\u2003x"), "rm -rf /tmp\\u{a0}/home\\u{2003}x")
    assert.strictEqual(exactText("echo ok\u3000# 日本"), "echo ok\\u{3000}# 日本")
  })

  it.prop("never shows two texts alike that differ in a blank", [pieces, pieces], ([a, b]) => {
    const blanks = ["\t", " ", "\u00a0", "\u21e5 ", "\u2007", "\u3000"]
    const shown = blanks.map((blank) => exactText(`${a.join("")}x${blank}x${b.join("")}`))
    assert.strictEqual(new Set(shown).size, blanks.length)
  })

  it.prop("can be read back, so that no two texts are shown alike", [pieces], ([parts]) => {
    const text = parts.join("")
    assert.strictEqual(read(exactText(text)), text)
  })

  it.prop("shows no text that is another one by canonical equivalence", [pieces], ([parts]) => {
    const shown = exactText(parts.join(""))
    assert.strictEqual(shown.normalize("NFC"), shown)
  })

  it("shows a written escape as a written one, however often", () => {
    const written = ["\u200b"]
    for (let turn = 0; turn < 12; turn++) written.push(exactText(written.at(-1)!))
    assert.strictEqual(new Set(written.map(exactText)).size, written.length)
    assert.strictEqual(exactText("\\u{200b}"), "\\u{5c}u{200b}")
    assert.strictEqual(exactText("\\u{5c}u{200b}"), "\\u{5c}u{5c}u{200b}")
    assert.strictEqual(exactText("\\u{FEFF} \\u{0200B}"), "\\u{5c}u{FEFF} \\u{5c}u{0200B}")
    assert.strictEqual(exactText("\\u{110000} \\u{} \\u0041 C:\\users"), "\\u{110000} \\u{} \\u0041 C:\\users")
  })

  it("shows a carriage return as no text that can be written", () => {
    assert.strictEqual(exactText("a\rb\\rc\r\nd"), "a\\u{d}b\\rc\\u{d}\nd")
    assert.strictEqual(new Set(["\r", "\\r", "\\u{d}", "\\u{D}", "\r\n", "\n"].map(exactText)).size, 6)
  })

  it("escapes what a terminal of the last decade may draw as nothing, or on a width of its own", () => {
    const hidden = [
      0x13441,
      0x2ebf0,
      0x17000,
      0x18b00,
      0x31350,
      0x323b0,
      0x105c0,
      0x16100,
      0x1e5d0,
      0x11f02,
      0x10d4a,
      0x870,
      0xa7cb,
      0xa7d1,
      0x1c89,
      0x9fef,
      0x4dc0,
      0x9fc,
      0xc5d,
      0x1fa70,
      0x1f9ea,
      0x1f6d7,
      0x20c0,
      0x2b97,
      0xe000,
      0xf8ff,
      0xf0000,
      0x10fffd,
      0x378,
      0x20000,
      0x13000,
      0x1d400,
      0x1d49c,
      0x1d173,
      0xfdfd,
      0xfb01,
      0xfe0f,
      0xfe0e,
      0x1100,
      0x1161,
      0x11a8,
      0xd7b0,
      0x3164,
      0xffa0,
      0x2800,
      0x303f + 0x10000,
      0x301,
      0x307,
      0x20dd,
      0x302e,
      0x3099,
      0x1c3,
      0x2f00,
      0x2e80,
      0x180e,
      0x17b4,
      0x34f
    ]
    for (const point of hidden) {
      const character = String.fromCodePoint(point)
      for (const before of ["", "x", "\u0e01", "+"]) {
        assert.strictEqual(exactText(before + character), `${before}\\u{${point.toString(16)}}`)
      }
      assert.strictEqual(exactLine(character), `\\u{${point.toString(16)}}`)
    }
  })

  it("escapes marks but those of a letter's own script, each at most once", () => {
    assert.strictEqual(exactText("\u0e01\u0e34\u0e34"), "\u0e01\\u{e34}\\u{e34}")
    assert.strictEqual(exactText("a\u093e\u093f"), "a\\u{93e}\\u{93f}")
    assert.strictEqual(exactText("+\u0e34"), "+\\u{e34}")
    assert.strictEqual(exactText("\n\u0e34"), "\n\\u{e34}")
    assert.strictEqual(exactText("\t\u0e34"), "\u21e5 \\u{e34}")
    assert.strictEqual(exactText("i\u0307"), "i\\u{307}")
    assert.strictEqual(exactText("\u0e01\u0e34\u0e48\u0e4c\u0e38"), "\u0e01\\u{e34}\\u{e48}\\u{e4c}\\u{e38}")
  })

  it("leaves the writing of living scripts readable", () => {
    for (
      const text of [
        "Grüße, façade, žluťoučký kůň, Tiếng Việt, İstanbul, ½ © ™ € → ✓ “quoted” – …",
        "Привет, мир; Γειά σου Κόσμε; Բարեւ; გამარჯობა",
        "שָׁלוֹם עולם",
        "مَرْحَبًا بالعالم",
        "नमस्ते दुनिया व्यक्ति",
        "বাংলা",
        "ਪੰਜਾਬੀ",
        "ગુજરાતી",
        "தமிழ்",
        "తెలుగు",
        "ಕನ್ನಡ",
        "മലയാളം",
        "සිංහල",
        "สวัสดีชาวโลก ที่นี่",
        "ສະບາຍດີ",
        "မြန်မာ",
        "ភាសាខ្មែរ",
        "አማርኛ",
        "漢字、かな、カタカナ（ガ）ｶﾅ",
        "한국어 ㅋㅋ",
        "中文：你好！",
        "┌──┐ █ ∑ ≤ ≠",
        "🚀 🎉 ✅ ❌ 😀 👍"
      ]
    ) {
      assert.strictEqual(exactText(text.normalize("NFC")), text.normalize("NFC"))
    }
  })

  it("counts no character narrower than it may be drawn", () => {
    assert.deepStrictEqual(["a", "é", "漢", "😀", "… ", "\u0e01\u0e34"].map(mostColumns), [1, 2, 2, 2, 3, 3])
  })

  it("takes time in proportion to the text", () => {
    const started = performance.now()
    exactText("\u202e\u001b\\u{200b}\u0e01\u0e34é".repeat(100_000) + "\u0301".repeat(200_000))
    assert.isBelow(performance.now() - started, 5_000)
  })
})
