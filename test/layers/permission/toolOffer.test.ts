// What an answer may make of a tool that a rule asks about.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { decideIn, runOf, type RunOptions } from "../../support/permissionWorld.ts"

const rules = (...all: ReadonlyArray<unknown>) => JSON.stringify({ rules: all })
const remembered = [{ id: "r1", rule: "allow: tool.db.query", client: "dev", at: "", by: "", approval: "r1" }]

const query: RunOptions = { tool: "db.query", by: ["you"] }

describe("a tool that a rule asks about", () => {
  for (
    const [what, rule, run, offer] of [
      ["by a pattern", { ask: "db.*" }, query, "allow: tool.db.query"],
      ["by its name", { ask: "tool.db.query" }, query, "allow: tool.db.query"],
      ["with all others", { ask: "*" }, query, "allow: tool.db.query"],
      ["and comes with Kiwi", { ask: "db.*" }, { tool: "db.query", by: ["system"] }, "allow: tool.db.query"],
      ["for some parameters", { ask: "tool.db.query", parameters: { sql: {} } }, query, undefined],
      ["since it is new", { ask: "db.*", when: "first-run" }, query, undefined],
      ["since it has changed", { ask: "db.*", when: "changed" }, query, undefined],
      ["of another signer", { ask: "db.*" }, { tool: "db.query", by: ["grace"] }, undefined],
      ["of an agent", { ask: "db.*" }, { tool: "db.query", by: ["agent"] }, undefined]
    ] as const
  ) {
    it.effect(`${what}: ${offer ?? "once"}`, () =>
      Effect.gen(function*() {
        const options = { user: rules(rule) }
        const action = runOf({ ...run, parameters: { sql: "x" as never } })
        const { offers, outcome } = yield* decideIn({ ...options, sandboxed: true }, action)
        assert.deepStrictEqual([outcome, offers], ["ask", [offer]])
        if (offer === undefined) return
        assert.strictEqual((yield* decideIn({ ...options, remembered }, action)).outcome, "allow")
        const other = runOf({ ...run, tool: "db.drop" })
        const left = (yield* decideIn({ ...options, remembered }, other)).outcome
        assert.strictEqual(left, rule.ask === "tool.db.query" ? "allow" : "ask")
      }))
  }
})
