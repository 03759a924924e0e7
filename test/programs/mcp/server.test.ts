import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Queue, Result, Schema } from "effect"
import { McpSchema, McpTest } from "effect/ai"
import type { McpProtocol } from "effect/ai"
import * as ItemSourcesContent from "../../../src/layers/item/ItemSourcesContent.ts"
import * as KernelMemory from "../../../src/layers/KernelMemory.ts"
import * as Projects from "../../../src/layers/Projects.ts"
import * as Server from "../../../src/programs/mcp/server.ts"
import { stdioProtocols } from "../../../src/programs/mcp/transport/protocols.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { Outputs } from "../../../src/services/primitive/Outputs.ts"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { ProjectNotFound } from "../../../src/services/workspace/Workspace.ts"
import { makeShelf, shelfTool, system } from "../../layers/item/shelf.ts"
import { knowledge } from "../items.ts"
import * as MemoryProject from "./memoryProject.ts"

const Structured = Schema.Struct({
  status: Schema.String,
  data: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Struct({
    code: Schema.String,
    message: Schema.String,
    retryable: Schema.Boolean,
    remediation: Schema.optionalKey(Schema.String),
    chain: Schema.optionalKey(Schema.Array(Schema.String)),
    failed_at: Schema.optionalKey(Schema.Unknown),
    cause: Schema.optionalKey(Schema.Unknown)
  })),
  metadata: Schema.optionalKey(Schema.Unknown),
  warnings: Schema.optionalKey(Schema.Unknown)
})

const decodeRecord = Schema.decodeUnknownEffect(Schema.Record(Schema.String, Schema.Unknown))

const restrict = Effect.flatMap(ProjectTrust, (trust) => trust.revoke)

/** The structured answer, which must be exactly what the text says. */
const structured = (result: McpSchema.CallToolResult) => {
  const [content] = result.content
  assert.strictEqual(content?.type, "text")
  assert.deepStrictEqual(JSON.parse(content?.type === "text" ? content.text : ""), result.structuredContent)
  return Schema.decodeUnknownSync(Structured, { onExcessProperty: "error" })(result.structuredContent)
}

const connect = Effect.fnUntraced(function*(
  protocolVersion: McpProtocol.ProtocolVersion,
  clientCapabilities: McpSchema.ClientCapabilities = new McpSchema.ClientCapabilities({})
) {
  const project = yield* MemoryProject.make
  const { gate, registrations } = yield* Server.make({
    project: "",
    client: "tester",
    presence: { nobody: undefined, agent: undefined }
  })
  const client = yield* McpTest.makeClient(Layer.provide(registrations, project.layer), {
    protocols: stdioProtocols,
    protocolVersion,
    clientCapabilities
  })
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args })
  const audit = project.use(Effect.flatMap(AuditLog, (log) => log.read({ limit: 1000 })))
  return { project, client, gate, call, audit }
})

for (const version of ["2025-11-25", "2026-07-28"] as const) {
  describe(`the server in ${version}`, () => {
    it.effect("answers search, load and help while nothing can be recorded, with a warning, and does nothing else", () =>
      Effect.gen(function*() {
        const { audit, call, project } = yield* connect(version)
        const look = [
          ["search", { query: "add" }],
          ["load", { item_id: "add" }],
          ["help", {}],
          ["load", { item_id: "none" }]
        ] as const
        for (const [name, args] of look) {
          assert.isUndefined(structured(yield* call(name, args)).warnings)
          assert.deepInclude((yield* audit).at(-1), { kind: "read", operation: name })
        }
        project.disk = "full"
        for (const [name, args] of look) {
          assert.deepStrictEqual(structured(yield* call(name, args)).warnings, [{
            code: "AUDIT_READ_LOST",
            message: "This lookup could not be recorded: the disk is full"
          }])
        }
        for (const [name, item_id] of [["execute", "deploy"], ["execute", "none"], ["sign", "rogue"]] as const) {
          assert.strictEqual(structured(yield* call(name, { item_id })).error?.code, "AUDIT_UNAVAILABLE")
        }
      }).pipe(Effect.scoped))

    it.effect("offers the five tools in order, and opens no project for it", () =>
      Effect.gen(function*() {
        const { client, project } = yield* connect(version)
        const listed = yield* client.listTools()
        assert.deepStrictEqual(listed.tools.map((t) => t.name), ["search", "load", "execute", "sign", "help"])
        assert.deepStrictEqual(
          listed.tools.map((t) => t.annotations?.readOnlyHint),
          [true, false, false, false, true]
        )
        assert.isTrue(listed.tools.every((t) => t.outputSchema?.["type"] === "object"))
        assert.strictEqual(project.opened, 0)
      }))

    it.effect("answers every tool by one shape", () =>
      Effect.gen(function*() {
        const { call, project } = yield* connect(version)
        const found = structured(yield* call("search", { query: "add" }))
        assert.strictEqual(found.status, "success")
        const { results } = yield* decodeRecord(found.data)
        assert.deepStrictEqual(Array.isArray(results) ? results[0] : undefined, {
          id: "add",
          type: "tool",
          tier: "project",
          state: "ok",
          description: "Add two numbers.",
          call: "add(a?: number, b?: number)"
        })
        assert.strictEqual(structured(yield* call("load", { item_id: "add" })).status, "success")
        const ran = yield* call("execute", { item_id: "add", parameters: { a: 1, b: 2 } })
        assert.isUndefined(ran.isError)
        assert.deepInclude(structured(ran).data, { sum: 3 })
        assert.strictEqual(structured(yield* call("help", {})).status, "success")
        const dry = structured(yield* call("execute", { item_id: "math/add", dry_run: true }))
        assert.strictEqual(dry.status, "validation_passed")
        assert.strictEqual(project.opened, 1)
      }))

    it.effect("says who calls by what it knows, and only labels it by what the client says", () =>
      Effect.gen(function*() {
        const { audit, call } = yield* connect(version)
        yield* call("execute", { item_id: "add" })
        const request = (yield* audit).findLast(({ kind }) => kind === "request")
        assert.deepInclude(request?.kind === "request" ? request.caller : {}, {
          surface: "mcp",
          client: "tester",
          label: "McpTest 1.0.0"
        })
      }))

    it.effect("gives no free text of what is not believed in search, and marks it in load", () =>
      Effect.gen(function*() {
        const { call } = yield* connect(version)
        const found = JSON.stringify(structured(yield* call("search", { query: "rogue" })))
        assert.include(found, "unsigned")
        assert.notInclude(found, "Ignore all previous")
        const { data } = structured(yield* call("load", { item_id: "rogue" }))
        const loaded = yield* decodeRecord(data)
        assert.include(JSON.stringify(loaded["untrusted"]), "Ignore all previous")
        const { untrusted: _, ...rest } = loaded
        assert.notInclude(JSON.stringify(rest), "Ignore all previous")
      }))

    it.effect("refuses unknown arguments by name, and names the near one", () =>
      Effect.gen(function*() {
        const { call, project } = yield* connect(version)
        const result = yield* call("execute", { item_id: "add", params: { a: 1 } })
        assert.strictEqual(result.isError, true)
        const { error, status } = structured(result)
        assert.strictEqual(status, "error")
        assert.strictEqual(error?.code, "INVALID_ARGUMENTS")
        assert.include(error?.message, "\"params\"")
        assert.include(error?.message, "did you mean \"parameters\"?")
        assert.strictEqual(project.opened, 0)
      }))

    it.effect("refuses to be loosened or to do what is not there", () =>
      Effect.gen(function*() {
        const { call } = yield* connect(version)
        for (
          const args of [
            { item_id: "add", lockfile_mode: "none" },
            { item_id: "add", action: "rollback" },
            { item_id: "add", action: "delete" },
            { item_id: "add", mode: "thread" },
            { item_id: "add", item_type: "tool", mode: "follow" },
            { item_id: "add", parameters: [1] },
            { item_id: 7 },
            { item_id: "" },
            {}
          ]
        ) {
          const result = yield* call("execute", args)
          assert.strictEqual(structured(result).error?.code, "INVALID_ARGUMENTS", JSON.stringify(args))
        }
        assert.strictEqual(structured(yield* call("execute", { item_id: "add", action: "run" })).status, "success")
      }))

    it.effect("hands a failure of a chain over whole", () =>
      Effect.gen(function*() {
        const { call } = yield* connect(version)
        const result = yield* call("execute", { item_id: "add", parameters: { a: "1" } })
        assert.strictEqual(result.isError, true)
        assert.deepInclude(structured(result).error, {
          code: "PARAMETERS_INVALID",
          chain: ["add", "python_runtime", "subprocess"],
          failed_at: {
            tool_id: "add",
            config_path: "project:tools/math/add.py",
            validation_errors: [{ field: "a", error: "expected a number, got \"1\"", value: "1" }]
          },
          retryable: false
        })
      }))

    it.effect("turns a defect into an error that tells nothing, and goes on", () =>
      Effect.gen(function*() {
        const { call, project } = yield* connect(version)
        project.disk = "broken"
        const result = yield* call("execute", { item_id: "add" })
        const text = JSON.stringify(result)
        project.disk = "free"
        assert.strictEqual(structured(result).error?.code, "INTERNAL_ERROR")
        assert.notInclude(text, "secret internals")
        assert.notInclude(text, "/home/")
        assert.strictEqual(structured(yield* call("execute", { item_id: "add" })).status, "success")
      }))

    it.effect("gives another project only when it is trusted, and tells nothing of other paths", () =>
      Effect.gen(function*() {
        const { call, project } = yield* connect(version)
        const ran = yield* call("execute", { item_id: "add", project_path: "/somewhere/else" })
        assert.strictEqual(structured(ran).status, "success")
        yield* project.use(restrict)
        for (const path of ["/somewhere/strange", "relative", "../up", "\u0000"]) {
          const { error } = structured(yield* call("execute", { item_id: "add", project_path: path }))
          assert.strictEqual(error?.code, "PROJECT_RESTRICTED", path)
        }
      }))

    it.effect("asks a client that cannot ask for the command to be typed", () =>
      Effect.gen(function*() {
        const { call } = yield* connect(version)
        const result = yield* call("sign", { item_id: "rogue" })
        assert.deepInclude(structured(result).error, {
          code: "HUMAN_REQUIRED",
          remediation: "Ask the person to type: kiwi sign tool rogue"
        })
        assert.strictEqual(structured(yield* call("execute", { item_id: "rogue" })).error?.code, "UNSIGNED")
      }))

    it.effect("shows trusted items as resources and trusted directives as prompts", () =>
      Effect.gen(function*() {
        const { audit, client, gate } = yield* connect(version)
        yield* gate.effect
        const { resources } = yield* client.listResources()
        assert.includeMembers(resources.map((r) => r.uri), [
          "kiwi://tool/math/add",
          "kiwi://directive/deploy",
          "kiwi://knowledge/notes"
        ])
        assert.isFalse(resources.some((r) => r.uri.includes("rogue") || r.uri.includes("trap")))
        const read = yield* client.readResource({ uri: "kiwi://tool/math/add" })
        const [content] = read.contents
        assert.strictEqual(content?.mimeType, "text/plain")
        assert.match(content !== undefined && "text" in content ? content.text : "", /^"""Add two numbers/)
        const templates = yield* client.listResourceTemplates()
        assert.deepStrictEqual(templates.resourceTemplates.map((t) => t.uriTemplate), [
          "kiwi://output/{id}{?offset,length}",
          "kiwi://{type}/{+id}"
        ])
        const { prompts } = yield* client.listPrompts()
        const names = prompts.map((p) => p.name)
        assert.isFalse(names.includes("trap"), names.join())
        assert.deepStrictEqual(
          prompts.find(({ name }) => name === "deploy")?.arguments?.map((a) => [a.name, a.required]),
          [
            ["where", true],
            ["count", false]
          ]
        )
        const got = yield* client.getPrompt({ name: "deploy", arguments: { where: "mars", count: "3" } })
        const [message] = got.messages
        assert.strictEqual(message?.role, "user")
        assert.include(message?.content.type === "text" ? message.content.text : "", "Ship to mars 3")
        assert.isTrue((yield* audit).some((a) => a.kind === "request" && a.operation === "follow"))
      }))

    it.effect("reads what is not trusted, or not there, as nothing that exists", () =>
      Effect.gen(function*() {
        const { client } = yield* connect(version)
        for (
          const uri of [
            "kiwi://tool/rogue",
            "kiwi://directive/trap",
            "kiwi://tool/none",
            "kiwi://secret/x",
            "kiwi://tool/../../etc/passwd",
            "kiwi://output/../known",
            "kiwi://output/unknown",
            "file:///etc/passwd"
          ]
        ) {
          const error = yield* Effect.flip(client.readResource({ uri }))
          assert.notInclude(JSON.stringify(error), "Ignore all previous", uri)
        }
      }))

    it.effect("reads kept output in ranges", () =>
      Effect.gen(function*() {
        const { client, project } = yield* connect(version)
        const output = yield* project.use(Effect.flatMap(Outputs, (outputs) => outputs.create)).pipe(Effect.scoped)
        yield* output.append(new TextEncoder().encode("0123456789"))
        const whole = yield* client.readResource({ uri: output.uri })
        assert.deepInclude(whole.contents[0], { text: "0123456789" })
        const part = yield* client.readResource({ uri: `${output.uri}?offset=2&length=3` })
        assert.deepInclude(part.contents[0], { text: "234" })
        assert.deepInclude(part._meta, { offset: 2, length: 3, total: 10 })
      }))

    it.effect("governs the reading of an item like a load, whether it is listed or not", () =>
      Effect.gen(function*() {
        const { audit, client, gate, project } = yield* connect(version)
        const uri = "kiwi://tool/math/add"
        /** How a client is answered, and the one entry that it leaves. */
        const read = Effect.fnUntraced(function*(asked: string) {
          const before = (yield* audit).length
          const result = yield* Effect.result(client.readResource({ uri: asked }))
          const left = (yield* audit).slice(before)
          assert.strictEqual(left.length, 1, asked)
          const [entry] = left
          assert.deepInclude(entry, { kind: "read", operation: "load" })
          assert.deepInclude(entry?.kind === "read" ? entry.caller : {}, {
            surface: "mcp",
            client: "tester",
            label: "McpTest 1.0.0"
          })
          return { message: Result.isFailure(result) ? Object(result.failure).message : undefined, entry }
        })
        for (const isListed of [false, true]) {
          if (isListed) yield* gate.effect
          assert.deepInclude((yield* read(uri)).entry, {
            query: "math/add",
            filters: { type: "tool" },
            shown: [{ type: "tool", id: "add", tier: "project", state: "ok" }],
            outcome: "success",
            rule: "all-may-read"
          })
          project.denies = "Load"
          const denied = yield* read(uri)
          assert.deepInclude(denied.entry, { shown: [], outcome: "denied", rule: "not-today" })
          project.denies = undefined
          assert.include(denied.message, "Not allowed to load tool add")
        }
        for (
          const [asked, code] of [
            ["kiwi://tool/rogue", "UNSIGNED"],
            ["kiwi://directive/trap", "UNSIGNED"],
            ["kiwi://tool/none", "ITEM_NOT_FOUND"],
            ["kiwi://knowledge/math/add", "ITEM_NOT_FOUND"],
            ["kiwi://secret/x", "ITEM_ID_INVALID"]
          ] as const
        ) {
          const { entry, message } = yield* read(asked)
          assert.deepInclude(entry, { error: { code }, shown: [] })
          assert.strictEqual(message, `Resource '${asked}' not found`)
        }
        yield* project.use(restrict)
        const restricted = yield* read(uri)
        assert.deepInclude(restricted.entry, { outcome: "denied", error: { code: "PROJECT_RESTRICTED" } })
        assert.strictEqual(restricted.message, `Resource '${uri}' not found`)
      }))

    it.effect("governs the reading of kept output", () =>
      Effect.gen(function*() {
        const { audit, client, project } = yield* connect(version)
        const output = yield* project.use(Effect.flatMap(Outputs, (outputs) => outputs.create)).pipe(Effect.orDie)
        yield* output.append(new TextEncoder().encode("0123456789"))
        const query = output.uri.replace("kiwi://output/", "")
        yield* client.readResource({ uri: `${output.uri}?offset=2&length=3` })
        const entries = (yield* audit).length
        assert.deepInclude((yield* audit).at(-1), {
          kind: "read",
          operation: "output",
          query,
          filters: { offset: 2, length: 3 },
          shown: [],
          outcome: "success",
          rule: "all-may-read"
        })
        project.denies = "ReadOutput"
        const denied = yield* Effect.flip(client.readResource({ uri: output.uri }))
        project.denies = undefined
        const missing = `kiwi://output/${"f".repeat(32)}`
        const absent = yield* Effect.flip(client.readResource({ uri: missing }))
        assert.include(Object(denied).message, "Not allowed to read the output")
        assert.strictEqual(Object(absent).message, `Resource '${missing}' not found`)
        const [first, second, ...more] = (yield* audit).slice(entries)
        assert.deepInclude(first, { kind: "read", operation: "output", query, outcome: "denied", rule: "not-today" })
        assert.deepInclude(second, { kind: "read", outcome: "failure", error: { code: "OUTPUT_NOT_FOUND" } })
        assert.deepStrictEqual(more, [])
      }))

    it.effect("reads resources on a full disk, and shows nothing of a broken one", () =>
      Effect.gen(function*() {
        const { client, project } = yield* connect(version)
        const uri = "kiwi://knowledge/notes"
        project.disk = "full"
        assert.include(JSON.stringify(yield* client.readResource({ uri })), "What we know.")
        project.disk = "broken"
        for (const asked of [uri, "kiwi://output/none"]) {
          const error = yield* Effect.flip(client.readResource({ uri: asked }))
          assert.strictEqual(Object(error).message, "resources/read failed because of a defect in Kiwi")
        }
      }))

    it.effect("shows neither resources nor prompts of a project that became restricted", () =>
      Effect.gen(function*() {
        const { client, gate, project } = yield* connect(version)
        yield* gate.effect
        assert.isAbove((yield* client.listResources()).resources.length, 0)
        yield* project.use(restrict)
        yield* gate.effect
        assert.deepStrictEqual((yield* client.listResources()).resources, [])
        assert.deepStrictEqual((yield* client.listPrompts()).prompts, [])
        yield* Effect.flip(client.readResource({ uri: "kiwi://tool/math/add" }))
        yield* Effect.flip(client.getPrompt({ name: "deploy", arguments: { where: "x" } }))
        yield* project.trust
        yield* gate.effect
        assert.isAbove((yield* client.listPrompts()).prompts.length, 0)
      }))

    it.effect("lists at most fifty resources and reads the fifty-first", () =>
      Effect.gen(function*() {
        const { client, gate, project } = yield* connect(version)
        for (let n = 0; n < 80; n++) project.files.set(`knowledge/many/n${n}.md`, knowledge(`n${n}`, `Number ${n}`))
        yield* project.signAll
        yield* gate.effect
        assert.strictEqual((yield* client.listResources()).resources.length, 50)
        const read = yield* client.readResource({ uri: "kiwi://knowledge/many/n79" })
        assert.include(JSON.stringify(read.contents[0]), "Number 79")
      }))

    it.effect("reports progress by growing numbers, escaped, before the result", () =>
      Effect.gen(function*() {
        const { client } = yield* connect(version)
        yield* client.callTool({
          name: "execute",
          arguments: { item_id: "slow" },
          _meta: { progressToken: "token-1" }
        })
        const heard = yield* Queue.clear(client.notifications)
        const progress = heard.filter((n) => n.method === "notifications/progress").map((n) => n.payload)
        assert.deepStrictEqual(progress, [
          { progressToken: "token-1", progress: 1, total: 3, message: "warming\\u{202e} up" },
          { progressToken: "token-1", progress: 2, total: 3, message: "half way" },
          { progressToken: "token-1", progress: 3, total: 3, message: "there" }
        ])
      }))

    it.effect("reports the progress of each call to itself alone, also that of the first", () =>
      Effect.gen(function*() {
        const { call, client } = yield* connect(version)
        const progress = Effect.map(
          Queue.clear(client.notifications),
          (heard) => heard.flatMap(({ method, payload }) => method === "notifications/progress" ? [payload] : [])
        )
        const asking = (progressToken: string) =>
          client.callTool({ name: "execute", arguments: { item_id: "slow" }, _meta: { progressToken } })
        yield* asking("first")
        assert.strictEqual((yield* progress).length, 3)
        yield* call("execute", { item_id: "slow" })
        assert.deepStrictEqual(yield* progress, [])
        yield* Effect.all([asking("a"), call("execute", { item_id: "slow" }), asking("b")], { concurrency: 3 })
        const tokens = (yield* progress).map((payload) => JSON.stringify(payload).includes("\"a\"") ? "a" : "b")
        assert.deepStrictEqual(tokens.toSorted(), ["a", "a", "a", "b", "b", "b"])
      }))

    it.effect("warns of what its own call could not record, and of nothing else", () =>
      Effect.gen(function*() {
        const { call, project } = yield* connect(version)
        yield* call("execute", { item_id: "add" })
        const warnings = Effect.map(call("load", { item_id: "add" }), (answer) => structured(answer).warnings)
        assert.isUndefined(yield* warnings)
        project.disk = "full"
        const both = yield* Effect.all([warnings, warnings], { concurrency: 2 })
        assert.deepStrictEqual(both.map((each) => [each].flat().length), [1, 1])
        project.disk = "free"
        assert.isUndefined(yield* warnings)
      }))

    it.effect("interrupts the call that its client cancels", () =>
      Effect.gen(function*() {
        const { call, project } = yield* connect(version)
        const running = yield* Effect.forkChild(call("execute", { item_id: "slow", parameters: { forever: true } }))
        while (project.opened === 0) yield* Effect.yieldNow
        for (let i = 0; i < 100; i++) yield* Effect.yieldNow
        yield* Fiber.interrupt(running)
        for (let i = 0; i < 1000 && project.interrupted === 0; i++) yield* Effect.yieldNow
        assert.strictEqual(project.interrupted, 1)
        assert.strictEqual(structured(yield* call("execute", { item_id: "add" })).status, "success")
      }))
  })
}

it.effect("help works without the server's own project, and warns of what it could not record", () =>
  Effect.gen(function*() {
    const project = yield* MemoryProject.make
    const { registrations } = yield* Server.make({
      project: "/gone",
      client: "tester",
      presence: { nobody: undefined, agent: undefined }
    })
    const onlyNone = Layer.effect(
      Projects.Projects,
      Effect.map(Projects.Projects, (projects) => ({
        ...projects,
        open: (key) =>
          key === "" ? projects.open(key) : Effect.fail(new ProjectNotFound({ dir: key, detail: "it is gone" }))
      }))
    )
    const client = yield* McpTest.makeClient(
      Layer.provide(registrations, Layer.provideMerge(onlyNone, project.layer)),
      { protocols: stdioProtocols, protocolVersion: "2025-11-25" }
    )
    const call = (name: string) => Effect.map(client.callTool({ name, arguments: { item_id: "add" } }), structured)
    const help = Effect.map(client.callTool({ name: "help", arguments: {} }), structured)
    assert.strictEqual((yield* call("load")).error?.code, "PROJECT_NOT_FOUND")
    const { data, warnings } = yield* help
    assert.include(JSON.stringify(data), "/gone")
    assert.isUndefined(warnings)
    project.disk = "full"
    assert.include(JSON.stringify((yield* help).warnings), "AUDIT_READ_LOST")
  }))

it.effect("tells a session of a change on disk, also when something was only removed", () =>
  Effect.gen(function*() {
    const { client, gate, project } = yield* connect("2025-11-25")
    yield* gate.effect
    for (let i = 0; i < 200; i++) yield* Effect.yieldNow
    yield* Queue.clear(client.notifications)
    const next = Effect.gen(function*() {
      yield* project.changed
      const first = yield* Queue.take(client.notifications)
      for (let i = 0; i < 500; i++) yield* Effect.yieldNow
      return [first, ...(yield* Queue.clear(client.notifications))].map((n) => n.method)
    })
    const add = project.files.get("tools/math/add.py")!
    project.files.delete("tools/math/add.py")
    assert.deepStrictEqual(yield* next, ["notifications/resources/list_changed"])
    project.files.set("tools/math/add.py", add)
    assert.include(yield* next, "notifications/resources/list_changed")
    project.files.delete("directives/deploy.md")
    assert.includeMembers(yield* next, [
      "notifications/resources/list_changed",
      "notifications/prompts/list_changed"
    ])
  }))

it.effect("search says which source did not answer, and an unapproved item's refusal what to do", () =>
  Effect.gen(function*() {
    const shelves = [
      makeShelf({ greet: shelfTool() }).source,
      makeShelf({}, { name: "broken", list: Effect.die("out of order") }).source
    ]
    const kernel = KernelMemory.layer({ ...system, replace: ItemSourcesContent.layerWith(shelves) })
    const { registrations } = yield* Server.make({
      project: "",
      client: "tester",
      presence: { nobody: undefined, agent: undefined }
    })
    const projects = Layer.merge(
      Projects.layerWith(() => Layer.orDie(kernel)),
      FileSystem.layerNoop({ realPath: (path) => Effect.succeed(path) })
    )
    const client = yield* McpTest.makeClient(Layer.provide(registrations, projects), {
      protocols: stdioProtocols,
      protocolVersion: "2025-11-25",
      clientCapabilities: new McpSchema.ClientCapabilities({})
    })
    const call = (name: string, args: Record<string, unknown>) =>
      Effect.map(client.callTool({ name, arguments: args }), structured)
    const found = yield* call("search", { query: "greet", source: "user" })
    const data = yield* decodeRecord(found.data)
    assert.deepStrictEqual(data["notes"], ["user:broken could not be read: it failed unexpectedly"])
    assert.deepInclude(data["results"], {
      id: "greet",
      type: "tool",
      tier: "user",
      category: "",
      path: "user:tools/shelf:greet.yaml",
      state: "untrusted"
    })
    const refused = yield* call("execute", { item_type: "tool", item_id: "greet", parameters: {} })
    assert.deepInclude(refused.error, {
      code: "ITEM_UNAPPROVED",
      remediation: "Ask the person to approve it on the shelf"
    })
  }))
