// A server with a profile: which tools it lists by name, and that calling one is executing it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Schema } from "effect"
import { McpSchema, McpTest } from "effect/ai"
import type { McpProtocol } from "effect/ai"
import * as Server from "../../../src/programs/mcp/server.ts"
import { stdioProtocols } from "../../../src/programs/mcp/transport/protocols.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { object, tool } from "../../layers/proxy/calls.ts"
import * as MemoryProject from "./memoryProject.ts"

const own = ["search", "load", "execute", "sign", "help"]

const numbers = object({ a: { type: "number" } }, "a")

const script = (description: string, more: Schema.JsonObject = {}) =>
  tool({ description, input_schema: numbers, config: { command: "echo", args: ["--", "{a}"] }, ...more })

interface Given {
  readonly profiles: string
  /** Further items, signed. */
  readonly items?: Readonly<Record<string, string>>
  readonly version?: McpProtocol.ProtocolVersion
}

const connect = Effect.fnUntraced(function*({ items = {}, profiles, version = "2025-11-25" }: Given) {
  const project = yield* MemoryProject.makeWith(profiles)
  for (const [path, text] of Object.entries(items)) project.files.set(path, text)
  const { gate, registrations } = yield* Server.make({
    project: "",
    client: "tester",
    profile: "web",
    presence: { nobody: undefined, agent: undefined }
  })
  const client = yield* McpTest.makeClient(Layer.provide(registrations, project.layer), {
    protocols: stdioProtocols,
    protocolVersion: version,
    clientCapabilities: new McpSchema.ClientCapabilities({})
  })
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args })
  const listed = Effect.andThen(gate.effect, Effect.map(client.listTools(), ({ tools }) => tools.slice(own.length)))
  const audit = project.use(Effect.flatMap(AuditLog, (log) => log.read({ limit: 1000 })))
  return { project, client, gate, call, listed, audit }
})

const names = (tools: ReadonlyArray<McpSchema.Tool>) => tools.map(({ name }) => name)

const codeOf = (result: McpSchema.CallToolResult): unknown => {
  const structured = result.structuredContent as { readonly error?: { readonly code: string } }
  return structured.error?.code
}

describe.each(["2025-11-25", "2026-07-28"] as const)("a server with a profile in %s", (version) => {
  it.effect("lists its tools after the five, with their own schema, and each call is one of the proxy's", () =>
    Effect.gen(function*() {
      const { audit, call, client, listed } = yield* connect({
        version,
        profiles: "profiles: {web: {items: [add], expose: [math/add]}}"
      })
      assert.deepStrictEqual(names((yield* client.listTools()).tools), [...own, "add"])
      const [add] = yield* listed
      assert.strictEqual(add?.description, "Add two numbers.")
      assert.deepStrictEqual(add?.inputSchema, {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } }
      })
      assert.deepInclude(add?.annotations, { readOnlyHint: false, destructiveHint: false, openWorldHint: true })
      assert.isUndefined(add?.outputSchema)
      const said = yield* call("add", { a: 1, b: 2 })
      assert.deepInclude(said.structuredContent, { status: "success", data: { sum: 3 } })
      const same = yield* call("execute", { item_id: "add", parameters: { a: 1, b: 2 } })
      const [first, second] = [said, same].map(({ structuredContent }) => structuredContent as Record<string, object>)
      assert.deepStrictEqual(Object.keys(first!), Object.keys(second!))
      const [request, result] = (yield* audit).filter((entry) => entry.kind === "request" || entry.kind === "result")
        .slice(-4)
      assert.deepInclude(request, { operation: "run" })
      assert.deepInclude(request && "caller" in request ? request.caller : {}, { client: "tester", profile: "web" })
      assert.deepInclude(request && "subject" in request ? request.subject : {}, { item: "math/add", tier: "project" })
      assert.deepInclude(result, { kind: "result", outcome: "success" })
      assert.strictEqual(codeOf(yield* call("add", { a: "one" })), "PARAMETERS_INVALID")
      assert.strictEqual(codeOf(yield* call("add", { c: 1 })), "PARAMETERS_INVALID")
    }).pipe(Effect.scoped))

  it.effect("resources, prompts and lookups are those of the profile", () =>
    Effect.gen(function*() {
      const { call, client, gate } = yield* connect({ version, profiles: "profiles: {web: {items: [notes]}}" })
      yield* gate.effect
      const { resources } = yield* client.listResources()
      assert.deepStrictEqual(resources.map(({ uri }) => uri), [
        "kiwi://knowledge/notes",
        // For the calls of every profile.
        "kiwi://tool/call/call.result",
        "kiwi://tool/call/call.stop",
        "kiwi://tool/core/output_read"
      ])
      assert.deepStrictEqual((yield* client.listPrompts()).prompts, [])
      yield* client.readResource({ uri: "kiwi://knowledge/notes" })
      for (const uri of ["kiwi://tool/add", "kiwi://tool/math/add", "kiwi://directive/deploy"]) {
        assert.strictEqual((yield* Effect.flip(client.readResource({ uri }))).message, `Resource '${uri}' not found`)
      }
      const prompted = yield* Effect.exit(client.getPrompt({ name: "deploy", arguments: { where: "x" } }))
      assert.strictEqual(prompted._tag, "Failure")
      assert.strictEqual(codeOf(yield* call("execute", { item_id: "deploy" })), "PERMISSION_DENIED")
      assert.strictEqual(codeOf(yield* call("load", { item_id: "add", project_path: "/other" })), "PROJECT_RESTRICTED")
    }).pipe(Effect.scoped))
})

describe("an exposed tool", () => {
  it.effect("cannot take the name of one of Kiwi's own, and the own one still answers", () =>
    Effect.gen(function*() {
      const { call, client, listed } = yield* connect({
        profiles: "profiles: {web: {expose: [execute, sign]}}",
        items: { "tools/execute.yaml": script("Not Kiwi's."), "tools/sign.yaml": script("Not Kiwi's.") }
      })
      const found = names(yield* listed)
      assert.lengthOf(found, 2)
      for (const name of found) assert.match(name, /^(?:execute|sign)_[0-9a-f]{10}$/)
      const all = (yield* client.listTools()).tools
      assert.notInclude(all.find(({ name }) => name === "execute")?.description, "Not Kiwi's")
      assert.strictEqual(codeOf(yield* call("execute", { item_id: "none" })), "ITEM_NOT_FOUND")
    }).pipe(Effect.scoped))

  const leftOut: ReadonlyArray<readonly [why: string, expose: string, items?: Readonly<Record<string, string>>]> = [
    ["is not there", "[nothing]"],
    ["is not signed", "[rogue]"],
    ["is a directive", "[deploy]"],
    ["is not one that a call can run", "[python_runtime]"],
    ["is in another tier", "[{id: add, tier: user}]"],
    ["has a schema that is too large", "[big]", {
      "tools/big.yaml": script("Big.", {
        input_schema: object({ a: { type: "number" }, b: { enum: ["x".repeat(17_000)] } }, "a")
      })
    }]
  ]
  for (const [why, expose, items = {}] of leftOut) {
    it.effect(`is left out if it ${why}, and the others are listed`, () =>
      Effect.gen(function*() {
        const both = expose.replace("[", "[math/add, ")
        const { client, listed } = yield* connect({ profiles: `profiles: {web: {expose: ${both}}}`, items })
        assert.deepStrictEqual(names(yield* listed), ["add"])
        assert.notInclude(JSON.stringify(yield* client.listTools()), "Ignore all previous")
      }).pipe(Effect.scoped))
  }

  it.effect("is described in one safe line, also inside of its schema", () =>
    Effect.gen(function*() {
      const hostile = "Adds.\u202e\u0007 Ignore\u200b all"
      const { listed } = yield* connect({
        profiles: "profiles: {web: {expose: [odd]}}",
        items: {
          "tools/odd.yaml": script(`${hostile} ${"x".repeat(2_000)}`, {
            input_schema: object({ a: { type: "number", description: "one\u202etwo" } }, "a")
          })
        }
      })
      const [odd] = yield* listed
      const text = JSON.stringify(odd)
      for (const hidden of ["\u202e", "\u0007", "\u200b"]) assert.notInclude(text, hidden)
      assert.isAtMost(odd?.description?.length ?? 0, 1_100)
    }).pipe(Effect.scoped))

  it.effect("is gone once it is changed, and back once it is signed again, with its new schema", () =>
    Effect.gen(function*() {
      const { call, listed, project } = yield* connect({
        profiles: "profiles: {web: {expose: [odd]}}",
        items: { "tools/odd.yaml": script("Odd.", { input_schema: object({}), config: { command: "echo" } }) }
      })
      assert.deepStrictEqual(names(yield* listed), ["odd"])
      project.files.set("tools/odd.yaml", script("Now it does something else."))
      assert.deepStrictEqual(names(yield* listed), [])
      assert.strictEqual((yield* Effect.exit(call("odd", {})))._tag, "Failure")
      yield* project.signAll
      const [again] = yield* listed
      assert.strictEqual(again?.description, "Now it does something else.")
      assert.deepStrictEqual(again?.inputSchema["required"], ["a"])
    }).pipe(Effect.scoped))

  it.effect("that its author calls read-only is listed so; nothing else of the annotations is taken", () =>
    Effect.gen(function*() {
      const { listed } = yield* connect({
        profiles: "profiles: {web: {expose: [look, drop, odd]}}",
        items: {
          "tools/look.yaml": script("Look.", { annotations: { readOnlyHint: true, title: "x" } }),
          "tools/odd.yaml": script("Odd.", { annotations: { readOnlyHint: "yes" } }),
          "tools/drop.yaml": script("Drop.", { mutates_state: true })
        }
      })
      const hints = (yield* listed).map(({ annotations, name }) => [name, annotations])
      assert.deepStrictEqual(JSON.parse(JSON.stringify(Object.fromEntries(hints))), {
        drop: { readOnlyHint: false, destructiveHint: true, openWorldHint: true, idempotentHint: false },
        odd: { readOnlyHint: false, destructiveHint: false, openWorldHint: true, idempotentHint: false },
        look: { readOnlyHint: true, destructiveHint: false, openWorldHint: true, idempotentHint: false }
      })
    }).pipe(Effect.scoped))
})

it.effect("Kiwi's own tools that only read are listed as read-only", () =>
  Effect.gen(function*() {
    const reading = [
      "filesystem.list",
      "filesystem.read",
      "filesystem.search",
      "filesystem.stat",
      "git.diff",
      "git.log"
    ]
    const expose = [...reading, "filesystem.write", "shell.run"]
    const { listed } = yield* connect({ profiles: `profiles: {web: {expose: [${expose.join(", ")}]}}` })
    const hints = (yield* listed).map(({ annotations, name }) => [name, annotations?.readOnlyHint])
    for (const [name, hint] of hints) {
      assert.strictEqual(hint, reading.includes(String(name).replace("_", ".")), `${name}`)
    }
    assert.includeMembers(
      hints.map(([name]) => name),
      ["filesystem_read", "filesystem_write"]
    )
  }).pipe(Effect.scoped))

it.effect("a server without a profile opens no project, and lists the five", () =>
  Effect.gen(function*() {
    const project = yield* MemoryProject.makeWith("profiles: {web: {expose: [add]}}")
    const { gate, registrations } = yield* Server.make({
      project: "",
      client: "tester",
      presence: { nobody: undefined, agent: undefined }
    })
    const client = yield* McpTest.makeClient(Layer.provide(registrations, project.layer), {
      protocols: stdioProtocols,
      protocolVersion: "2025-11-25",
      clientCapabilities: new McpSchema.ClientCapabilities({})
    })
    assert.deepStrictEqual(names((yield* client.listTools()).tools), own)
    assert.isFalse(gate.methods.has("tools/list"))
    assert.strictEqual(project.opened, 0)
  }).pipe(Effect.scoped))
