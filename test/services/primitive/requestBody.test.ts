import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import {
  type BodyIssue,
  fromBase64,
  type Part,
  planParts,
  unsendable,
  utf8,
  writeParts
} from "../../../src/services/primitive/requestBody.ts"

const plan = (parts: ReadonlyArray<Part>, signed: Schema.Json = parts as Schema.Json) => {
  const issues: Array<BodyIssue> = []
  return { parts: planParts(parts, signed, issues), issues }
}

describe("files that a request may send", () => {
  it("are none that hold keys, or that Kiwi or git decide by", () => {
    const paths = [
      ".env",
      ".env.local",
      ".ENV",
      "sub/.env.production",
      ".envrc",
      ".git/config",
      "sub/.git/HEAD",
      ".ai/config/kiwi.yaml",
      ".AI/tools/x.yaml",
      ".ssh/id_ed25519",
      "keys/id_rsa",
      "server.key",
      "certs/ca.PEM",
      ".npmrc",
      ".netrc",
      ".aws/credentials",
      ".docker/config.json"
    ]
    for (const path of paths) assert.isDefined(unsendable(path), path)
  })

  it("are none outside the project, in any spelling", () => {
    const paths = [
      "",
      "/etc/passwd",
      "../x",
      "a/../../x",
      "a/..",
      "~/.ssh/known_hosts",
      "C:\\x",
      "C:x",
      "\\\\host\\share",
      "a\\..\\..\\x",
      "a\0b"
    ]
    for (const path of paths) assert.isDefined(unsendable(path), JSON.stringify(path))
  })

  it("are all others", () => {
    for (const path of ["a.txt", "docs/a b.pdf", "./a", "..a/b", "env", "a.environment", "monkey.txt", "public.keys"]) {
      assert.isUndefined(unsendable(path), path)
    }
  })
})

describe("parts", () => {
  it("have one content each", () => {
    assert.deepStrictEqual(plan([{ name: "a", value: "x", base64: "AA==" }]).issues.map((i) => i.field), [
      "multipart/0/base64"
    ])
    assert.deepStrictEqual(plan([{ name: "a" }]).issues.map((i) => i.field), ["multipart/0"])
    assert.deepStrictEqual(plan([{ name: "a", base64: "no!" }]).issues.map((i) => i.field), ["multipart/0/base64"])
    assert.deepStrictEqual(plan([{ name: "a", value: 1, content_type: "x\r\ny" }]).issues.map((i) => i.field), [
      "multipart/0/content_type"
    ])
  })

  it("are left out where an optional parameter is absent, and only there", () => {
    assert.deepStrictEqual(plan([{ name: "a" }], [{ name: "a", value: "{a}" }]), { parts: [], issues: [] })
    assert.deepStrictEqual(plan([{ name: "a", value: null }]).parts, [])
    assert.strictEqual(plan([{ name: "a" }], [{ name: "a" }]).issues.length, 1)
  })

  it("of JSON are JSON, and files are named after themselves", () => {
    const { parts } = plan([
      { name: "a", value: { b: [1] } },
      { name: "f", path: "docs/report.pdf" },
      { name: "g", base64: "AP8=" }
    ])
    assert.deepStrictEqual(parts.map(({ filename, type }) => [filename, type]), [
      [undefined, undefined],
      ["report.pdf", "application/octet-stream"],
      ["g", "application/octet-stream"]
    ])
    const [first] = parts
    assert.isTrue(first?.content._tag === "Bytes")
    if (first?.content._tag === "Bytes") {
      assert.strictEqual(new TextDecoder().decode(first.content.bytes), "{\"b\":[1]}")
    }
  })

  it("cannot make another part, or another header, by their names", () => {
    const evil = "x\"\r\nContent-Type: text/html\r\n\r\n--b--\r\n"
    const part = { name: evil, filename: evil, type: undefined, content: { _tag: "Bytes" as const, bytes: utf8("v") } }
    const text = new TextDecoder().decode(writeParts([{ part, bytes: utf8("v") }], "b"))
    const lines = text.split("\r\n")
    assert.deepStrictEqual([lines[0], lines[2], lines[3], lines[4], lines.length], ["--b", "", "v", "--b--", 6])
    assert.isFalse(lines.some((line) => line.startsWith("Content-Type")))
  })
})

describe("base64", () => {
  it.effect.prop("gives back every byte, in both alphabets", [Schema.Uint8Array], ([bytes]) =>
    Effect.sync(() => {
      const text = Buffer.from(bytes).toString("base64")
      for (
        const written of [text, text.replaceAll("+", "-").replaceAll("/", "_"), `${text.slice(0, 4)}\n${text.slice(4)}`]
      ) {
        assert.deepStrictEqual([...Result.getOrThrow(fromBase64(written))], [...bytes])
      }
    }))

  it("refuses what it is not", () => {
    for (const text of ["a", "=", "ab=c", "%%%%", "é", "{x}"]) assert.isTrue(Result.isFailure(fromBase64(text)), text)
  })
})
