import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import type { SignatureClaim } from "../../../src/services/item/Item.ts"
import {
  commentSyntax,
  normalize,
  parseClaim,
  parseDetached,
  printClaim,
  signedMessage,
  splitSignature,
  withSignature
} from "../../../src/services/item/SignatureLine.ts"
import type { CommentSyntax } from "../../../src/services/item/SignatureLine.ts"

const claim: SignatureClaim = {
  time: "20261121T210900Z",
  kind: "person",
  digest: "a".repeat(64),
  keyId: "0123456789abcdef",
  signature: `${"b".repeat(85)}Q`
}
const text = printClaim(claim)
const hash = commentSyntax("a.py")!
const html = commentSyntax("a.md")!

const bytes = (source: string) => new TextEncoder().encode(source)
const normal = (source: string) => Result.getOrThrow(normalize(bytes(source)))
const split = (source: string, syntax: CommentSyntax | undefined = hash) => splitSignature(normal(source), syntax)

// Texts that are near to everything that the head of a file can hold.
const pieces = [
  "#!/bin/sh",
  "#!",
  "\n",
  "\r\n",
  "\uFEFF",
  `# ${text}`,
  `<!-- ${text} -->`,
  `# ${text}x`,
  "kiwi-mcp:signed:",
  "#",
  " ",
  "x = 1",
  "---",
  "é😀"
]
const Pieces = Schema.Array(Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: pieces.length - 1 }))))
const build = (indices: ReadonlyArray<number>) => indices.map((i) => pieces[i]!).join("")

describe("canonical bytes", () => {
  it.effect.prop(
    "are the same before and after signing, whatever stands at the head",
    [Pieces],
    ([indices]) =>
      Effect.sync(() => {
        const raw = build(indices)
        for (const syntax of [hash, html]) {
          const before = split(raw, syntax).canonical
          const after = split(withSignature(raw, syntax, claim), syntax)
          assert.strictEqual(after.canonical, before)
          assert.deepStrictEqual(after.claim, { _tag: "Claim", claim })
        }
      })
  )

  it.effect.prop(
    "have no signature left in them: taking it off twice is taking it off once",
    [Pieces],
    ([indices]) =>
      Effect.sync(() => {
        const once = split(build(indices)).canonical
        assert.deepStrictEqual(split(once), { canonical: once, claim: { _tag: "None" } })
      })
  )

  it.effect.prop("do not change when an item is signed again", [Pieces], ([indices]) =>
    Effect.sync(() => {
      const once = withSignature(build(indices), hash, claim)
      assert.strictEqual(withSignature(once, hash, claim), once)
    }))

  it.effect.prop("do not depend on line ends or a byte order mark", [Pieces], ([indices]) =>
    Effect.sync(() => {
      const unix = build(indices).replaceAll("\r\n", "\n")
      assert.strictEqual(split(`\uFEFF${unix.replaceAll("\n", "\r\n")}`).canonical, split(unix).canonical)
    }))

  it("keep everything else of the file", () => {
    assert.strictEqual(split(`# ${text}\nx = 1\n`).canonical, "x = 1\n")
    assert.strictEqual(split(`#!/bin/sh\n# ${text}\necho\n`).canonical, "#!/bin/sh\necho\n")
    assert.strictEqual(split(`<!-- ${text} -->\n---\nid: a\n`, html).canonical, "---\nid: a\n")
    assert.strictEqual(split("#!/bin/sh").canonical, "#!/bin/sh")
    assert.strictEqual(split("").canonical, "")
  })

  it("CRLF and BOM files are signed in their own line ends", () => {
    const signed = withSignature("\uFEFFa\r\nb\r\n", hash, claim)
    assert.strictEqual(signed, `# ${text}\r\na\r\nb\r\n`)
    assert.deepStrictEqual(split(signed), { canonical: "a\nb\n", claim: { _tag: "Claim", claim } })
  })

  it("a hundred thousand lines that resemble a signature are taken off in one pass", () => {
    const result = split(`# ${text}\n`.repeat(5000) + "x")
    assert.strictEqual(result.canonical, "x")
    assert.strictEqual(result.claim._tag, "Malformed")
  })
})

describe("the signature line", () => {
  it("is one anchored form", () => {
    assert.deepStrictEqual(parseClaim(text), claim)
    assert.deepStrictEqual(parseClaim(printClaim({ ...claim, kind: "agent" })), { ...claim, kind: "agent" })
    for (
      const wrong of [
        "",
        ` ${text}`,
        `${text} `,
        `${text}\n`,
        text.replace(":2:", ":1:"),
        text.replace("signed", "validated"),
        text.replace(":p:", ":P:"),
        text.replace("20261121T210900Z", "2026-11-21T21:09:00Z"),
        text.replace("a".repeat(64), "A".repeat(64)),
        text.replace("a".repeat(64), "a".repeat(12)),
        text.replace("bQ", "b="),
        text.toUpperCase(),
        text.replace("k", "к")
      ]
    ) assert.isUndefined(parseClaim(wrong), wrong)
  })

  it("a signature has one spelling: unused bits of its last character must be zero", () => {
    for (const last of "AQgw") assert.isDefined(parseClaim(`${text.slice(0, -1)}${last}`))
    for (const last of "BRhx_-") assert.isUndefined(parseClaim(`${text.slice(0, -1)}${last}`))
  })

  it("whatever merely resembles one is malformed, never unsigned", () => {
    for (
      const line of [
        `# ${text} `,
        `#  ${text}`,
        `#${text}`,
        `# ${text}x`,
        ` # ${text}`,
        `# x ${text}`,
        `// ${text}`,
        `<!-- ${text} -->`,
        `# kiwi-mcp:signed:`,
        `# kiwi-mcp:signed:3:whatever`,
        `"""kiwi-mcp:signed:"""`
      ]
    ) {
      const result = split(`${line}\nx\n`)
      assert.strictEqual(result.claim._tag, "Malformed", line)
      assert.strictEqual(result.canonical, "x\n", line)
    }
    assert.strictEqual(split(`<!-- ${text} --> x\n`, html).claim._tag, "Malformed")
  })

  it("a second one under it is malformed", () => {
    const result = split(`# ${text}\n# ${text}\nx\n`)
    assert.deepStrictEqual(result, {
      canonical: "x\n",
      claim: { _tag: "Malformed", issue: "there is a second signature line" }
    })
    assert.strictEqual(split(`#!/bin/sh\n# ${text}\n# kiwi-mcp:signed:x\n`).claim._tag, "Malformed")
    assert.strictEqual(split(`# ${text}\n#!/bin/sh\n# ${text}\n`).claim._tag, "Malformed")
  })

  it("before a #! line is malformed, and signing puts it after", () => {
    const wrong = `# ${text}\n#!/bin/sh\necho\n`
    assert.deepStrictEqual(split(wrong).claim, {
      _tag: "Malformed",
      issue: "the signature line is before the #! line"
    })
    assert.strictEqual(withSignature(wrong, hash, claim), `#!/bin/sh\n# ${text}\necho\n`)
  })

  it("further down it is content", () => {
    const source = `x\n# ${text}\n`
    assert.deepStrictEqual(split(source), { canonical: source, claim: { _tag: "None" } })
  })

  it("the unkeyed line of older files is no claim", () => {
    const old = `# kiwi-mcp:validated:2026-01-30T00:00:00Z:${"a".repeat(64)}\nx\n`
    assert.deepStrictEqual(split(old), { canonical: old, claim: { _tag: "None" } })
  })

  it("is written in the file's comment syntax, and detached where there is none", () => {
    const opened = (name: string) => commentSyntax(name)?.open
    assert.deepStrictEqual(["a.py", "a.sh", "a.yaml", "a.yml"].map(opened), ["# ", "# ", "# ", "# "])
    // The original wrote `#` into JavaScript, which broke it.
    assert.deepStrictEqual(["a.js", "a.mjs", "a.cjs", "a.ts"].map(opened), ["// ", "// ", "// ", "// "])
    assert.deepStrictEqual(["a.md", "SKILL.md", "a.json", "a"].map(opened), ["<!-- ", undefined, undefined, undefined])
  })

  it("detached, it is the claim and at most one line end", () => {
    assert.deepStrictEqual(parseDetached(text), claim)
    assert.deepStrictEqual(parseDetached(`${text}\n`), claim)
    for (const wrong of [`${text}\n\n`, ` ${text}`, `# ${text}`, `${text}\nx`, ""]) {
      assert.isUndefined(parseDetached(wrong))
    }
  })

  it("what is signed names kind, type, id and path", () => {
    const item = { type: "tool", id: "add", path: "math/add.py" }
    assert.strictEqual(
      signedMessage(claim, item),
      `["kiwi-sig-2","p","tool","add","math/add.py","${"a".repeat(64)}","20261121T210900Z"]`
    )
    assert.notStrictEqual(signedMessage(claim, item), signedMessage(claim, { ...item, path: "other/add.py" }))
  })
})

describe("normalize refuses", () => {
  const issue = (source: Uint8Array) => {
    const result = normalize(source)
    return Result.isFailure(result) ? result.failure : undefined
  }

  it("invalid UTF-8", () => {
    for (const wrong of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0x61, 0xe2, 0x82], [0xff, 0xfe, 0x61, 0x00]]) {
      assert.include(issue(new Uint8Array(wrong))?.issue, "UTF-8")
    }
  })

  it("a lone CR, NUL, U+2028 and U+2029, with their place", () => {
    assert.include(issue(bytes("ab\rc"))!, { line: 1, column: 3 })
    assert.include(issue(bytes("a\r\nb\r"))!, { line: 2, column: 2 })
    assert.include(issue(bytes("a\nbc\0"))!, { line: 2, column: 3 })
    assert.include(issue(bytes(`# ${text}\u2028import os\n`))!.issue, "U+2028")
    assert.include(issue(bytes("\u2029"))!, { line: 1, column: 1 })
  })

  it("nothing else", () => {
    assert.strictEqual(normal("\tä😀\u0085\n"), "\tä😀\u0085\n")
  })
})
