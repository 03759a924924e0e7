import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { invalid, parseKnowledge } from "./parsing.ts"

const entry = (front: string, body = "Text.\n") =>
  parseKnowledge("email/deliver.md", `---\ntitle: T\n${front}---\n${body}`)

describe("a knowledge entry", () => {
  it.effect("is front matter and text", () =>
    Effect.gen(function*() {
      const knowledge = yield* parseKnowledge(
        "email/deliver.md",
        `---
id: deliver
title: Deliverability --- in short
entry_type: pattern
category: email
version: "1.0.0"
tags: [email, "dns"]
author: Ada
note: "a --- b"
---

# Heading

First paragraph
goes on.

---

See [[spf]], [[email/dkim|DKIM]] and [[spf]] again; not [[../x]], [[]] or [[a
b]].
`
      )
      assert.deepInclude(knowledge, {
        title: "Deliverability --- in short",
        entryType: "pattern",
        version: "1.0.0",
        tags: ["email", "dns"],
        description: "First paragraph goes on.",
        links: ["spf", "email/dkim"]
      })
      assert.strictEqual(knowledge.frontMatter.note, "a --- b")
      assert.isTrue(knowledge.body.startsWith("\n# Heading"))
    }))

  it.effect("the closing marker is only a line that is exactly ---", () =>
    Effect.gen(function*() {
      const knowledge = yield* entry("note: |\n  ---\n  x\n ---y: 1\n".replace(" ---y: 1\n", ""))
      assert.strictEqual(knowledge.frontMatter.note, "---\nx\n")
      for (const wrong of ["---\ntitle: T\n", "---\ntitle: T\n----\nx", "---\ntitle: T\n--- \nx"]) {
        assert.include((yield* invalid(parseKnowledge("a.md", wrong))).issue, "no end")
      }
    }))

  it.effect("front matter, title and text are required, each with how to write it", () =>
    Effect.gen(function*() {
      assert.include((yield* invalid(parseKnowledge("a.md", "# a\n"))).hint, "---")
      assert.include((yield* invalid(parseKnowledge("a.md", "---\n---\nx\n"))).issue, "no title")
      assert.include((yield* invalid(parseKnowledge("a.md", "---\ntitle: T\n---\n \n"))).issue, "no text")
      assert.include((yield* invalid(parseKnowledge("a.md", "---\ntitle: T\n---"))).issue, "no text")
    }))

  it.effect("id and category must be where it lies, and a version must be text", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* invalid(entry("id: other\n")), { line: 3, column: 1 })
      assert.include((yield* invalid(entry("category: web\n"))).issue, "declared category")
      assert.include((yield* invalid(entry("version: 1.0\n"))).issue, "not text")
      assert.strictEqual((yield* entry("")).version, "0.0.0")
    }))

  it.effect("errors in the front matter have their place in the file", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* invalid(entry("a: *b\n")), { line: 3, column: 4 })
    }))

  it.effect("many brackets end in an answer", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* entry("", "[[".repeat(200_000))).links, [])
      assert.deepStrictEqual((yield* entry("", "[[a|".repeat(100_000))).links, [])
    }))
})
