// What a model has to read of an answer, in characters: every one of them is paid for on every turn after it.
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { McpSchema, McpTest } from "effect/ai"
import type { Loaded } from "../../../src/programs/load.ts"
import { leanHits, leanItem } from "../../../src/programs/mcp/lean.ts"
import * as Server from "../../../src/programs/mcp/server.ts"
import { stdioProtocols } from "../../../src/programs/mcp/transport/protocols.ts"
import * as MemoryProject from "./memoryProject.ts"

const connect = Effect.gen(function*() {
  const project = yield* MemoryProject.make
  const { registrations } = yield* Server.make({
    project: "",
    client: "tester",
    presence: { nobody: undefined, agent: undefined }
  })
  const makeClient = McpTest.makeClient(Layer.provide(registrations, project.layer), {
    protocols: stdioProtocols,
    protocolVersion: "2025-11-25",
    clientCapabilities: new McpSchema.ClientCapabilities({})
  })
  return yield* makeClient
})

/** What each has to hold, and how long it may be. Before, they had 399, 703, 1123, 3285, 1146, 2037 and 1192 characters. */
const calls: ReadonlyArray<
  readonly [tool: string, args: Record<string, unknown>, most: number, holds: ReadonlyArray<string>]
> = [
  ["execute", { item_id: "add", parameters: { a: 1, b: 2 } }, 90, ["call_id", `"sum":3`]],
  ["execute", { item_id: "add", parameters: { a: 1, b: 2 }, dry_run: true }, 420, ["--a=1"]],
  ["search", { query: "add" }, 850, ["add(a?: number, b?: number)", `"state":"ok"`]],
  ["search", { query: "tool" }, 2_500, ["lockfile_diff(tool: string"]],
  ["load", { item_id: "add" }, 850, ["INPUT_SCHEMA", "add(a?: number, b?: number)", `"signed_by":"you"`]],
  ["load", { item_id: "filesystem.read" }, 1_400, ["input_schema", "Lines to skip"]],
  ["help", { action: "stuck", context: "the build fails" }, 400, ["stuck_acknowledged"]],
  ["load", { item_id: "deploy" }, 900, ["<input name=", `"state":"ok"`]]
]

it.effect("answers are short", () =>
  Effect.gen(function*() {
    const client = yield* connect
    for (const [name, args, most, holds] of calls) {
      const { content, structuredContent } = yield* client.callTool({ name, arguments: args })
      const [first] = content
      const text = first?.type === "text" ? first.text : ""
      const what = `${name} ${JSON.stringify(args)}`
      assert.isAtMost(text.length, most, what)
      assert.deepStrictEqual(JSON.parse(text), structuredContent, what)
      for (const part of holds) assert.include(text.replaceAll("\\\"", "\""), part, what)
    }
  }))

it.effect("programs find the rest in _meta", () =>
  Effect.gen(function*() {
    const client = yield* connect
    const details = (name: string, args: Record<string, unknown>) =>
      Effect.map(
        client.callTool({ name, arguments: args }),
        ({ _meta }) => _meta?.["kiwi/details"] as Readonly<Record<string, unknown>>
      )
    const ran = yield* details("execute", { item_id: "add", parameters: { a: 1, b: 2 } })
    assert.deepStrictEqual(ran["chain"], ["add", "python_runtime", "subprocess"])
    for (const key of ["call_id", "duration_ms", "tool", "chain_digest", "isolation", "exit_code"]) {
      assert.property(ran, key)
    }
    const item = yield* details("load", { item_id: "add" })
    assert.match(String(item["digest"]), /^[0-9a-f]{64}$/)
    assert.deepInclude(item["parameters"], { type: "object" })
    assert.deepInclude(item["signed_by"], { name: "you", kind: "person" })
    // The words of an item that nobody trusts are where they are marked as such, and nowhere else.
    assert.notInclude(JSON.stringify(yield* details("load", { item_id: "rogue" })), "properties")
  }))

const loaded = (content: string, parameters: unknown): Loaded => ({
  id: "x",
  type: "tool",
  tier: "project",
  category: "",
  path: "project:tools/x",
  state: "ok",
  digest: "",
  item: { version: "1.0.0", content, parameters }
})

it("parameters are left out where the item's text has all of them, and only there", () => {
  const schema = { type: "object", properties: { n: { type: "integer", description: "How many", default: 3 } } }
  const cases: ReadonlyArray<readonly [content: string, parameters: unknown, kept: boolean]> = [
    [JSON.stringify(schema), schema, false],
    ["type: object\nproperties:\n  n: { type: integer, description: How many, default: 3 }", schema, false],
    ["parser.add_argument('--n', type=int, help='How many', default=3)", schema, true],
    ["type: object\nproperties:\n  n: { type: integer, default: 3 }", schema, true],
    ["type: object\nproperties:\n  n: { type: integer, description: How many }", schema, true],
    ["", schema, true],
    ["nothing", [], false],
    ["<input name=\"where\" type=\"string\">", [{ name: "where", type: "string" }], false],
    ["<input name=\"where\" type=\"string\">", [{ name: "where", type: "string", description: "Where" }], true],
    ["a \\\"quoted\\\" word", [{ a: "a \"quoted\" word" }], true]
  ]
  for (const [content, parameters, kept] of cases) {
    const { item } = leanItem(loaded(content, parameters))
    assert.strictEqual(item !== undefined && "parameters" in item, kept, content)
  }
})

it("a category stays where it tells two hits apart", () => {
  const hit = (id: string, category: string) => ({
    id,
    type: "tool" as const,
    tier: "project" as const,
    category,
    path: `project:tools/${category}/${id}.py`,
    state: "ok" as const,
    version: "1.0.0"
  })
  const lean = leanHits([hit("a", "x"), hit("b", "x"), hit("a", "y")]) as ReadonlyArray<{ readonly category?: string }>
  assert.deepStrictEqual(lean.map(({ category }) => category), ["x", undefined, "y"])
  const { version: _, ...untrusted } = hit("c", "x")
  assert.deepStrictEqual(leanHits([untrusted]), [untrusted])
})
