// Calls while the disk of the audit, or that of Kiwi's own folder, is full, and when there is space again.
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Kernel from "../../../src/layers/Kernel.ts"
import type { ApprovalAnswer } from "../../../src/services/approval/Approval.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { KiwiError } from "../../../src/services/error/KiwiError.ts"
import { PermissionGate } from "../../../src/services/permission/PermissionGate.ts"
import { RememberedRules } from "../../../src/services/permission/RememberedRules.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../support/realParts.ts"
import { temporary } from "../../support/temporary.ts"
import { trustProject } from "../../support/trustWorld.ts"
import { agent, agreeTo, writes } from "./approvalRequest.ts"

const tool = `tool_id: deploy
version: "1.0.0"
tool_type: builtin
executor_id: builtin
category: acme
description: "Deploys"
config: { handler: deploy }
input_schema: { type: object, properties: { place: { type: string }, filler: { type: string } } }
`

const gate = PermissionGate.of({ decide: () => Effect.succeed({ rule: "asks", asks: [writes("src/a.ts")] }) })
const free = PermissionGate.of({ decide: () => Effect.succeed({ rule: "lets", asks: [] }) })

/** A project and a home, one of which has a disk of its own: `.ai/logs` or `home`. */
const world = Effect.fnUntraced(function*(own: "project/.ai/logs" | "home", how = gate) {
  const folder = yield* temporary
  for (const name of ["project/.ai/logs", "home"]) fs.mkdirSync(join(folder, name), { recursive: true, mode: 0o700 })
  const disk = join(folder, own)
  yield* Effect.acquireRelease(
    Effect.sync(() => execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", disk])),
    () => Effect.sync(() => execFileSync("umount", ["-l", disk]))
  )
  const ran: Array<string> = []
  const layer = Kernel.layer({
    project: join(folder, "project"),
    home: join(folder, "home"),
    userSpace: join(folder, "user"),
    items: { "tools/acme/deploy.yaml": tool },
    builtins: new Map([["deploy", ({ parameters }) =>
      Effect.sync(() => {
        ran.push(String((parameters as { place?: unknown }).place))
        return { data: null, metadata: {} }
      })]]),
    replace: Layer.succeed(PermissionGate, how)
  })
  const services = yield* Layer.build(Layer.fresh(layer))
  yield* Effect.provide(trustProject, services)
  const filler = join(disk, "filler")
  return {
    ran,
    services,
    fill: () => {
      const fd = fs.openSync(filler, "w")
      try {
        for (;;) fs.writeSync(fd, Buffer.alloc(1024))
      } catch {
        fs.closeSync(fd)
      }
    },
    empty: () => fs.rmSync(filler)
  }
})

let count = 0
const call = (place: string, filler = "", dryRun = false) =>
  Effect.flatMap(ToolProxy, (proxy) =>
    proxy.call({
      callId: `c${count++}`,
      caller: agent,
      item: "acme/deploy",
      parameters: { place, filler },
      dryRun
    }))

/** Uses up what is left of the file's last page. */
const untilRefused = Effect.repeat(Effect.result(call("", "", true)), { until: (result) => result._tag === "Failure" })

const list = Effect.flatMap(ApprovalStore, (store) => store.list)

/** The id of the request that a call has filed. */
const file = (place: string) =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(call(place))
    assert.strictEqual(error._tag, "ApprovalPending", error.message)
    return (yield* list).at(-1)!.id
  })

const answer = Effect.fnUntraced(function*(id: string, choice: ApprovalAnswer) {
  const store = yield* ApprovalStore
  const { question } = yield* store.propose(id)
  return yield* store.answer(id, agreeTo(question, choice))
})

const saysFull = <A, R>(effect: Effect.Effect<A, KiwiError, R>) =>
  Effect.map(Effect.flip(effect), ({ _tag, message, remediation }) => {
    assert.include(message, "the disk is full")
    assert.match(remediation ?? "", /[Ff]ree some disk space/)
    return _tag
  })

const states = Effect.map(list, (all) => all.map(({ state }) => state))

const isWhole = Effect.gen(function*() {
  assert.deepStrictEqual((yield* (yield* AuditLog).verify).problems, [])
})

describeWith(["tinyDisk"], "calls on a full disk", () => {
  it.live("are refused where the audit is, use up no answer, and come back", () =>
    Effect.gen(function*() {
      const { empty, fill, ran, services } = yield* world("project/.ai/logs")
      yield* Effect.gen(function*() {
        yield* answer(yield* file("here"), "once")
        fill()
        yield* untilRefused
        for (let i = 0; i < 3; i++) assert.strictEqual(yield* saysFull(call("here")), "AuditUnavailable")
        assert.strictEqual(yield* saysFull(call("elsewhere")), "AuditUnavailable")
        assert.deepStrictEqual([yield* states, ran], [["approved"], []])
        empty()
        assert.strictEqual((yield* call("here")).status, "success")
        assert.strictEqual((yield* Effect.flip(call("here")))._tag, "ApprovalPending")
        assert.deepStrictEqual([yield* states, ran], [["spent", "pending"], ["here"]])
        yield* isWhole
      }).pipe(Effect.provide(services))
    }).pipe(Effect.scoped))

  it.live("are refused as long as it is full, however often that happens, and each that ran is in the audit", () =>
    Effect.gen(function*() {
      const { empty, fill, ran, services } = yield* world("project/.ai/logs", free)
      yield* Effect.gen(function*() {
        let refused = 0
        for (let round = 0; round < 20; round++) {
          if (round % 2 === 1) fill()
          // Of any length: the line of some fits into what is left, and their result does not.
          for (let i = 0; i < 12; i++) {
            const result = yield* Effect.result(call(`${round}-${i}`, "x".repeat(round * 7 + i * 31)))
            if (result._tag === "Failure") refused++
            if (result._tag === "Failure") assert.strictEqual(result.failure._tag, "AuditUnavailable")
          }
          if (round % 2 === 1) empty()
        }
        assert.isAtLeast(refused, 40)
        assert.strictEqual((yield* call("last")).status, "success")
        const entries = yield* Stream.runCollect((yield* AuditLog).stream())
        const requested = new Set(
          entries.flatMap(({ entry }) =>
            entry.kind === "request" ? String((entry.parameters as { place?: unknown }).place) : []
          )
        )
        assert.deepStrictEqual(ran.filter((place) => !requested.has(place)), [])
        assert.strictEqual(ran.length + refused, 20 * 12 + 1)
        yield* isWhole
      }).pipe(Effect.provide(services))
    }).pipe(Effect.scoped))

  it.live("ask nobody and use no answer where requests, rules and tokens are kept, and lose none of them", () =>
    Effect.gen(function*() {
      const { empty, fill, ran, services } = yield* world("home")
      yield* Effect.gen(function*() {
        const remembered = yield* RememberedRules
        const tokens = yield* CapabilityTokens
        const bearer = { thread: "t", directive: "d" }
        const token = yield* tokens.mint({ ...bearer, grants: { allow: [], deny: [] }, budget: { turns: 9 } })
        const claims = yield* tokens.verify(token, bearer)
        yield* tokens.spend(claims, { turns: 1 })
        yield* answer(yield* file("here"), "once")
        const waits = yield* file("there")
        fill()

        assert.strictEqual(yield* saysFull(call("here")), "ApprovalsUnavailable")
        assert.strictEqual(yield* saysFull(call("elsewhere")), "ApprovalsUnavailable")
        assert.strictEqual(yield* saysFull(answer(waits, "once")), "ApprovalsUnavailable")
        assert.strictEqual(yield* saysFull(answer(waits, "no")), "ApprovalsUnavailable")
        assert.strictEqual(yield* saysFull(answer(waits, "always")), "WriteRefused")
        assert.strictEqual(yield* saysFull(tokens.spend(claims, { turns: 1 })), "TokensUnavailable")
        assert.strictEqual(yield* saysFull(tokens.revoke(claims.jti)), "TokensUnavailable")
        assert.deepStrictEqual([yield* states, ran], [["approved", "pending"], []])
        assert.deepStrictEqual(yield* remembered.current, [])
        assert.deepStrictEqual(yield* tokens.spent(claims.jti), { turns: 1 })

        empty()
        assert.strictEqual((yield* call("here")).status, "success")
        yield* answer(waits, "always")
        assert.strictEqual((yield* call("there")).status, "success")
        yield* tokens.spend(claims, { turns: 8 })
        assert.strictEqual((yield* Effect.flip(tokens.spend(claims, { turns: 1 })))._tag, "BudgetExceeded")
        assert.deepStrictEqual([yield* states, ran], [["spent", "spent"], ["here", "there"]])
        assert.deepStrictEqual((yield* remembered.current).map(({ rule }) => rule), ["allow: fs.write(src/**)"])
        yield* isWhole
      }).pipe(Effect.provide(services))
    }).pipe(Effect.scoped))
})
