// Whatever a program puts in the place of a service is what the kernel asks. Each service in turn is replaced by one
// that passes everything on and takes notes; then something is done that the kernel cannot do without it.
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Stream } from "effect"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import * as Kernel from "../../src/layers/Kernel.ts"
import * as KernelMemory from "../../src/layers/KernelMemory.ts"
import { withApproval } from "../../src/programs/approvals.ts"
import { changedSince } from "../../src/programs/changedSince.ts"
import * as embed from "../../src/programs/embed.ts"
import { help } from "../../src/programs/help.ts"
import { load } from "../../src/programs/load.ts"
import { search } from "../../src/programs/search.ts"
import { sign } from "../../src/programs/sign.ts"
import * as testing from "../../src/programs/testing.ts"
import { AuditLog } from "../../src/services/audit/AuditLog.ts"
import { PermissionDenied, PermissionGate } from "../../src/services/permission/PermissionGate.ts"
import { temporary } from "../support/temporary.ts"
import { call, caller, tool } from "./proxy/calls.ts"

/** What a use reaches for, noted down: methods when they are called, effects when they run, values when they are read. */
const noting = <S extends object>(service: S, asked: Array<string>): S =>
  new Proxy(service, {
    get: (target, key) => {
      const value = Reflect.get(target, key)
      const note = () => asked.push(String(key))
      if (typeof value === "function") return (...args: ReadonlyArray<unknown>) => (note(), value.apply(target, args))
      if (Effect.isEffect(value)) return Effect.suspend(() => (note(), value))
      note()
      return value
    }
  })

const bash = (lines: string, meta = "") =>
  `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   tool_type: bash\n#   executor_id: bash_runtime\n${meta}${lines}\n`

const files = {
  ".ai/tools/say.sh": bash("echo hello"),
  ".ai/tools/asked.sh": bash("echo asked"),
  ".ai/tools/much.sh": bash("head -c 2000000 /dev/zero | tr '\\0' x"),
  ".env": "KEY=keychain:api\n",
  ".ai/tools/secret.sh": bash("echo \"${#KEY}\"", "#   requires: {environment: [KEY]}\n"),
  ".ai/tools/fetch.yaml": tool({ executor_id: "http_client", config: { url: "http://127.0.0.1:9/", method: "GET" } })
}

const world = Effect.gen(function*() {
  const folder = yield* temporary
  for (const [path, text] of Object.entries(files)) {
    const file = `${folder}/project/${path}`
    fs.mkdirSync(file.slice(0, file.lastIndexOf("/")), { recursive: true })
    fs.writeFileSync(file, text)
  }
  fs.mkdirSync(`${folder}/user/config`, { recursive: true })
  fs.writeFileSync(`${folder}/user/config/permissions.yaml`, "rules:\n  - ask: asked\n", { mode: 0o600 })
  return { project: `${folder}/project`, home: `${folder}/home`, userSpace: `${folder}/user` }
})

const agree = Layer.provide(
  embed.HumanGateEmbedder.layerWith(() => true, {}),
  Layer.merge(testing.LineageMemory.layer, testing.IdentityMemory.layer)
)
const signAll = Effect.andThen(embed.trustProject(caller), sign({ id: "**" }, caller))

const storeSecret = Effect.gen(function*() {
  const secrets = yield* embed.SecretStore
  const request = yield* secrets.proposeSet("api")
  return yield* secrets.set("api", Redacted.make("twelve chars"), { ...request, by: "terminal" })
})

const says = call("say")
/** What the kernel cannot do without the service. Whether it succeeds is not the question here. */
const uses = {
  ApprovalNotices: [embed.ApprovalNotices, withApproval(call("asked"), caller, 0)],
  ApprovalStore: [embed.ApprovalStore, call("asked")],
  AuditLog: [embed.AuditLog, says],
  Builtins: [embed.Builtins, call("ping")],
  CallLimits: [embed.CallLimits, says],
  CapabilityTokens: [embed.CapabilityTokens, call("say", {}, { thread: "t", token: Redacted.make("x") })],
  ChainResolver: [embed.ChainResolver, says],
  ChildProcesses: [embed.ChildProcesses, says],
  Clients: [embed.Clients, Effect.flatMap(embed.Clients, (clients) => clients.list)],
  Dependencies: [embed.Dependencies, says],
  EnvResolver: [embed.EnvResolver, says],
  Extractors: [embed.Extractors, search({ query: "say" }, caller)],
  GitTree: [embed.GitTree, changedSince("/nowhere", "HEAD")],
  HumanGate: [embed.HumanGate, sign({ id: "say" }, caller)],
  Identity: [embed.Identity, sign({ id: "say" }, caller)],
  Interventions: [embed.Interventions, Effect.flatMap(embed.Interventions, ({ waiting }) => waiting)],
  ItemCopies: [
    embed.ItemCopies,
    Effect.flatMap(embed.ItemCopies, (copies) => copies.plan({ id: "say" }, "user"))
  ],
  ItemHistory: [embed.ItemHistory, says],
  ItemIndex: [embed.ItemIndex, search({ query: "say" }, caller)],
  ItemParser: [embed.ItemParser, load({ id: "say" }, caller)],
  ItemSources: [embed.ItemSources, load({ id: "say" }, caller)],
  ItemStore: [embed.ItemStore, load({ id: "say" }, caller)],
  Keychain: [embed.Keychain, storeSecret],
  KiwiHome: [embed.KiwiHome, says],
  LockfileStore: [embed.LockfileStore, says],
  Lockfiles: [embed.Lockfiles, says],
  Outbound: [embed.Outbound, call("fetch")],
  Outputs: [embed.Outputs, call("much")],
  PermissionGate: [embed.PermissionGate, says],
  PermissionRules: [embed.PermissionRules, says],
  Primitives: [embed.Primitives, says],
  ProcessLock: [embed.ProcessLock, sign({ id: "say" }, caller)],
  Profiles: [embed.Profiles, call("say", {}, { caller: { ...caller, profile: "some" } })],
  ProjectTrust: [embed.ProjectTrust, says],
  RememberedRules: [embed.RememberedRules, call("asked")],
  SafeFiles: [embed.SafeFiles, sign({ id: "say" }, caller)],
  SchemaValidator: [embed.SchemaValidator, says],
  SecretStore: [embed.SecretStore, call("secret")],
  Settings: [embed.Settings, says],
  Signatures: [embed.Signatures, sign({ id: "say" }, caller)],
  SignerTrust: [embed.SignerTrust, says],
  ToolProxy: [embed.ToolProxy, says],
  VerifiedCopies: [embed.VerifiedCopies, says],
  Verifier: [embed.Verifier, says],
  Workspace: [embed.Workspace, help("overview", caller)]
} as const

/** A person and a repository are not the kernel's: whoever composes a program provides them beside it. */
const besideTheKernel = new Set(["GitTree", "HumanGate"])

const servicesInSource = fs.readdirSync(fileURLToPath(new URL("../../src/services", import.meta.url)), {
  recursive: true,
  withFileTypes: true
}).filter((entry) => entry.isFile()).flatMap((entry) =>
  [...fs.readFileSync(`${entry.parentPath}/${entry.name}`, "utf8").matchAll(/class (\w+) extends Context\.Service</g)]
    .map(([, name]) => name!)
)

/** The command line's and the server's own: HumanGateTerminal.test.ts and serve.test.ts replace it. */
const ofSurfaces = ["Lineage"]

it("every service of src/services is in this list", () => {
  assert.deepStrictEqual([...Object.keys(uses), ...ofSurfaces].toSorted(), servicesInSource.toSorted())
})

it("kiwi-mcp/testing has a layer for every service", () => {
  const layers = Object.keys(testing)
  const without = servicesInSource.filter((name) =>
    !layers.some((layer) => new RegExp(`^${name === "Builtins" ? "Builtin" : name}(?=[A-Z])(?!Store[A-Z])`).test(layer))
  )
  assert.deepStrictEqual(without, [])
})

describe("a service that is replaced is asked, in place of the kernel's own:", () => {
  for (const [name, [service, use]] of Object.entries(uses)) {
    it.live(name, () =>
      Effect.gen(function*() {
        const options = yield* world
        const own = yield* Layer.build(Layer.mergeAll(Kernel.layer(options), agree, testing.GitTreeMemory.layer))
        yield* Effect.provideContext(signAll, own)
        const asked: Array<string> = []
        // Which one of many services it is, is only known as the test runs.
        const key = service as unknown as Context.Key<typeof embed.Workspace.Identifier, object>
        const replace = Layer.succeed(key, noting(Context.getUnsafe(own, key), asked))
        const kernel = besideTheKernel.has(name)
          ? Layer.mergeAll(Kernel.layer(options), agree, testing.GitTreeMemory.layer, replace)
          : Layer.mergeAll(Kernel.layer({ ...options, replace }), agree, testing.GitTreeMemory.layer)
        const context = yield* Layer.build(kernel)
        yield* Effect.exit(
          Effect.provideContext(use as Effect.Effect<unknown, unknown, Layer.Success<typeof kernel>>, context)
        )
        assert.isNotEmpty(asked)
      }).pipe(Effect.scoped))
  }
})

const refusal = Layer.succeed(
  PermissionGate,
  PermissionGate.of({
    decide: (_caller, action) =>
      new PermissionDenied({
        what: embed.showAction(action),
        rule: "closed",
        reason: "it is closed",
        hint: "Come back tomorrow"
      })
  })
)

describe("a gate that refuses everything", () => {
  it.live("refuses in a kernel on disk, in one of many projects, and in memory", () =>
    Effect.gen(function*() {
      const options = yield* world
      yield* Effect.provide(signAll, Layer.merge(Kernel.layer(options), agree))
      const { project, ...shared } = options
      const outcomes = [
        yield* Effect.flip(Effect.provide(says, Kernel.layer({ ...options, replace: refusal }))),
        yield* Effect.gen(function*() {
          const projects = yield* embed.Projects.Projects
          return yield* Effect.flip(projects.use(fs.realpathSync(project))(says))
        }).pipe(Effect.provide(Kernel.layerProjects({ ...shared, replace: refusal }))),
        yield* Effect.flip(Effect.provide(
          says,
          KernelMemory.layer({ project: { "tools/say.sh": files[".ai/tools/say.sh"] }, replace: refusal })
        ))
      ]
      for (const error of outcomes) assert.strictEqual(error._tag, "PermissionDenied")
    }).pipe(Effect.scoped))

  it.live("whose own layer is never built", () =>
    Effect.gen(function*() {
      const options = yield* world
      const none = Layer.succeed(
        AuditLog,
        AuditLog.of({
          append: () => Effect.void,
          read: () => Effect.succeed([]),
          stream: () => Stream.empty,
          follow: () => Stream.empty,
          verify: Effect.die("nobody asks"),
          verifyAgainst: () => Effect.die("nobody asks"),
          anchor: Effect.die("nobody asks"),
          prune: Effect.die("nobody asks")
        })
      )
      yield* Effect.exit(Effect.provide(says, Kernel.layer({ ...options, replace: none })))
      assert.isFalse(fs.existsSync(`${options.project}/.ai/logs`))
    }).pipe(Effect.scoped))
})

const greet = tool({
  tool_type: "builtin",
  executor_id: "builtin",
  description: "Greets",
  config: { handler: "greet" },
  input_schema: { type: "object", properties: { name: { type: "string" } } }
})
const builtins = new Map([[
  "greet",
  ({ parameters }: embed.PrimitiveInput) =>
    Effect.succeed({ data: `Hello ${String(parameters["name"])}`, metadata: {} })
]])

describe("system items of a program", () => {
  const asked = Effect.gen(function*() {
    const { data } = yield* call("greet", { name: "Ada" })
    const [hit] = yield* search({ query: "greet" }, caller)
    return { data, hit: hit?.id, tier: hit?.tier, state: hit?.state }
  })
  const expected = { data: "Hello Ada", hit: "greet", tier: "system", state: "ok" } as const

  it.live("run by the program's own builtin, are found, and leave Kiwi's in place", () =>
    Effect.gen(function*() {
      const items = { "tools/acme/greet.yaml": greet }
      const options = yield* world
      const real = Kernel.layer({ ...options, items, builtins })
      assert.deepStrictEqual(yield* Effect.provide(asked, real), expected)
      assert.deepStrictEqual(yield* Effect.provide(asked, Kernel.layer({ ...options, items, builtins })), expected)
      assert.deepStrictEqual(yield* Effect.provide(asked, KernelMemory.layer({ items, builtins })), expected)
      assert.strictEqual((yield* Effect.provide(call("ping"), real)).status, "success")
    }).pipe(Effect.scoped))

  it.live("are held to the bytes that the program gave, and leave nothing on disk", () =>
    Effect.gen(function*() {
      const options = yield* world
      const bytes = new TextEncoder().encode(greet)
      const context = yield* Layer.build(
        Kernel.layer({ ...options, items: { "tools/acme/greet.yaml": bytes }, builtins })
      )
      bytes.fill(32)
      const { data } = yield* Effect.provideContext(call("greet", { name: "Ada" }), context)
      assert.strictEqual(data, "Hello Ada")
      assert.isFalse(fs.existsSync(`${options.home}/system/tools`))
      const folders = fs.existsSync(`${options.home}/system`) ? fs.readdirSync(`${options.home}/system`) : []
      assert.deepStrictEqual(folders.filter((name) => name.startsWith("items-")), [])
    }).pipe(Effect.scoped))

  for (
    const [path, issue] of [
      ["tools/core/ping.yaml", "Kiwi itself has an item there"],
      ["../tools/greet.yaml", "it is not the path of an item"],
      ["tools/../../greet.yaml", "it is not the path of an item"],
      ["/tools/greet.yaml", "it is not the path of an item"],
      ["config/kiwi.yaml", "it is not the path of an item"],
      ["tools/big.yaml", "it has more than 1 MiB"],
      ["tools/acme/Greet.yaml", "it is not the path of an item"],
      ["tools/acme/greet.txt", "it is not the path of an item"],
      ["tools/a/b/c/d/e/f/g/h/i/j/greet.yaml", "it is not the path of an item"],
      ["tools/x/subprocess.yaml", "one with that name"],
      ["tools/x/python_runtime/tool.yaml", "one with that name"]
    ] as const
  ) {
    it.live(`${path}: ${issue}`, () =>
      Effect.gen(function*() {
        const items = { [path]: path.includes("big") ? "x".repeat(1024 * 1024 + 1) : greet }
        for (const kernel of [Kernel.layer({ ...(yield* world), items }), KernelMemory.layer({ items })]) {
          const error = yield* Effect.flip(Effect.provide(Effect.exit(says), kernel))
          assert.strictEqual(error._tag, "SystemItemRefused")
          assert.include(error.message, issue)
        }
      }).pipe(Effect.scoped))
  }
})
