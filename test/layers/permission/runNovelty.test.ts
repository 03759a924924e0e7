// Rules with `when`: asked at the first run, and again when the tool is another one.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fs from "node:fs"
import { answerApproval } from "../../../src/programs/approvals.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { PermissionGate } from "../../../src/services/permission/PermissionGate.ts"
import type { RememberedRule } from "../../../src/services/permission/RememberedRules.ts"
import { makeRule } from "../../../src/services/permission/rule/Rule.ts"
import { HumanGate } from "../../../src/services/trust/HumanAct.ts"
import { layerGate, runOf, type RunOptions, someCaller } from "../../support/permissionWorld.ts"
import { accept, kernelOf, realProject } from "../../support/realProject.ts"
import { call, caller } from "../proxy/calls.ts"

const first = "rules: [{ask: '*', when: first-run}]"
const changed = "rules: [{ask: deploy, when: changed}]"

const deploy: RunOptions = { tool: "deploy", by: ["you"] }

/** What is asked, and what is remembered if a person agrees. */
const ask = (user: string, remembered: ReadonlyArray<RememberedRule>, run: RunOptions = deploy, client = "dev") =>
  Effect.map(
    Effect.flatMap(PermissionGate, (gate) => gate.decide({ ...someCaller, client }, runOf(run))).pipe(
      Effect.provide(layerGate({ user, remembered }))
    ),
    ({ asks }) => ({
      asked: asks.length > 0,
      offers: asks.flatMap(({ offer }) => offer ?? []),
      after: [
        ...remembered,
        ...asks.flatMap(({ ran }): ReadonlyArray<RememberedRule> =>
          ran === undefined
            ? []
            : [{ id: ran.print, rule: "allow: deploy", client, at: "", by: "", approval: "a", ran }]
        )
      ]
    })
  )

describe("a rule with when", () => {
  for (const user of [first, changed]) {
    it.effect(`asks once: ${user}`, () =>
      Effect.gen(function*() {
        const one = yield* ask(user, [])
        assert.isTrue(one.asked)
        assert.deepStrictEqual(one.offers, [])
        assert.isFalse((yield* ask(user, one.after)).asked)
        assert.isTrue((yield* ask(user, one.after, deploy, "ci")).asked, "another caller")
        assert.isTrue((yield* ask(user, one.after, { ...deploy, tool: "ops/deploy" })).asked, "another tool")
      }))
  }

  it.effect("asks again when the tool or its signer is another, and when it is swapped back", () =>
    Effect.gen(function*() {
      const one = yield* ask(changed, [])
      for (
        const other of [{ digest: "c".repeat(64) }, { by: ["grace"] }, { by: ["agent"] }, {
          by: ["you", "you"]
        }] as const
      ) {
        const run = { ...deploy, ...other }
        const user = `${changed.slice(0, -1)}, {allow: deploy, signer: [you, Grace]}]`
        const decided = yield* Effect.result(ask(user, one.after, run))
        // A question about what is new does not open what nobody has allowed.
        if (run.by?.[0] === "agent") assert.isTrue(Result.isFailure(decided))
        if (Result.isFailure(decided)) continue
        assert.isTrue(decided.success.asked, JSON.stringify(other))
        assert.isFalse((yield* ask(user, one.after)).asked, "nobody has agreed to the other one")
        assert.isTrue((yield* ask(user, decided.success.after)).asked, "it is swapped back")
        assert.isFalse((yield* ask(user.replace("changed", "first-run"), decided.success.after, run)).asked)
      }
    }))

  it.effect("asks about running alone, and its answer settles no other question", () =>
    Effect.gen(function*() {
      const user = "rules: [{ask: '*', when: [first-run, changed]}, {allow: fs.read(x)}, {ask: deploy, caller: dev}]"
      const one = yield* ask(user, [], { ...deploy, access: ["fs.read(x)"] })
      const again = yield* ask(user, one.after, { ...deploy, access: ["fs.read(x)"] })
      assert.isTrue(again.asked, "the rule without `when` still asks")
      const only = yield* ask(first, [], { ...deploy, access: ["fs.read(x)"] })
      assert.isFalse((yield* ask(first, only.after, { ...deploy, access: ["fs.read(x)"] })).asked)
    }))

  it("is a rule that asks about tools", () => {
    for (const entry of [{ ask: "*" }, { ask: "deploy" }, { ask: "github/*" }, { ask: null, tool: "db.*" }] as const) {
      assert.isTrue(Result.isSuccess(makeRule({ ...entry, when: "changed" }, {})), JSON.stringify(entry))
    }
    for (
      const entry of [
        { allow: "deploy" },
        { deny: "deploy" },
        { ask: "fs.write(a)" },
        { ask: "shell.run(npm test)" },
        { ask: "kiwi.sign" }
      ]
    ) assert.isTrue(Result.isFailure(makeRule({ ...entry, when: "first-run" }, {})), JSON.stringify(entry))
  })
})

describe("in a project on a disk", () => {
  it.live("survives restarts, edits and a tool that is swapped back", () =>
    Effect.gen(function*() {
      const place = yield* realProject({})
      const put = (text: string) =>
        place.write(
          ".ai/tools/ops/says.yaml",
          `tool_id: says\nversion: "1.0.0"\ntool_type: script\nexecutor_id: subprocess\ncategory: ops\n` +
            `description: "says"\nconfig: {command: echo, args: ["${text}"]}\n`
        )
      fs.mkdirSync(`${place.userSpace}/config`, { recursive: true })
      fs.writeFileSync(`${place.userSpace}/config/permissions.yaml`, "rules: [{ask: says, when: changed}]\n", {
        mode: 0o600
      })
      const attempt = Effect.map(Effect.result(call("says", {}, { caller })), (one) =>
        Result.isSuccess(one) ? "ran" : one.failure._tag)
      const answer = Effect.gen(function*() {
        const { list } = yield* ApprovalStore
        const waiting = (yield* list).find(({ state }) =>
          state === "pending"
        )
        yield* Effect.provideService(
          answerApproval(waiting?.id ?? "", caller),
          HumanGate,
          HumanGate.of({ ask: ({ digest, kind }) => Effect.succeed({ kind, digest, choice: "once", by: "terminal" }) })
        )
      })
      const started = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.provide(effect, kernelOf(place), { local: true })
      put("one")
      assert.deepStrictEqual(
        yield* started(Effect.gen(function*() {
          yield* accept
          const before = yield* attempt
          yield* answer
          return [before, yield* attempt, yield* attempt]
        })),
        ["ApprovalPending", "ran", "ran"]
      )
      assert.strictEqual(yield* started(attempt), "ran")
      put("two")
      assert.notStrictEqual(yield* started(attempt), "ran", "it is not signed")
      assert.strictEqual(yield* started(Effect.andThen(accept, attempt)), "ApprovalPending")
      put("one")
      assert.strictEqual(yield* started(Effect.andThen(accept, attempt)), "ran", "nobody has agreed to the other one")
      put("two")
      assert.deepStrictEqual(
        yield* started(Effect.gen(function*() {
          yield* accept
          const before = yield* attempt
          yield* answer
          return [before, yield* attempt, yield* attempt]
        })),
        ["ApprovalPending", "ran", "ran"]
      )
      put("one")
      assert.strictEqual(yield* started(Effect.andThen(accept, attempt)), "ApprovalPending", "it is swapped back")
    }).pipe(Effect.scoped))
})
