import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted, Result } from "effect"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import type { CommandAccess, PathAccess } from "../../../src/services/capability/Access.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { Grant, GrantSet } from "../../../src/services/capability/Grant.ts"
import { Builtins } from "../../../src/services/primitive/Builtins.ts"
import type { ToolCall } from "../../../src/services/proxy/ToolCall.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import { kernelOf, realProject } from "../../support/realProject.ts"
import { trustProject } from "../../support/trustWorld.ts"
import { call, entries, kernel, object, tool } from "../proxy/calls.ts"

const pay = tool({
  input_schema: object({ to: { type: "string", default: "mallory" }, amount: { type: "integer" } }),
  config: { command: "argv", args: ["{to}"], output: "json" }
})

const reads: PathAccess = { _tag: "Path", capability: "fs.read", path: "src/a.ts" }

/** A command with the files that it opens by its arguments, as `shell.run` says it. */
const command = (text: string, ...opens: ReadonlyArray<Partial<PathAccess>>): readonly [string, CommandAccess] => [
  text,
  {
    _tag: "Command",
    capability: "process.exec",
    words: text.split(" "),
    text,
    opens: opens.map((one) => Object.assign({}, reads, one))
  }
]

const commands = Object.fromEntries([
  command("pwd"),
  command("cat src/a.ts", {}),
  command("cat secret/x", { path: "secret/x" }),
  command("cat src/a.ts secret/x", {}, { path: "secret/x" }),
  command("ls", { path: "." }),
  command("ls -R", { path: ".", below: true }),
  command("ls -R src", { path: "src", below: true }),
  command("git grep key", { path: ".", below: true }),
  command("mkdir secret/y", { capability: "fs.write", path: "secret/y" })
])

const world = kernel({
  project: {
    "tools/pay.yaml": pay,
    "tools/reads.yaml": tool({ requires: { capabilities: ["fs.read", "net.http"] }, config: { command: "argv" } })
  }
})

const within = (grants: GrantSet, item: string, parameters = {}, rest: Partial<ToolCall> = {}) =>
  Effect.gen(function*() {
    const tokens = yield* CapabilityTokens
    const token = yield* tokens.mint({ thread: "t1", directive: "d1", grants })
    return yield* call(item, parameters, { thread: "t1", token, ...rest })
  })

const as = (allow: ReadonlyArray<Grant>, item: string, parameters = {}, rest: Partial<ToolCall> = {}) =>
  within({ allow, deny: [] }, item, parameters, rest)

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
      "tools/acme/look.yaml": tool({ tool_type: "builtin", executor_id: "builtin", config: { handler: "look" } }),
      "tools/acme/shell.yaml": tool({
        tool_type: "builtin",
        executor_id: "builtin",
        input_schema: object({ text: { type: "string" } }, "text"),
        config: { handler: "shell" }
      })
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
        }], ["shell", {
          accesses: ({ parameters }) => Effect.succeed([commands[String(parameters["text"])]!]),
          run: () => Effect.succeed({ data: "ran", metadata: {} })
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

  const exec: Grant = { capability: "process.exec" }
  const src: Grant = { capability: "fs.read", scope: ["src/**"] }
  const all: Grant = { capability: "fs.read", scope: ["**"] }
  const secret: Grant = { capability: "fs.read", scope: ["secret/**"] }
  const keys: Grant = { capability: "fs.read", scope: ["**/*.key"] }
  const rows: ReadonlyArray<
    readonly [text: string, allow: ReadonlyArray<Grant>, deny: ReadonlyArray<Grant>, missing?: string]
  > = [
    ["pwd", [exec], []],
    ["cat src/a.ts", [exec], [], "fs.read(src/a.ts)"],
    ["cat src/a.ts", [exec, src], [secret]],
    ["cat secret/x", [exec, src], [], "fs.read(secret/x)"],
    ["cat secret/x", [exec, all], [secret], "fs.read(secret/x)"],
    ["cat secret/x", [exec, all], [{ capability: "fs.read" }], "fs.read(secret/x)"],
    ["cat src/a.ts secret/x", [exec, all], [secret], "fs.read(secret/x)"],
    ["mkdir secret/y", [exec, all], [], "fs.write(secret/y)"],
    [
      "mkdir secret/y",
      [exec, { capability: "fs.write" }],
      [{ capability: "fs.write", scope: ["secret/**"] }],
      "fs.write"
    ],
    ["ls", [exec, { capability: "fs.read", scope: ["."] }], [secret]],
    ["ls -R", [exec, all], []],
    ["ls -R", [exec, { capability: "fs.read", scope: ["."] }], [], "fs.read(.)"],
    ["ls -R", [exec, all], [secret], "fs.read(.)"],
    ["ls -R src", [exec, all], [secret]],
    ["ls -R src", [exec, src], []],
    ["ls -R src", [exec, { capability: "fs.read", scope: ["src"] }], [], "fs.read(src)"],
    ["ls -R src", [exec, { capability: "fs.read", scope: ["src", "**"] }], [], "fs.read(src)"],
    ["ls -R src", [exec, src], [keys], "fs.read(src)"],
    ["git grep key", [exec, { capability: "fs.read" }], []],
    ["git grep key", [exec, { capability: "fs.read" }], [secret], "fs.read(.)"],
    ["git grep key", [exec, { capability: "fs.read" }], [{ capability: "fs.read", scope: ["/etc/**"] }]]
  ]
  it.effect("needs grants for the files that its command opens, and for all of a folder", () =>
    Effect.gen(function*() {
      for (const [text, allow, deny, missing] of rows) {
        const ran = yield* Effect.result(within({ allow, deny }, "shell", { text }))
        const why = `${text} with ${JSON.stringify(allow)} without ${JSON.stringify(deny)}`
        if (missing === undefined) assert.isTrue(Result.isSuccess(ran), why)
        else {
          assert.isTrue(Result.isFailure(ran), why)
          if (Result.isFailure(ran)) assert.include(ran.failure.message, missing, why)
        }
      }
    }).pipe(Effect.provide(looking)))
})

describe("a tool of Kiwi", () => {
  const files: Grant = { capability: "fs.read", scope: ["**"] }
  const path = { path: "a.txt" }
  let sessions = 0
  /** A session of its own: what was refused often is refused for that. */
  const alone = () => ({ caller: { surface: "embed", client: "ada", session: `s${sessions++}` } }) as const
  const real = <A, E, R>(body: Effect.Effect<A, E, R>) =>
    Effect.gen(function*() {
      const project = yield* realProject({ "a.txt": "one\n" })
      return yield* Effect.provide(Effect.andThen(trustProject, body), kernelOf(project))
    })

  it.live("is refused by a denial of the tool itself, however that names it", () =>
    real(Effect.gen(function*() {
      const read = (allow: ReadonlyArray<Grant>, no: Grant) =>
        Effect.result(within({ allow, deny: [no] }, "filesystem.read", path, alone()))
      for (
        const no of [
          { capability: "tool.filesystem.read" },
          { capability: "tool.*" },
          { capability: "tool.filesystem.*" },
          { capability: "tool.filesystem.r*" },
          { capability: "tool.*", scope: ["builtin"] },
          { capability: "tool.*", scope: ["built*"] },
          { capability: "tool.filesystem.read", scope: ["*"] }
        ]
      ) {
        for (
          const allow of [[files], [files, { capability: "tool.filesystem.read" }], [files, { capability: "tool.*" }]]
        ) {
          const refused = yield* read(allow, no)
          const why = `${JSON.stringify(no)} beside ${JSON.stringify(allow)}`
          if (Result.isSuccess(refused)) return assert.fail(why)
          assert.deepInclude(refused.failure, { _tag: "PermissionDenied", rule: "token" }, why)
          assert.include(refused.failure.message, "tool.filesystem.read", why)
        }
      }
      for (const no of [{ capability: "tool.filesystem.write" }, { capability: "tool.*", scope: ["python"] }]) {
        assert.isTrue(Result.isSuccess(yield* read([files], no)), JSON.stringify(no))
      }
    })))

  const only = (name: string, capability = "tool.filesystem.read"): Grant => ({
    capability,
    parameters: { path: { enum: [name] } }
  })
  const builtin = ["builtin"]
  const bounds: ReadonlyArray<readonly [tools: ReadonlyArray<Grant>, runs: boolean, childRuns: boolean]> = [
    [[], true, true],
    [[only("a.txt")], true, false],
    [[only("b.txt")], false, false],
    [[only("b.txt", "tool.filesystem.re*")], false, false],
    [[only("b.txt", "tool.*")], false, false],
    [[{ ...only("b.txt", "tool.*"), scope: builtin }], false, false],
    [[{ ...only("b.txt", "tool.*"), scope: ["python"] }], true, true],
    [[{ capability: "tool.filesystem.read", parameters: { path: { pattern: ["^b"] } } }], false, false],
    [[{ capability: "tool.filesystem.read", parameters: { path: { pattern: ["^a"] } } }], true, false],
    [[{ capability: "tool.filesystem.read", parameters: { other: { type: "string" } } }], false, false],
    [[{ capability: "tool.filesystem.read", parameters: { limit: { maximum: 10 } } }], false, false],
    [[only("b.txt"), only("a.txt")], true, false],
    [[only("b.txt"), { capability: "tool.filesystem.*" }], true, true],
    [[only("b.txt"), { capability: "tool.*", scope: builtin }], true, false],
    [[only("b.txt", "tool.filesystem.write")], true, true]
  ]
  it.live("has to fit a grant that constrains its parameters, also for a child that did not ask for that grant", () =>
    real(Effect.gen(function*() {
      const tokens = yield* CapabilityTokens
      const descend = (grants: GrantSet, request: ReadonlyArray<Grant>) =>
        Effect.gen(function*() {
          let token = yield* tokens.mint({ thread: "t0", directive: "d0", grants })
          let thread = "t0"
          for (const child of ["t1", "t2"]) {
            const options = { thread: child, directive: "d1", request: { allow: request, deny: [] } }
            token = yield* tokens.attenuate(token, { thread }, options)
            thread = child
          }
          return yield* Effect.result(call("filesystem.read", path, { thread, token, ...alone() }))
        })
      for (const [tools, runs, childRuns] of bounds) {
        const allow = [files, ...tools]
        const ran = yield* Effect.result(as(allow, "filesystem.read", path, alone()))
        assert.strictEqual(Result.isSuccess(ran), runs, JSON.stringify(tools))
        const below = yield* descend({ allow, deny: [] }, [files])
        assert.strictEqual(Result.isSuccess(below), childRuns, `a child of ${JSON.stringify(tools)}`)
        assert.strictEqual(Result.isSuccess(yield* descend({ allow, deny: [] }, allow)), runs, JSON.stringify(tools))
      }
    })))
})

describe("the request of a call, before anything of it is done", () => {
  const rows = [
    ["without thread and token", {}, {}],
    ["with a token", { allow: [{ capability: "tool.*" }] }, { thread: "t1", jti: true }],
    ["that the token does not grant", { allow: [] }, { thread: "t1", jti: true }],
    ["of another thread", { allow: [{ capability: "tool.*" }], as: "t2" }, { thread: "t2", jti: false }],
    ["with a forged token", { text: "a.b.c" }, { thread: "t1", jti: false }],
    ["with an expired token", { allow: [{ capability: "tool.*" }], life: 0 }, { thread: "t1", jti: false }],
    ["with a revoked token", { allow: [{ capability: "tool.*" }], revoked: true }, { thread: "t1", jti: false }],
    ["of a thread without its token", { as: "t3" }, { thread: "t3", jti: false }],
    ["with a token, as a dry run", { allow: [{ capability: "tool.*" }], dryRun: true }, { thread: "t1", jti: true }],
    ["of a tool that is not there", { allow: [], item: "nothing" }, { thread: "t1", jti: true }]
  ] as const satisfies ReadonlyArray<
    readonly [string, {
      readonly allow?: ReadonlyArray<Grant>
      readonly as?: string
      readonly text?: string
      readonly life?: number
      readonly revoked?: boolean
      readonly dryRun?: boolean
      readonly item?: string
    }, { readonly thread?: string; readonly jti?: boolean }]
  >
  for (const [title, given, expected] of rows) {
    it.effect(`${title} names its thread and the token that counts`, () =>
      Effect.gen(function*() {
        const { allow, as: thread, dryRun, item, life, revoked, text }: {
          allow?: ReadonlyArray<Grant>
          as?: string
          dryRun?: boolean
          item?: string
          life?: number
          revoked?: boolean
          text?: string
        } = given
        const tokens = yield* CapabilityTokens
        const token = yield* tokens.mint({
          thread: "t1",
          directive: "d1",
          grants: { allow: allow ?? [], deny: [] },
          ...(life === undefined ? {} : { life: Duration.seconds(life) })
        })
        const jti = Result.getOrUndefined(yield* Effect.result(tokens.verify(token, { thread: "t1" })))?.jti
        if (revoked === true) yield* tokens.revoke(jti!)
        const used = text === undefined ? allow === undefined ? undefined : token : Redacted.make(text)
        yield* Effect.ignore(call(item ?? "pay", { amount: 1 }, {
          ...(thread === undefined ? used === undefined ? {} : { thread: "t1" } : { thread }),
          ...(used === undefined ? {} : { token: used }),
          dryRun: dryRun ?? false
        }))
        const [request] = yield* entries
        assert.strictEqual(request?.kind, "request")
        if (request?.kind !== "request") return
        const { thread: named, jti: wanted }: { thread?: string; jti?: boolean } = expected
        assert.strictEqual(request.thread, named)
        assert.strictEqual(request.jti, wanted === true ? jti : undefined)
        assert.notInclude(JSON.stringify(request), Redacted.value(token))
      }).pipe(Effect.provide(world)))
  }
})
