// Actions other than running a tool, that a rule asks about: the same requests, through the same door.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ApprovalNoticesMemory from "../../src/layers/approval/ApprovalNoticesMemory.ts"
import * as PermissionGateDefault from "../../src/layers/permission/PermissionGateDefault.ts"
import { answerApproval, withApproval } from "../../src/programs/approvals.ts"
import { execute } from "../../src/programs/execute.ts"
import { search } from "../../src/programs/search.ts"
import { ApprovalNotices } from "../../src/services/approval/ApprovalNotices.ts"
import { ApprovalStore } from "../../src/services/approval/ApprovalStore.ts"
import type { Action } from "../../src/services/permission/Action.ts"
import { PermissionGate } from "../../src/services/permission/PermissionGate.ts"
import { HumanDeclined, HumanGate, HumanRequired } from "../../src/services/trust/HumanAct.ts"
import { caller, entries, kernel } from "../layers/proxy/calls.ts"
import { directive, inputs } from "./items.ts"

const asksAbout = (tag: Action["_tag"]) =>
  Layer.succeed(
    PermissionGate,
    PermissionGate.of({
      decide: (by, action) =>
        Effect.map(PermissionGateDefault.make.decide(by, action), (decision) =>
          action._tag !== tag ? decision : {
            ...decision,
            asks: [{
              access: { _tag: "Plain", capability: "kiwi.ask" },
              rule: "project: ask",
              reason: "is asked about"
            }]
          })
    })
  )

const world = (tag: Action["_tag"]) =>
  kernel({ project: { "directives/greet.md": directive("greet", "Greets", inputs) }, replace: asksAbout(tag) })

const follow = (who: string) =>
  execute({ id: "greet", type: "directive", parameters: { who }, dryRun: false, callId: `c-${who}` }, caller)

/** A person who gives this answer. */
const answering = (choice: string) =>
  HumanGate.of({
    ask: ({ digest, kind }) => Effect.succeed({ kind, digest, choice, by: "terminal", seen: "at a desk" })
  })

const waiting = Effect.map(
  Effect.flatMap(ApprovalStore, ({ list }) => list),
  (all) => all.filter(({ state }) => state === "pending").map(({ id }) => id)
)

describe("a person is told that a request waits", () => {
  const shown = ["shown"]
  const request = { kind: "approve", title: "t", command: "c" } as const
  const cases: ReadonlyArray<readonly [string, HumanGate["Service"]["ask"], ReadonlyArray<string>]> = [
    ["at once, where nobody can be asked", () => Effect.fail(new HumanRequired(request)), ["shown", "not shown"]],
    [
      "later, by a client that repeats the call",
      () => Effect.fail(new HumanRequired({ ...request, asked: true })),
      shown
    ],
    ["later, where they close the question", () => Effect.fail(new HumanDeclined(request)), shown],
    ["later, where they answer it", answering("once").ask, shown]
  ]
  for (const [when, ask, expected] of cases) {
    it.effect(when, () =>
      Effect.gen(function*() {
        const told: Array<readonly [id: string, how: string]> = []
        const notices = ApprovalNoticesMemory.make((id, isShown) =>
          void told.push([id, isShown ? "shown" : "not shown"])
        )
        yield* Effect.exit(withApproval(follow("Ada"), caller, 0)).pipe(
          Effect.provideService(HumanGate, HumanGate.of({ ask })),
          Effect.provideService(ApprovalNotices, notices)
        )
        const { list } = yield* ApprovalStore
        const [one] = yield* list
        assert.deepStrictEqual(told, expected.map((how) => [one?.id ?? "", how]))
      }).pipe(Effect.provide(world("Follow"))))
  }

  it.effect("not, where nothing is asked", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      yield* withApproval(follow("Ada"), caller, 0).pipe(
        Effect.provideService(HumanGate, answering("once")),
        Effect.provideService(ApprovalNotices, ApprovalNoticesMemory.make((id) => void told.push(id)))
      )
      assert.deepStrictEqual(told, [])
    }).pipe(Effect.provide(world("Help"))))
})

describe("an action that a rule asks about", () => {
  it.effect("is done once after a person agreed to exactly it", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(follow("Ada")))._tag, "ApprovalPending")
      const [id = ""] = yield* waiting
      yield* Effect.provideService(answerApproval(id, caller), HumanGate, answering("once"))
      assert.strictEqual((yield* Effect.flip(follow("Eve")))._tag, "ApprovalPending")
      assert.strictEqual((yield* follow("Ada")).status, "ready")
      assert.strictEqual((yield* Effect.flip(follow("Ada")))._tag, "ApprovalPending")
      const results = (yield* entries).filter((entry) => entry.kind === "result")
      assert.deepStrictEqual(results.map(({ approval, outcome }) => [outcome, approval?.id === id, approval?.by]), [
        ["asked", true, undefined],
        ["asked", false, undefined],
        ["success", true, "at a desk"],
        ["asked", false, undefined]
      ])
      const acts = (yield* entries).flatMap((entry) => entry.kind === "act" ? [[entry.act, entry.outcome]] : [])
      assert.deepStrictEqual(acts, [["approve", "agreed"], ["approve", "done"]])
    }).pipe(Effect.provide(world("Follow"))))

  it.effect("is not done after a no", () =>
    Effect.gen(function*() {
      yield* Effect.flip(follow("Ada"))
      const [id = ""] = yield* waiting
      yield* Effect.provideService(answerApproval(id, caller), HumanGate, answering("no"))
      assert.strictEqual((yield* Effect.flip(follow("Ada")))._tag, "ApprovalRejected")
    }).pipe(Effect.provide(world("Follow"))))

  it.effect("may be one that only shows something", () =>
    Effect.gen(function*() {
      const look = search({ query: "greet" }, caller)
      assert.strictEqual((yield* Effect.flip(look))._tag, "ApprovalPending")
      const [id = ""] = yield* waiting
      yield* Effect.provideService(answerApproval(id, caller), HumanGate, answering("once"))
      assert.isNotEmpty(yield* look)
      assert.strictEqual((yield* Effect.flip(look))._tag, "ApprovalPending")
    }).pipe(Effect.provide(world("Search"))))

  it.effect("is done for nobody whose answer was not offered", () =>
    Effect.gen(function*() {
      yield* Effect.flip(follow("Ada"))
      const [id = ""] = yield* waiting
      for (const choice of ["always", "session", "yes", ""]) {
        const refused = Effect.flip(Effect.provideService(answerApproval(id, caller), HumanGate, answering(choice)))
        assert.strictEqual((yield* refused)._tag, "AnswerRefused", choice)
      }
    }).pipe(Effect.provide(world("Follow"))))
})
