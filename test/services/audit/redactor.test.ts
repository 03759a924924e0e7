// Text that comes in pieces, against the same text as a whole: what comes out is the same, however it was cut.
import { assert, describe, it } from "@effect/vitest"
import { Redacted, Schema } from "effect"
import { makeRedactor, mark, patternsOf, redactText } from "../../../src/services/audit/redaction.ts"

/** The pieces as they come out, the rest among them. */
const inPieces = (pieces: ReadonlyArray<string>, secrets: ReadonlyArray<string>): ReadonlyArray<string> => {
  const redactor = makeRedactor(patternsOf(secrets.map((secret) => Redacted.make(secret))))
  return [...pieces.map((piece) => redactor.push(piece)), redactor.rest()]
}

const whole = (text: string, secrets: ReadonlyArray<string>): string =>
  redactText(text, secrets.map((secret) => Redacted.make(secret)))

const cut = (text: string, lengths: ReadonlyArray<number>): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1
    pieces.push(text.slice(at, at + length))
    at += length
  }
  return pieces
}

const lengths = Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 24 })))
/** Few letters, so that secrets overlap themselves and each other, and texts end within them. */
const few = (minimum: number, maximum: number) =>
  Schema.Array(Schema.Literals(["a", "b", "\n"])).check(Schema.isMinLength(minimum), Schema.isMaxLength(maximum))

const marked = (secret: string) => mark.includes(secret) || secret.includes("‹") || secret.includes("›")

describe("however a text is cut, what comes out is the redacted whole and holds no secret:", () => {
  it.prop("any text, any secret", [Schema.String, Schema.String, Schema.String, Schema.String, lengths], (
    [before, between, after, tail, cuts]
  ) => {
    const secret = `${tail}-s3cret-`
    if (marked(secret)) return
    const text = `${before}${secret}${between}${secret}${secret.slice(0, -1)}${after}${secret}`
    const pieces = inPieces(cut(text, cuts), [secret])
    assert.strictEqual(pieces.join(""), whole(text, [secret]))
    assert.notInclude(pieces.join(""), secret)
    // Nor in one piece, nor is a character cut in two that was whole.
    if (text.isWellFormed()) assert.isTrue(pieces.every((piece) => piece.isWellFormed()))
  })

  it.prop("of few letters, by three secrets", [few(0, 80), few(8, 14), few(8, 10), few(8, 20), lengths], (
    [letters, one, two, three, cuts]
  ) => {
    const secrets = [one.join(""), two.join(""), three.join("")]
    const text = letters.join("") + secrets[0] + letters.join("") + secrets[2]?.slice(2) + secrets[1]
    const out = inPieces(cut(text, cuts), secrets).join("")
    assert.strictEqual(out, whole(text, secrets))
    for (const secret of secrets) assert.notInclude(out, secret)
  }, { arbitrary: { runs: 500 } })
})

const token = "tok-0123456789/abc+def"
const longer = `${token}-and-more`

const cuts: ReadonlyArray<readonly [what: string, pieces: ReadonlyArray<string>, secrets: ReadonlyArray<string>]> = [
  ["in the middle", ["key tok-01234", "56789/abc+def end"], [token]],
  ["after its first character", ["key t", "ok-0123456789/abc+def"], [token]],
  ["before its last", ["tok-0123456789/abc+de", "f"], [token]],
  ["at every character", [...`a ${token} b`], [token]],
  ["within its Base64", cut(`Basic ${btoa(`user:${token}`)}`, [9]), [token]],
  ["within its percent form", cut(`?t=${encodeURIComponent(token)}&x`, [11]), [token]],
  ["within its JSON form", cut(JSON.stringify({ a: "line\none\"two" }), [10]), ["line\none\"two"]],
  ["at a line's end within it", ["-----BEGIN\nabc", "def\n", "-----END x"], ["-----BEGIN\nabcdef\n-----END"]],
  ["where a shorter secret ends within a longer one", [`x ${token}`, "-and-more y"], [token, longer]],
  ["where two overlap", ["abcdefgh", "ijklmnop", "q"], ["abcdefghij", "ghijklmnop"]],
  ["twice in a row", [token.slice(0, 5), token.slice(5) + token.slice(0, 7), token.slice(7)], [token]],
  ["within a letter of two halves", ["-secret-\ud83d", "\ude00"], ["-secret-😀"]]
]

describe("a secret that is cut", () => {
  for (const [what, pieces, secrets] of cuts) {
    it(what, () => {
      const out = inPieces(pieces, secrets).join("")
      assert.strictEqual(out, whole(pieces.join(""), secrets))
      assert.include(out, mark)
      for (const secret of secrets) assert.notInclude(out, secret.slice(0, 7))
    })
  }
})

describe("what is held back", () => {
  it("is only what may become a secret", () => {
    const redactor = makeRedactor(patternsOf([Redacted.make(token)]))
    assert.strictEqual(redactor.push("waiting for you\n"), "waiting for you\n")
    assert.strictEqual(redactor.push("at tok"), "at ")
    assert.strictEqual(redactor.push("yo\n"), "tokyo\n")
    assert.strictEqual(redactor.rest(), "")
  })

  it("comes with the rest, which can be asked for at any time", () => {
    const redactor = makeRedactor(patternsOf([Redacted.make(token)]))
    assert.strictEqual(redactor.push("a tok-0"), "a ")
    assert.strictEqual(redactor.rest(), "tok-0")
    assert.strictEqual(redactor.push("123456789/abc+def"), mark)
    assert.strictEqual(redactor.rest(), "")
  })

  it("is lost where something is left out, and so is what may have begun there", () => {
    const redactor = makeRedactor(patternsOf([Redacted.make(token)]))
    assert.strictEqual(redactor.push("a tok-0"), "a ")
    redactor.skip()
    const shown = redactor.push(`${token.slice(3)} and ${"long ".repeat(20)}after`) + redactor.rest()
    assert.notInclude(shown, token.slice(-7))
    assert.isTrue(shown.endsWith("after"))
  })

  it("is nothing without secrets, but half a character", () => {
    const redactor = makeRedactor([])
    assert.deepStrictEqual([redactor.push("a\ud83d"), redactor.push("\ude00b"), redactor.rest()], ["a", "😀b", ""])
  })
})

it("where secrets overlap, nothing of either is left", () => {
  const both = ["abcdefghij", "ghijklmnop"].map((secret) => Redacted.make(secret))
  assert.strictEqual(redactText("<abcdefghijklmnop>", both), `<${mark}>`)
  assert.strictEqual(redactText("aaaaaaaaaaaa", [Redacted.make("aaaaaaaa")]), mark)
})
