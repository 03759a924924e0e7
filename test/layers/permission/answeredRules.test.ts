// A person's answer is for the rules that asked, as they are written, and for all of them.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Access } from "../../../src/services/capability/Access.ts"
import { PermissionGate } from "../../../src/services/permission/PermissionGate.ts"
import type { RememberedRule } from "../../../src/services/permission/RememberedRules.ts"
import { accessOf, decideIn, layerGate, runOf, someCaller, type WorldOptions } from "../../support/permissionWorld.ts"

/** What `always` remembers of the questions about a call. */
const answer = (world: WorldOptions, access: Access, rule: string, id = "k7") =>
  Effect.flatMap(PermissionGate, (gate) => gate.decide(someCaller, runOf({ accesses: [access] }))).pipe(
    Effect.map(({ asks }): RememberedRule => ({
      id,
      rule,
      client: someCaller.client,
      at: "2026-11-23T00:00:00Z",
      by: "x",
      approval: id,
      answers: asks.flatMap(({ askedBy = [], rule: name }) => askedBy.length === 0 ? [name] : askedBy)
    })),
    Effect.provide(layerGate(world))
  )

const file = accessOf("fs.write(src/keys/k)")
const rule = "allow: fs.write(src/**)"
const before = "rules:\n  - allow: fs.delete(tmp/**)\n  - ask: fs.write(src/**)\n"

const decided = (world: WorldOptions, remembered: ReadonlyArray<RememberedRule>, access: Access = file) =>
  Effect.map(decideIn({ ...world, remembered }, runOf({ accesses: [access] })), ({ outcome }) => outcome)

describe("an answer", () => {
  const same: ReadonlyArray<readonly [string, string]> = [
    ["nothing", before],
    ["a comment on top", `# mine\n${before}`],
    ["a comment beside it", before.replace("src/**)", "src/**) # why")],
    ["empty lines", before.replace("\n", "\n\n\n")],
    ["another rule above it", before.replace("  - ask", "  - deny: fs.write(infra/**)\n  - ask")],
    ["another rule below it", `${before}  - ask: fs.write(docs/**)\n`],
    ["a rule above it removed", "rules:\n  - ask: fs.write(src/**)\n"],
    ["another order", "rules:\n  - ask: fs.write(src/**)\n  - allow: fs.delete(tmp/**)\n"],
    ["quotes", before.replace("fs.write(src/**)", "\"fs.write(src/**)\"")],
    ["JSON", JSON.stringify({ rules: [{ ask: "fs.write(src/**)" }] })]
  ]
  for (const [what, user] of same) {
    it.effect(`holds after a change of the file that leaves its rule: ${what}`, () =>
      Effect.gen(function*() {
        const remembered = [yield* answer({ user: before }, file, rule)]
        assert.strictEqual(yield* decided({ user }, remembered), "allow")
      }))
  }

  const ask = "  - ask: fs.write(src/**)\n"
  const others: ReadonlyArray<readonly [string, WorldOptions]> = [
    ["another rule on its line", { user: before.replace("src/**", "src/keys/**") }],
    ["a narrower rule", { user: `${before}  - ask: fs.write(src/keys/**)\n` }],
    ["a narrower rule above it", { user: before.replace(ask, `  - ask: fs.write(src/keys/**)\n${ask}`) }],
    ["a wider rule", { user: `${before}  - ask: fs.write(**)\n` }],
    ["a rule about all writing", { user: `${before}  - ask: fs.write\n` }],
    ["a rule about reading", { user: `${before}  - ask: fs.read(src/**)\n` }],
    ["a rule with a reason", { user: before.replace(ask, `${ask}    reason: never without me\n`) }],
    ["a rule for a caller", { user: before.replace(ask, `${ask}    caller: dev\n`) }],
    ["a rule for an action", { user: before.replace(ask, `${ask}    action: run\n`) }],
    ["a rule for a tier", { user: before.replace(ask, `${ask}    tier: system\n`) }],
    ["the same rule in the project's file", { user: before, project: `rules:\n${ask}` }],
    ["the same rule in the project's file alone", { project: `rules:\n${ask}` }],
    ["another rule in the project's file", { user: before, project: "rules:\n  - ask: fs.write(src/keys/k)\n" }],
    ["a rule of a project that nobody trusts", {
      user: before,
      project: "rules:\n  - ask: fs.write(src/keys/k)\n",
      trusted: false
    }]
  ]
  for (const [what, world] of others) {
    it.effect(`does not count for ${what}`, () =>
      Effect.gen(function*() {
        const remembered = [yield* answer({ user: before }, file, rule)]
        assert.strictEqual(yield* decided(world, remembered), "ask")
        const both = [...remembered, yield* answer(world, file, rule, "k8")]
        assert.strictEqual(yield* decided(world, both), "allow")
      }))
  }

  it.effect("counts together with another one that answers the rest", () =>
    Effect.gen(function*() {
      const [one, two] = [before, "rules:\n  - ask: fs.write(src/keys/**)\n"]
      const user = `${before}  - ask: fs.write(src/keys/**)\n`
      const answers = [yield* answer({ user: one }, file, rule), yield* answer({ user: two }, file, rule, "k8")]
      for (const only of answers) assert.strictEqual(yield* decided({ user }, [only]), "ask")
      assert.strictEqual(yield* decided({ user }, answers), "allow")
    }))

  it.effect("to the question that a file leaves open when its rule goes is an answer to that", () =>
    Effect.gen(function*() {
      const remembered = [yield* answer({ user: before }, file, rule)]
      assert.strictEqual(yield* decided({}, remembered), "allow")
      const asked = [yield* answer({}, file, rule)]
      assert.strictEqual(yield* decided({}, asked), "allow")
      assert.strictEqual(yield* decided({ user: before }, asked), "ask")
    }))

  it.effect("offers no rule where one of those that ask is about something below", () =>
    Effect.gen(function*() {
      const below: Access = { _tag: "Path", capability: "fs.read", path: "src", below: true }
      const user = "rules:\n  - ask: fs.read(src/**)\n  - deny: fs.read(src/keys/**)\n"
      assert.deepStrictEqual((yield* decideIn({ user }, runOf({ accesses: [below] }))).offers, [undefined])
    }))
})
