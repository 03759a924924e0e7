// A call that a tool makes is put to the same person as the tool's own, and says which tool makes it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as PermissionGateDefault from "../../src/layers/permission/PermissionGateDefault.ts"
import type { Program } from "../../src/layers/process/ChildProcessesMemory.ts"
import { answerApproval, withApproval } from "../../src/programs/approvals.ts"
import { ApprovalStore } from "../../src/services/approval/ApprovalStore.ts"
import { PermissionGate } from "../../src/services/permission/PermissionGate.ts"
import type { HumanRequest } from "../../src/services/trust/HumanAct.ts"
import { HumanGate, HumanRequired } from "../../src/services/trust/HumanAct.ts"
import { call, caller, entries, kernel, tool } from "../layers/proxy/calls.ts"
import { writing } from "./askingKernel.ts"

const gate = PermissionGate.of({
  decide: (by, action) =>
    Effect.map(
      PermissionGateDefault.make.decide(by, action),
      (decision) =>
        action._tag === "Run" && action.chain.leaf.tool.location.id === "save"
          ? { ...decision, asks: [writing("src/a.ts")] }
          : decision
    )
})

const outer: Program = ({ connection }) =>
  Effect.gen(function*() {
    yield* connection!.write(`{"jsonrpc":"2.0","id":1,"method":"execute","params":{"item_id":"save"}}\n`)
    return { stdout: new TextDecoder().decode(yield* connection!.read) }
  })

const world = (ran: { outer: number; save: number }) =>
  kernel({
    project: {
      "tools/outer.yaml": tool({ config: { command: "outer", output: "json", calls: ["tool.save"] } }),
      "tools/save.yaml": tool({ config: { command: "save" } })
    },
    programs: {
      outer: (start) => Effect.suspend(() => (ran.outer++, outer(start))),
      save: () => Effect.sync(() => (ran.save++, { stdout: "saved" }))
    },
    replace: Layer.succeed(PermissionGate, gate)
  })

const dataOf = (wait: number) =>
  Effect.map(
    withApproval(call("outer", {}, { callId: "outer" }), caller, wait),
    ({ data }) =>
      data as unknown as {
        readonly result?: { data: string }
        readonly error?: { readonly data: { readonly code: string } }
      }
  )

const answering = (choice: string, seen: Array<HumanRequest> = []) =>
  HumanGate.of({
    ask: (request) => {
      seen.push(request)
      const { digest, kind } = request
      return Effect.succeed({ kind, digest, choice, by: "terminal", seen: "at a desk" })
    }
  })

const nobody = (asked: boolean) =>
  HumanGate.of({
    ask: ({ command, kind, title }) =>
      Effect.fail(new HumanRequired({ kind, title, command, ...(asked ? { asked: true as const } : {}) }))
  })

describe("a call that a tool makes and a rule asks about", () => {
  it.effect("is asked about on the same surface, while the tool waits, and names the tool", () => {
    const ran = { outer: 0, save: 0 }
    const seen: Array<HumanRequest> = []
    return Effect.gen(function*() {
      const { result } = yield* Effect.provideService(dataOf(0), HumanGate, answering("once", seen))
      assert.strictEqual(result?.data, "saved")
      assert.deepStrictEqual(ran, { outer: 1, save: 1 })
      assert.strictEqual(seen.length, 1)
      assert.include(JSON.stringify(seen[0]), "Called by: outer")
      const parents = (yield* entries).flatMap((entry) => entry.kind === "request" ? [entry.parent] : [])
      assert.deepStrictEqual(parents, [undefined, "outer", "outer"])
    }).pipe(Effect.provide(world(ran)))
  })

  it.effect("is not run after a no, and the tool learns that", () => {
    const ran = { outer: 0, save: 0 }
    return Effect.gen(function*() {
      const { error } = yield* Effect.provideService(dataOf(0), HumanGate, answering("no"))
      assert.match(error?.data.code ?? "", /APPROVAL_(?:REJECTED|PENDING)/)
      assert.deepStrictEqual(ran, { outer: 1, save: 0 })
    }).pipe(Effect.provide(world(ran)))
  })

  for (const asked of [false, true]) {
    it.effect(`waits for another surface where this one ${asked ? "would repeat the call" : "has nobody"}`, () => {
      const ran = { outer: 0, save: 0 }
      return Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.provideService(dataOf(40_000), HumanGate, nobody(asked)))
        const store = yield* ApprovalStore
        let id: string | undefined
        while (id === undefined) {
          yield* TestClock.adjust("500 millis")
          id = (yield* store.list)[0]?.id
        }
        yield* Effect.provideService(answerApproval(id, caller), HumanGate, answering("once"))
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(fiber)).result?.data, "saved")
        assert.deepStrictEqual(ran, { outer: 1, save: 1 })
      }).pipe(Effect.provide(world(ran)))
    })
  }

  it.effect("is pending for the tool if nobody answers, and an answer to it is not one to the same call by somebody else", () => {
    const ran = { outer: 0, save: 0 }
    return Effect.gen(function*() {
      const { error } = yield* Effect.provideService(dataOf(0), HumanGate, nobody(false))
      assert.strictEqual(error?.data.code ?? "", "APPROVAL_PENDING")
      const [waiting] = yield* Effect.flatMap(ApprovalStore, ({ list }) => list)
      yield* Effect.provideService(answerApproval(waiting!.id, caller), HumanGate, answering("once"))
      assert.strictEqual((yield* Effect.flip(call("save")))._tag, "ApprovalPending")
      assert.strictEqual(ran.save, 0)
      const again = yield* Effect.provideService(dataOf(0), HumanGate, nobody(false))
      assert.strictEqual(again.result?.data, "saved")
    }).pipe(Effect.provide(world(ran)))
  })
})
