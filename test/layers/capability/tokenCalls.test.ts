import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import type { Access } from "../../../src/services/capability/Access.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { Grant } from "../../../src/services/capability/Grant.ts"
import { Builtins } from "../../../src/services/primitive/Builtins.ts"
import type { ToolCall } from "../../../src/services/proxy/ToolCall.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import { call, entries, kernel, object, tool } from "../proxy/calls.ts"

const pay = tool({
  input_schema: object({ to: { type: "string", default: "mallory" }, amount: { type: "integer" } }),
  config: { command: "argv", args: ["{to}"], output: "json" }
})

const reads: Access = { _tag: "Path", capability: "fs.read", path: "src/a.ts" }

const world = kernel({
  project: {
    "tools/pay.yaml": pay,
    "tools/reads.yaml": tool({ requires: { capabilities: ["fs.read", "net.http"] }, config: { command: "argv" } })
  }
})

const as = (allow: ReadonlyArray<Grant>, item: string, parameters = {}, rest: Partial<ToolCall> = {}) =>
  Effect.gen(function*() {
    const tokens = yield* CapabilityTokens
    const token = yield* tokens.mint({ thread: "t1", directive: "d1", grants: { allow, deny: [] } })
    return yield* call(item, parameters, { thread: "t1", token, ...rest })
  })

const denial = (allow: ReadonlyArray<Grant>, item: string, parameters = {}) =>
  Effect.map(Effect.flip(as(allow, item, parameters)), (error) => {
    assert.deepInclude(error, { _tag: "PermissionDenied", rule: "token" })
    return error.message
  })

describe("a call with a token", () => {
  it.effect("runs what the token grants, and nothing beside it", () =>
    Effect.gen(function*() {
      yield* as([{ capability: "tool.pay" }], "pay", { amount: 1 })
      yield* as([{ capability: "tool.p*" }], "pay", { amount: 1 })
      yield* as([{ capability: "tool.*", scope: ["script"] }], "pay", { amount: 1 })
      assert.include(yield* denial([], "pay"), "tool.pay")
      yield* denial([{ capability: "tool.other" }], "pay")
      yield* denial([{ capability: "tool.*", scope: ["python"] }], "pay")
      yield* denial([{ capability: "fs.write" }], "pay")
    }).pipe(Effect.provide(world)))

  it.effect("is judged with the defaults of the tool's parameters", () =>
    Effect.gen(function*() {
      const only = (parameters: NonNullable<Grant["parameters"]>) => [{ capability: "tool.pay", parameters }]
      const ada = only({ to: { enum: ["ada"] }, amount: { maximum: 100 } })
      yield* as(ada, "pay", { to: "ada", amount: 5 })
      yield* denial(ada, "pay", { amount: 5 })
      yield* denial(ada, "pay", { to: "mallory", amount: 5 })
      yield* denial(ada, "pay", { to: "ada", amount: 500 })
      yield* denial(ada, "pay", { to: "ada" })
      yield* as(only({ to: { pattern: ["^a.a$"] } }), "pay", { to: "ada" })
      yield* denial(only({ to: { pattern: ["^a.a$"] } }), "pay", { to: "adam" })
      yield* denial(only({ to: { pattern: ["(a)\\1"] } }), "pay", { to: "aa" })
    }).pipe(Effect.provide(world)))

  it.effect("needs what the tool requires", () =>
    Effect.gen(function*() {
      const own: Grant = { capability: "tool.reads" }
      const message = yield* denial([own, { capability: "fs.read", scope: ["src/**"] }], "reads")
      assert.include(message, "net.http")
      assert.notInclude(message, "fs.read")
      yield* as([own, { capability: "fs.write", scope: ["src/**"] }, { capability: "net.http" }], "reads")
    }).pipe(Effect.provide(world)))

  it.effect("counts for its own thread, and is needed by every thread", () =>
    Effect.gen(function*() {
      const all = [{ capability: "tool.*" }]
      const other = yield* Effect.flip(as(all, "pay", {}, { thread: "t2" }))
      assert.deepInclude(other, { _tag: "TokenInvalid", why: "thread" })
      assert.deepInclude(yield* Effect.flip(call("pay", {}, { thread: "t1" })), { _tag: "TokenMissing", thread: "t1" })
      const forged = yield* Effect.flip(call("pay", {}, { thread: "t1", token: Redacted.make("a.b.c") }))
      assert.deepInclude(forged, { _tag: "TokenInvalid", why: "malformed" })
      yield* call("pay", { amount: 1 })
    }).pipe(Effect.provide(world)))

  it.effect("is in the audit by its jti, also if it was denied, and its text is nowhere", () =>
    Effect.gen(function*() {
      const tokens = yield* CapabilityTokens
      const token = yield* tokens.mint({ thread: "t1", directive: "d1", grants: { allow: [], deny: [] } })
      const { jti } = yield* tokens.verify(token, { thread: "t1" })
      yield* Effect.flip(call("pay", {}, { thread: "t1", token }))
      yield* Effect.flip(call("pay", {}, { thread: "t2", token }))
      const written = yield* entries
      assert.deepInclude(written[1], { kind: "result", outcome: "denied", rule: "token", jti })
      assert.deepInclude(written[3], {
        kind: "result",
        outcome: "denied",
        error: {
          code: "TOKEN_INVALID",
          message: `The capability token ${jti} does not count: it belongs to another thread`
        }
      })
      const [, payload = "", signature = ""] = Redacted.value(token).split(".")
      const text = JSON.stringify(yield* (yield* AuditLog).read())
      assert.notInclude(text, payload)
      assert.notInclude(text, signature)
    }).pipe(Effect.provide(world)))

  it.effect("is checked before anything else is read", () =>
    Effect.gen(function*() {
      const proxy = yield* ToolProxy
      assert.deepStrictEqual(proxy.steps.slice(0, 3), ["auditRequest", "watchOutcome", "authenticateToken"])
      const error = yield* Effect.flip(call("no_such_tool", {}, { thread: "t1" }))
      assert.strictEqual(error._tag, "TokenMissing")
    }).pipe(Effect.provide(world)))
})

describe("a system tool that says what it touches", () => {
  const looking = kernel({
    items: {
      "tools/acme/look.yaml": tool({ tool_type: "builtin", executor_id: "builtin", config: { handler: "look" } })
    },
    replace: Layer.succeed(
      Builtins,
      Builtins.of({
        handlers: new Map([["look", {
          accesses: () => Effect.succeed([reads]),
          run: ({ mayAlso }) =>
            Effect.map(
              mayAlso?.({ ...reads, path: "lib/b.ts" }) ?? Effect.succeed("allowed"),
              (data) => ({ data, metadata: {} })
            )
        }]])
      })
    )
  })
  it.effect("needs grants for that alone, and asks them about what it finds on its way", () =>
    Effect.gen(function*() {
      const { data } = yield* as([{ capability: "fs.read", scope: ["src/**"] }], "look")
      assert.strictEqual(data, "denied")
      assert.strictEqual((yield* as([{ capability: "fs.read", scope: ["**"] }], "look")).data, "allowed")
      assert.include(yield* denial([{ capability: "fs.read", scope: ["lib/**"] }], "look"), "fs.read(src/a.ts)")
      assert.include(yield* denial([{ capability: "tool.look" }], "look"), "fs.read(src/a.ts)")
    }).pipe(Effect.provide(looking)))
})
