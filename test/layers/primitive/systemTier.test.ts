import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Result, Schema } from "effect"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as ChainResolverStore from "../../../src/layers/chain/ChainResolverStore.ts"
import * as SafeFilesMemory from "../../../src/layers/files/SafeFilesMemory.ts"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../../src/layers/format/ItemParserBuiltin.ts"
import * as ItemStoreMemory from "../../../src/layers/item/ItemStoreMemory.ts"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import * as PermissionGateDefault from "../../../src/layers/permission/PermissionGateDefault.ts"
import * as Noop from "../../../src/layers/primitive/builtin/noop.ts"
import * as OutputRead from "../../../src/layers/primitive/builtin/outputRead.ts"
import * as BuiltinRegistry from "../../../src/layers/primitive/BuiltinRegistry.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import * as PrimitivesTable from "../../../src/layers/primitive/PrimitivesTable.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as SchemaValidatorAjv from "../../../src/layers/schema/SchemaValidatorAjv.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { EnvConfig } from "../../../src/services/env/EnvConfig.ts"
import type { EnvVariable } from "../../../src/services/env/EnvResolver.ts"
import { ItemParser } from "../../../src/services/format/ItemParser.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { configFields } from "../../../src/services/primitive/configFields.ts"
import { planRequest } from "../../../src/services/primitive/HttpClientConfig.ts"
import { Primitives } from "../../../src/services/primitive/Primitive.ts"
import { planSubprocess } from "../../../src/services/primitive/SubprocessConfig.ts"
import { SchemaValidator } from "../../../src/services/schema/SchemaValidator.ts"
import * as Template from "../../../src/services/template/Template.ts"
import { caller } from "../proxy/calls.ts"

const root = new URL("../../../.ai/", import.meta.url).pathname
const system: Record<string, string> = {}
for (const file of Fs.readdirSync(root, { recursive: true, encoding: "utf8" })) {
  const full = Path.join(root, file)
  if (Fs.statSync(full).isFile()) system[file] = Fs.readFileSync(full, "utf8")
}

const kernel = (project: Record<string, string> = {}) => {
  const store = ItemStoreMemory.layerWith({ system, project })
  const parser = ItemParserBuiltin.layerNoProcess.pipe(Layer.provide(ExtractorsMemory.layer))
  return Layer.mergeAll(
    store,
    parser,
    ChainResolverStore.layer.pipe(Layer.provide(Layer.merge(store, parser))),
    SchemaValidatorAjv.layer,
    PrimitivesTable.layer.pipe(
      Layer.provide(BuiltinRegistry.register(Noop.handlers, OutputRead.handlers)),
      Layer.provide(PermissionGateDefault.layer),
      Layer.provide(
        Layer.mergeAll(
          BuiltinRegistry.layer,
          ChildProcessesNode.layer,
          OutputsMemory.layer,
          OutboundMemory.layer,
          SafeFilesMemory.layer
        )
      )
    )
  )
}

const which = (name: string) => execFileSync("which", [name], { encoding: "utf8" }).trim()
const variable = (name: string, value: string, origin: EnvVariable["origin"]): readonly [string, EnvVariable] => [
  name,
  { name, value: Redacted.make(value), origin }
]
const variables: ReadonlyMap<string, EnvVariable> = new Map([
  variable("KIWI_PYTHON", which("python3"), "interpreter"),
  variable("KIWI_BASH", which("bash"), "interpreter"),
  variable("KIWI_NODE", process.execPath, "interpreter")
])

/** The steps of a call that concern config: resolve, render, validate, run. */
const run = (project: Record<string, string>, id: string, parameters: Schema.JsonObject) =>
  Effect.gen(function*() {
    const { chain } = yield* (yield* ChainResolver).resolve({ id })
    const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-tier-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => Fs.rmSync(folder, { recursive: true })))
    const { entrypoint } = chain.leaf.tool
    const toolFile = entrypoint === undefined ? undefined : Path.join(folder, entrypoint)
    if (toolFile !== undefined) Fs.writeFileSync(toolFile, chain.leaf.snapshot.bytes)
    const primitive = chain.primitive.tool.location.id
    const template = Template.compile(chain.config, configFields.get(primitive) ?? [])
    const rendered = yield* Effect.fromResult(Template.render(template, {
      parameters,
      declared: new Set(Object.keys(Object(chain.leaf.tool.parameters["properties"]))),
      variables: new Map([
        ...variables,
        ...(toolFile === undefined ? [] : [variable("TOOL_FILE", toolFile, "declared")])
      ])
    }))
    const { issues, value } = yield* (yield* SchemaValidator).validate({
      schema: chain.primitive.tool.configSchema!,
      what: "config",
      value: rendered.config,
      closed: false,
      origin: { _tag: "verified", digest: chain.primitive.tool.digest }
    })
    assert.deepStrictEqual(issues, [])
    return yield* (yield* Primitives).run(primitive, {
      tool: id,
      caller,
      config: value as Schema.JsonObject,
      signed: chain.config,
      parameters,
      placed: template.parameters,
      env: new Map([...variables, variable("PATH", process.env["PATH"] ?? "", "process")]),
      toolFile,
      cwd: folder,
      isolation: "standard",
      emit: () => Effect.void
    })
  }).pipe(Effect.scoped, Effect.provide(kernel(project)))

const add = `"""Add two numbers."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "math"
INPUT_SCHEMA = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
CONFIG = {"output": "json"}

if __name__ == "__main__":
    import argparse, json
    p = argparse.ArgumentParser(); p.add_argument("--a", type=float); p.add_argument("--b", type=float)
    x = p.parse_args()
    print(json.dumps({"sum": x.a + x.b}))
`

const greet = `#!/usr/bin/env bash
# kiwi:
#   version: 1.0.0
#   tool_type: bash
#   executor_id: bash_runtime
#   category: text
#   description: Greet
#   input_schema: { type: object, properties: { name: { type: string }, fail: { type: boolean } } }
if [ "\${KIWI_PARAM_FAIL:-}" = true ]; then false | cat; fi
echo "hello $KIWI_PARAM_NAME"
`

const upper = `// Upper case
export const __version__ = "1.0.0"
export const __tool_type__ = "node"
export const __executor_id__ = "node_runtime"
export const __category__ = "text"
export const INPUT_SCHEMA = { type: "object", properties: { text: { type: "string" }, loud: { type: "boolean" } } }
export const CONFIG = { output: "json" }
import { parseArgs } from "node:util"
const { values } = parseArgs({ options: { text: { type: "string" }, loud: { type: "boolean" } } })
console.log(JSON.stringify({ text: values.text.toUpperCase() + (values.loud ? "!" : "") }))
`

const count = `tool_id: count
version: "1.0.0"
tool_type: bash
executor_id: subprocess
category: text
description: Counts
input_schema:
  type: object
  properties: { first: { type: integer }, last: { type: integer } }
config:
  command: seq
  args: ["{first}", "{last}"]
`

const project = {
  "tools/math/add.py": add,
  "tools/text/greet.sh": greet,
  "tools/text/upper.mjs": upper,
  "tools/text/count.yaml": count
}

describe("the system tier", () => {
  it.effect("holds only items that Kiwi itself would sign", () =>
    Effect.gen(function*() {
      const store = yield* ItemStore
      const parser = yield* ItemParser
      const locations = yield* store.list({ tier: "system" })
      assert.isAbove(locations.length, 12)
      assert.deepStrictEqual(yield* store.problems, [])
      for (const location of locations) {
        const item = yield* Effect.flatMap(store.read(location), parser.check)
        assert.notStrictEqual(item.description + item.title, "", location.path)
        assert.isFalse(item.overridable, location.path)
        if (item._tag === "tool" && item.envConfig !== undefined) {
          yield* Schema.decodeEffect(EnvConfig)(item.envConfig)
        }
      }
    }).pipe(Effect.provide(kernel())))

  it.live("runs a Python, a Node and a bash tool and a bare command", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* run(project, "add", { a: 1, b: 2 })).data, { sum: 3 })
      assert.deepStrictEqual((yield* run(project, "upper", { text: "--é", loud: true })).data, { text: "--É!" })
      assert.deepStrictEqual((yield* run(project, "upper", { text: "a", loud: false })).data, { text: "A" })
      assert.strictEqual((yield* run(project, "greet", { name: "$(id) `id`" })).data, "hello $(id) `id`\n")
      assert.strictEqual((yield* run(project, "count", { first: 2, last: 3 })).data, "2\n3\n")
    }))

  it.live("bash_runtime's flags are bash's, not the script's", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run(project, "greet", { name: "x", fail: true }))
      assert.strictEqual(error._tag, "ToolFailed")
    }))

  it.live("core tools answer without any process", () =>
    Effect.gen(function*() {
      assert.isNull((yield* run({}, "ping", {})).data)
      const error = yield* Effect.flip(run({}, "output_read", { id: "../../etc/passwd" }))
      assert.strictEqual(error._tag, "BuiltinFailed")
    }))

  const accepts: ReadonlyArray<readonly [primitive: string, config: Schema.JsonObject, valid: boolean]> = [
    ["subprocess", { command: "x" }, true],
    ["subprocess", {
      command: "x",
      runtime_args: ["a"],
      args: ["a", 1, true],
      env: { A: "b", N: 1 },
      cwd: "sub",
      timeout: 0.5,
      input: "stdin",
      output: "json",
      capture_output: true
    }, true],
    ["subprocess", {
      command: "x",
      limits: { cpu: 60, memory: "512MiB", files: 64, file_size: "1GiB", processes: 100 }
    }, true],
    ["subprocess", { command: "x", limits: {} }, true],
    ["subprocess", { command: "x", limits: { cpu: 0 } }, false],
    ["subprocess", { command: "x", limits: { cpu: 1.5 } }, false],
    ["subprocess", { command: "x", limits: { memory: 1_000 } }, false],
    ["subprocess", { command: "x", limits: { memory: "0MiB" } }, false],
    ["subprocess", { command: "x", limits: { memory: "1 GiB; id" } }, false],
    ["subprocess", { command: "x", limits: { processes: 1_048_577 } }, false],
    ["subprocess", { command: "x", input: "none", input_data: "text" }, true],
    ["subprocess", {}, false],
    ["subprocess", { command: "" }, false],
    ["subprocess", { command: ["x"] }, false],
    ["subprocess", { command: "x", args: "a" }, false],
    ["subprocess", { command: "x", args: [null] }, false],
    ["subprocess", { command: "x", runtime_args: [1] }, false],
    ["subprocess", { command: "x", env: { "A B": "" } }, false],
    ["subprocess", { command: "x", env: { A: [] } }, false],
    ["subprocess", { command: "x", timeout: 0 }, false],
    ["subprocess", { command: "x", timeout: 86_401 }, false],
    ["subprocess", { command: "x", input: "shell" }, false],
    ["subprocess", { command: "x", output: "xml" }, false],
    ["subprocess", { command: "x", capture_output: false }, false],
    ["http_client", { url: "https://a.example/" }, true],
    ["http_client", {
      url: "https://a.example/",
      method: "PUT",
      headers: { a: "b", n: 1, none: null },
      query: { q: ["a", 1, null], x: true },
      body: { a: [] },
      auth: { type: "api_key", key: "k", header: "X-K" },
      timeout: 3_600,
      retry: { max_attempts: 10, backoff: "constant", methods: ["PUT"] },
      output: "json",
      private_hosts: ["127.0.0.1:80", "[::1]:8080", "localhost:3000"]
    }, true],
    ["http_client", { url: "https://a.example/", method: "POST", form: { a: [1] } }, true],
    ["http_client", { url: "https://a.example/", method: "POST", input: "body" }, true],
    ["http_client", { url: "https://a.example/", auth: { type: "bearer", token: "t" } }, true],
    ["http_client", { url: "https://a.example/", auth: { type: "basic", username: "u", password: "" } }, true],
    ["http_client", { url: "https://a.example/", method: "POST", body_base64: "AP8=" }, true],
    ["http_client", {
      url: "https://a.example/",
      method: "POST",
      multipart: [
        { name: "a", value: { b: 1 } },
        { name: "f", base64: "AP8=", filename: "f.bin", content_type: "image/png" },
        { name: "g", path: "docs/a.txt" }
      ]
    }, true],
    ["http_client", {
      url: "https://a.example/",
      retry: {
        max_attempts: 3,
        backoff_ms: [250, 1_000, 3_000],
        retryable_errors: ["STREAM_INCOMPLETE", "CONNECTION_RESET", "TIMEOUT", "503_SERVICE_UNAVAILABLE", "429"],
        attempt_timeout: 2.5
      }
    }, true],
    ["http_client", { url: "https://a.example/", response_path: "/a/0/b" }, true],
    ["http_client", { url: "https://a.example/", response_path: { name: "user.name" } }, true],
    ["http_client", { url: "https://a.example/", response_headers: ["X-RateLimit-Remaining"] }, true],
    ["http_client", { url: "https://a.example/", method: "POST", multipart: [{ value: "x" }] }, false],
    ["http_client", { url: "https://a.example/", method: "POST", multipart: [{ name: "a", file: "x" }] }, false],
    ["http_client", { url: "https://a.example/", response_path: 3 }, false],
    ["http_client", { url: "https://a.example/", response_headers: "etag" }, false],
    ["http_client", { url: "https://a.example/", retry: { backoff_ms: [] } }, false],
    ["http_client", { url: "https://a.example/", retry: { backoff_ms: [30_001] } }, false],
    ["http_client", { url: "https://a.example/", retry: { retryable_errors: ["ANYTHING"] } }, false],
    ["http_client", { url: "https://a.example/", retry: { retryable_errors: ["200"] } }, false],
    ["http_client", { url: "https://a.example/", retry: { attempt_timeout: 0 } }, false],
    ["http_client", {}, false],
    ["http_client", { url: "" }, false],
    ["http_client", { url: "https://a.example/", method: "get" }, false],
    ["http_client", { url: "https://a.example/", method: "TRACE" }, false],
    ["http_client", { url: "https://a.example/", headers: { a: {} } }, false],
    ["http_client", { url: "https://a.example/", query: { a: [[]] } }, false],
    ["http_client", { url: "https://a.example/", auth: { type: "bearer" } }, false],
    ["http_client", { url: "https://a.example/", auth: { type: "digest" } }, false],
    ["http_client", { url: "https://a.example/", timeout: 0 }, false],
    ["http_client", { url: "https://a.example/", retry: { max_attempts: 11 } }, false],
    ["http_client", { url: "https://a.example/", retry: { max_attempts: 1.5 } }, false],
    ["http_client", { url: "https://a.example/", output: "xml" }, false],
    ["http_client", { url: "https://a.example/", private_hosts: ["127.0.0.1"] }, false],
    ["http_client", { url: "https://a.example/", private_hosts: ["*:80"] }, false]
  ]

  it.effect("declares exactly what the primitives read", () =>
    Effect.gen(function*() {
      const resolver = yield* ChainResolver
      const schemas = yield* SchemaValidator
      for (const [primitive, config, valid] of accepts) {
        const { chain } = yield* resolver.resolve({ id: primitive })
        const { issues } = yield* schemas.validate({
          schema: chain.primitive.tool.configSchema!,
          what: "config",
          value: config,
          closed: false,
          origin: { _tag: "verified", digest: chain.primitive.tool.digest }
        })
        const planned = primitive === "subprocess"
          ? Result.isSuccess(planSubprocess({ tool: "t", config, parameters: {}, toolFile: undefined }))
          : Result.isSuccess(planRequest({ tool: "t", config, signed: config, parameters: {} }))
        const text = JSON.stringify(config)
        assert.strictEqual(issues.length === 0, valid, `schema: ${text} ${JSON.stringify(issues)}`)
        assert.strictEqual(planned, valid, `reader: ${text}`)
      }
    }).pipe(Effect.provide(kernel())))

  it.effect("refuses keys that nothing reads", () =>
    Effect.gen(function*() {
      const resolver = yield* ChainResolver
      const schemas = yield* SchemaValidator
      for (
        const [primitive, config] of [["subprocess", { command: "x" }], ["http_client", { url: "https://a/" }]] as const
      ) {
        const { chain } = yield* resolver.resolve({ id: primitive })
        const { issues } = yield* schemas.validate({
          schema: chain.primitive.tool.configSchema!,
          what: "config",
          value: { ...config, timout: 3 },
          closed: false,
          origin: { _tag: "verified", digest: chain.primitive.tool.digest }
        })
        assert.strictEqual(issues.length, 1)
      }
    }).pipe(Effect.provide(kernel())))
})
