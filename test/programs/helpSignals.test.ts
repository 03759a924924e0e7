import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import { signalHelp } from "../../src/programs/helpSignals.ts"
import { settleHelp } from "../../src/programs/inbox.ts"
import { handlers } from "../../src/programs/mcp/toolHandlers.ts"
import { Interventions } from "../../src/services/limit/Interventions.ts"
import { HumanGate } from "../../src/services/trust/HumanAct.ts"
import { caller, entries, kernel } from "../layers/proxy/calls.ts"

const noHuman = HumanGate.of({ ask: () => Effect.die("nobody is asked") })
const waiting = Effect.flatMap(Interventions, (one) => one.waiting)
const stuck = (more: object = {}) => signalHelp({ action: "stuck", reason: "it fails", ...more }, caller)

describe("help's signals", () => {
  it.effect("stuck: three times to try again, then a person is told, and from six on it is urgent", () =>
    Effect.gen(function*() {
      for (let i = 0; i < 3; i++) {
        const { suggestion, ...answer } = { suggestion: "", ...yield* stuck({ sessionId: `renamed-${i}` }) }
        assert.deepStrictEqual(answer as object, {
          status: "stuck_acknowledged",
          action: "retry_suggested",
          session_id: `renamed-${i}`
        })
        assert.isNotEmpty(suggestion)
      }
      assert.deepStrictEqual(yield* waiting, [])
      assert.deepInclude(yield* stuck({ attempts: 0 }), { action: "awaiting_intervention", session_id: "one" })
      assert.deepInclude((yield* waiting)[0], { kind: "stuck", attempts: 4, priority: "normal", reason: "it fails" })
      yield* stuck()
      yield* stuck()
      assert.deepInclude((yield* waiting)[0], { attempts: 6, priority: "high" })
      assert.lengthOf(yield* waiting, 1)
    }).pipe(Effect.provide(kernel())))

  it.effect("stuck: what the caller counts raises the number", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* stuck({ attempts: 4 }), { action: "awaiting_intervention" })
    }).pipe(Effect.provide(kernel())))

  const ask = (reason: string, by = caller) =>
    signalHelp({ action: "escalate", reason, options: ["Postgres", "SQLite"] }, by)
  const sayIt = (said?: string) =>
    Effect.gen(function*() {
      const [one] = yield* waiting
      return yield* settleHelp(one?.id ?? "", caller, said)
    }).pipe(Effect.provideService(
      HumanGate,
      HumanGate.of({ ask: ({ digest, kind }) => Effect.succeed({ kind, digest, by: "terminal" }) })
    ))
  const other = { ...caller, session: "two" }

  for (
    const [said, told] of [["2", "SQLite"], ["1", "Postgres"], ["3", "3"], ["0", "0"], ["neither", "neither"]] as const
  ) {
    for (const [reason, by] of [["Which?", caller], ["", caller], ["Which?", other]] as const) {
      it.effect(`escalate: "${said}" is told once, to "${reason}" in session ${by.session}, as "${told}"`, () =>
        Effect.gen(function*() {
          yield* ask("Which?")
          assert.strictEqual(yield* sayIt(said), told)
          assert.deepStrictEqual(yield* waiting, [])
          assert.deepInclude(yield* ask("Another?", { ...caller, client: "eve" }), { status: "escalated" })
          assert.deepInclude(yield* ask(reason, by), { status: "answered", answer: told })
          assert.notInclude(JSON.stringify(yield* ask(reason, by)), "answered")
        }).pipe(Effect.provide(kernel())))
    }
  }

  it.effect("escalate: asked again while it waits it is the same, and without a reason it is none", () =>
    Effect.gen(function*() {
      yield* ask("Which?")
      yield* ask("Which?")
      assert.deepInclude(yield* ask(""), { status: "not_escalated" })
      assert.deepInclude(yield* ask("  "), { status: "not_escalated" })
      assert.lengthOf(yield* waiting, 1)
    }).pipe(Effect.provide(kernel())))

  for (const [reason, by] of [["Which?", caller], ["", caller], ["Which?", other]] as const) {
    it.effect(`escalate: taken off the list without words is told once, to "${reason}" in session ${by.session}`, () =>
      Effect.gen(function*() {
        yield* ask("Which?")
        yield* sayIt()
        assert.deepStrictEqual(yield* waiting, [])
        assert.deepInclude(yield* ask("Another?"), { status: "escalated" })
        assert.deepInclude(yield* ask(reason, by), { status: "closed", action: "go_on_without" })
        assert.lengthOf(yield* waiting, 1)
        assert.notInclude(JSON.stringify(yield* ask(reason, by)), "closed")
      }).pipe(Effect.provide(kernel())))
  }

  it.effect("stuck: taken off the list without words leaves nothing to take", () =>
    Effect.gen(function*() {
      yield* stuck({ attempts: 6 })
      yield* sayIt()
      assert.deepStrictEqual(yield* waiting, [])
      assert.deepInclude(yield* ask(""), { status: "not_escalated" })
    }).pipe(Effect.provide(kernel())))

  const counts: ReadonlyArray<readonly [attempts: Schema.Json, told: number | "wrong" | "no"]> = [
    [4, 4],
    ["4", 4],
    ["4 times", 4],
    ["I tried 5 times", 5],
    ["999999999999", 1_000_000],
    ["twice", "no"],
    ["", "no"],
    [["npm test", "npm ci", "npm i", "node --test"], 4],
    [[{ what: "a" }, { what: "b" }, 3, null, []], 5],
    [[], "no"],
    [-1, "wrong"],
    [1.5, "wrong"],
    [{ count: 4 }, "wrong"],
    [null, "wrong"],
    [true, "wrong"]
  ]
  for (const [attempts, told] of counts) {
    it.effect(`stuck: attempts as ${JSON.stringify(attempts)}`, () =>
      Effect.gen(function*() {
        const decoded = handlers.help({ action: "stuck", reason: "it fails", attempts }, { caller, callId: "c1" })
        assert.strictEqual(Result.isFailure(decoded), told === "wrong")
        if (Result.isFailure(decoded)) return
        yield* decoded.success.run
        assert.deepStrictEqual((yield* waiting).map((one) => one.attempts), told === "no" ? [] : [told as number])
      }).pipe(Effect.provideService(HumanGate, noHuman), Effect.provide(kernel())))
  }

  it.effect("escalate: a person is told at once, and the audit has who said what", () =>
    Effect.gen(function*() {
      const answer = yield* signalHelp(
        { action: "escalate", reason: "Which?", options: ["a", "b"], context: { api_key: "k-12345678" } },
        caller
      )
      const [one] = yield* waiting
      assert.deepInclude(answer, { status: "escalated", approval_id: one?.id ?? "", action: "awaiting_human_decision" })
      assert.include(JSON.stringify(answer), `kiwi inbox --done ${one?.id} --say TEXT`)
      assert.deepInclude(one, { kind: "escalation", options: ["a", "b"], client: "tester" })
      const [asked, told] = yield* entries
      assert.deepInclude(asked, { kind: "request", operation: "help escalate" })
      assert.notInclude(JSON.stringify([asked, one]), "k-12345678")
      assert.deepInclude(told, { kind: "result", outcome: "success", rule: "all-may-ask-for-help" })
    }).pipe(Effect.provide(kernel())))
})
