// A rule and a token's grant mean the same by a capability.
import { assert, it } from "@effect/vitest"
import { Result } from "effect"
import type { Access } from "../../../src/services/capability/Access.ts"
import { covers, denies, type Grant } from "../../../src/services/capability/Grant.ts"
import { matchRule } from "../../../src/services/permission/rule/matchRule.ts"
import { makeRule } from "../../../src/services/permission/rule/Rule.ts"
import { RuleIndex } from "../../../src/services/permission/rule/RuleIndex.ts"

const paths = ["fs.read", "fs.write", "fs.delete"] as const
const own = ["kiwi.search", "kiwi.load", "kiwi.help", "kiwi.sign", "kiwi.write"]

const accesses: ReadonlyArray<Access> = [
  ...paths.map((capability): Access => ({ _tag: "Path", capability, path: "secret/x" })),
  ...own.map((capability): Access => ({ _tag: "Plain", capability }))
]

const query = { client: "dev", action: "run", item: undefined, foremost: "Path", root: "/p" } as const

const bySpeaking = (outcome: "allow" | "ask" | "deny", capability: string, scope: string | undefined) => {
  const rule = Result.getOrThrow(
    makeRule({ [outcome]: scope === undefined ? capability : `${capability}(${scope})` }, {})
  )
  const index = new RuleIndex([{ rule, file: "test", line: 1 }])
  return accesses.filter((access) => {
    const speaks = matchRule(rule, query, access) === "yes"
    assert.strictEqual(index.find(query, access).length === 1, speaks, `${outcome} ${capability} is found`)
    return speaks
  }).map((access) => access.capability)
}

const rows: ReadonlyArray<
  readonly [capability: string, allows: ReadonlyArray<string>, denies: ReadonlyArray<string>, scope?: string]
> = [
  ["fs.read", ["fs.read"], [...paths]],
  ["fs.write", ["fs.read", "fs.write"], ["fs.write", "fs.delete"]],
  ["fs.delete", ["fs.delete"], ["fs.delete"]],
  ["fs.read", ["fs.read"], [...paths], "secret/**"],
  ["fs.write", ["fs.read", "fs.write"], ["fs.write", "fs.delete"], "secret/**"],
  ["fs.delete", ["fs.delete"], ["fs.delete"], "secret/**"],
  ["kiwi.execute", ["kiwi.search", "kiwi.load", "kiwi.help"], []],
  ["kiwi.search", ["kiwi.search"], ["kiwi.search"]],
  ["kiwi.sign", ["kiwi.sign"], ["kiwi.sign"]],
  ["kiwi.all", own, own]
]

for (const [capability, allowed, denied, scope] of rows) {
  it(`${capability}${scope === undefined ? "" : `(${scope})`} is about the same in a rule and in a grant`, () => {
    const grant: Grant = { capability, ...(scope === undefined ? {} : { scope: [scope] }) }
    const namesOf = (found: (access: Access) => boolean) => accesses.filter(found).map((access) => access.capability)
    assert.deepStrictEqual(namesOf((access) => covers({ allow: [grant], deny: [] }, access)), allowed)
    assert.deepStrictEqual(namesOf((access) => denies({ allow: [], deny: [grant] }, access)), denied)
    // A rule that allows files must say which.
    if (scope !== undefined || !capability.startsWith("fs.")) {
      assert.deepStrictEqual(bySpeaking("allow", capability, scope), allowed)
    }
    for (const outcome of ["ask", "deny"] as const) {
      // Such a rule would do nothing.
      if (denied.length === 0) assert.isTrue(Result.isFailure(makeRule({ [outcome]: capability }, {})))
      else assert.deepStrictEqual(bySpeaking(outcome, capability, scope), denied)
    }
  })
}

it("`kiwi.*` in a rule is kiwi.all", () => {
  for (const outcome of ["allow", "ask", "deny"] as const) {
    assert.deepStrictEqual(bySpeaking(outcome, "kiwi.*", undefined), own)
  }
})
