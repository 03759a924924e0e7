// The examples of docs/permissions.md: each list of calls is decided by the rules above it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { decideIn, runOf } from "../support/permissionWorld.ts"

const page = readFileSync(new URL("../../docs/permissions.md", import.meta.url), "utf8")
const blocks = [...page.matchAll(/^```(yaml|text)\n([^]*?)^```$/gm)].map(([, kind, text = ""]) => ({ kind, text }))

const calls = blocks.flatMap(({ kind, text }, index) => {
  if (kind !== "text") return []
  const rules = blocks[index - 1]
  assert.strictEqual(rules?.kind, "yaml")
  return text.split("\n").slice(1).filter((line) => line !== "").map((line) => {
    const [, tool, access, outcome] = /^(\S+)\s+(\S.*?)\s{1,}(allow|ask|deny)$/.exec(line) ?? []
    assert.isDefined(outcome, line)
    return { rules: rules!.text, tool, access: access!, outcome }
  })
})

describe("docs/permissions.md", () => {
  for (const { access, outcome, rules, tool } of calls) {
    it.effect(`${tool} ${access} is decided ${outcome}`, () =>
      Effect.gen(function*() {
        const got = yield* decideIn({ user: rules }, runOf({ tool, access: [access] }))
        assert.strictEqual(got.outcome, outcome, got.text)
      }))
  }

  it("has enough of them", () => assert.isAtLeast(calls.length, 20))

  for (const { kind, text } of blocks) {
    if (kind !== "yaml") continue
    it.effect(`${text.split("\n")[1]} … is a file of rules`, () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* decideIn({ user: text }, runOf({ access: ["fs.read(a)"] }))).outcome, "allow")
      }))
  }
})
