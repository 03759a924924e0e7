// The tools of docs/tools.md are tools: each is resolved, rendered, checked and run as it says, with a program and a
// network that answer.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, type Schema } from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { parse } from "yaml"
import * as ChainResolverStore from "../../../src/layers/chain/ChainResolverStore.ts"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../../src/layers/format/ItemParserBuiltin.ts"
import * as ItemStoreMemory from "../../../src/layers/item/ItemStoreMemory.ts"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import * as BuiltinRegistry from "../../../src/layers/primitive/BuiltinRegistry.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import * as PrimitivesTable from "../../../src/layers/primitive/PrimitivesTable.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as SchemaValidatorAjv from "../../../src/layers/schema/SchemaValidatorAjv.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import type { OutboundRequest } from "../../../src/services/outbound/Outbound.ts"
import { callerChoice } from "../../../src/services/primitive/callerChoice.ts"
import { configFields } from "../../../src/services/primitive/configFields.ts"
import { Primitives } from "../../../src/services/primitive/Primitive.ts"
import { SchemaValidator } from "../../../src/services/schema/SchemaValidator.ts"
import * as Template from "../../../src/services/template/Template.ts"
import { caller } from "../proxy/calls.ts"

const root = new URL("../../../", import.meta.url).pathname
const document = Fs.readFileSync(Path.join(root, "docs/tools.md"), "utf8")

const system: Record<string, string> = {}
for (const file of Fs.readdirSync(Path.join(root, ".ai"), { recursive: true, encoding: "utf8" })) {
  const full = Path.join(root, ".ai", file)
  if (Fs.statSync(full).isFile()) system[file] = Fs.readFileSync(full, "utf8")
}

const examples = new Map(
  Array.from(document.matchAll(/^```yaml\n([^]*?)^```$/gm), ([, text = ""]) => {
    const { category, tool_id } = parse(text) as { readonly category: string; readonly tool_id: string }
    return [tool_id, { path: `tools/${category}/${tool_id}.yaml`, text }] as const
  })
)
const project = Object.fromEntries(Array.from(examples.values(), ({ path, text }) => [path, text]))

interface World {
  readonly folder: string
  readonly requests: Array<OutboundRequest>
}

const world = Effect.acquireRelease(
  Effect.sync((): World => ({
    folder: Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-docs-"))),
    requests: []
  })),
  ({ folder }) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
)

const kernel = (requests: Array<OutboundRequest>, answer: Schema.Json) => {
  const store = ItemStoreMemory.layerWith({ system, project })
  const parser = ItemParserBuiltin.layerNoProcess.pipe(Layer.provide(ExtractorsMemory.layer))
  const outbound = OutboundMemory.layerWith((request) =>
    Effect.sync(() => {
      requests.push(request)
      return { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) }
    })
  )
  return Layer.mergeAll(
    ChainResolverStore.layer.pipe(Layer.provide(Layer.merge(store, parser))),
    SchemaValidatorAjv.layer,
    PrimitivesTable.layer.pipe(Layer.provide(Layer.mergeAll(
      BuiltinRegistry.layer,
      ChildProcessesNode.layer,
      OutputsMemory.layer,
      outbound,
      SafeFilesNode.layer.pipe(Layer.provide(KiwiHomeMemory.layer))
    )))
  )
}

const variable = (name: string, value: string) =>
  [name, { name, value: Redacted.make(value), origin: "process" as const }] as const

const run = ({ folder, requests }: World, id: string, parameters: Schema.JsonObject, answer: Schema.Json = null) =>
  Effect.gen(function*() {
    const { chain } = yield* (yield* ChainResolver).resolve({ id })
    const primitive = chain.primitive.tool.location.id
    const schemas = yield* SchemaValidator
    const valid = (schema: Schema.JsonObject, value: Schema.Json, closed: boolean) =>
      Effect.map(
        schemas.validate({
          schema,
          what: id,
          value,
          closed,
          origin: { _tag: "verified", digest: JSON.stringify(schema) }
        }),
        ({ issues }) => assert.deepStrictEqual(issues, [])
      )
    yield* valid(chain.leaf.tool.parameters, parameters, true)
    assert.isUndefined(callerChoice(primitive, chain.config, true))
    const template = Template.compile(chain.config, configFields.get(primitive) ?? [])
    const rendered = yield* Effect.fromResult(Template.render(template, {
      parameters,
      declared: new Set(Object.keys(Object(chain.leaf.tool.parameters["properties"]))),
      variables: new Map([variable("WEATHER_TOKEN", "secret")])
    }))
    yield* valid(chain.primitive.tool.configSchema!, rendered.config, false)
    return yield* (yield* Primitives).run(primitive, {
      tool: id,
      caller,
      config: rendered.config,
      signed: chain.config,
      parameters,
      placed: template.parameters,
      env: new Map([variable("PATH", `${folder}-bin:/usr/bin:/bin`)]),
      toolFile: undefined,
      cwd: folder,
      isolation: "standard",
      emit: () => Effect.void
    })
  }).pipe(Effect.provide(kernel(requests, answer)))

describe("docs/tools.md", () => {
  it.effect("has tools, each of which has a chain", () =>
    Effect.gen(function*() {
      const chains = yield* ChainResolver
      for (const id of examples.keys()) {
        const { chain } = yield* chains.resolve({ id })
        assert.isTrue(configFields.has(chain.primitive.tool.location.id), id)
      }
      assert.includeMembers([...examples.keys()], ["thumbnail", "weather", "report_upload", "deno_runtime"])
    }).pipe(Effect.provide(kernel([], null))))

  it.live("thumbnail runs in its album, within its limits", () =>
    Effect.gen(function*() {
      const here = yield* world
      Fs.mkdirSync(Path.join(here.folder, "albums/summer/beach"), { recursive: true })
      const bin = `${here.folder}-bin`
      Fs.mkdirSync(bin)
      yield* Effect.addFinalizer(() => Effect.sync(() => Fs.rmSync(bin, { recursive: true })))
      Fs.writeFileSync(Path.join(bin, "convert"), "#!/bin/sh\npwd; ulimit -t; echo \"$@\"\n", { mode: 0o755 })
      const { data } = yield* run(here, "thumbnail", { album: "summer/beach", file: "-a.jpg" })
      assert.strictEqual(
        data,
        `${here.folder}/albums/summer/beach\n30\n-- -a.jpg -resize 200x200 small.png\n`
      )
      for (const album of ["../..", "/", "summer/../../x"]) {
        assert.strictEqual((yield* Effect.flip(run(here, "thumbnail", { album, file: "a" })))._tag, "TemplateUnsafe")
      }
    }))

  it.live("weather asks for its place", () =>
    Effect.gen(function*() {
      const here = yield* world
      const { data } = yield* run(here, "weather", { place: "São Paulo/../x" }, { temperature: 25 })
      assert.deepStrictEqual(data, { temperature: 25 })
      assert.deepStrictEqual(here.requests.map(({ headers, url }) => [url, headers["authorization"]]), [
        ["https://api.example.com/v1/weather/S%C3%A3o%20Paulo%2F..%2Fx?units=metric", "Bearer secret"]
      ])
    }))

  it.live("report_upload sends a report of the project, and no other file", () =>
    Effect.gen(function*() {
      const here = yield* world
      Fs.mkdirSync(Path.join(here.folder, "reports"))
      Fs.writeFileSync(Path.join(here.folder, "reports/may.pdf"), "%PDF")
      Fs.writeFileSync(Path.join(here.folder, "secret.pdf"), "secret")
      const answer = { report: { id: 7, links: ["https://api.example.com/r/7"] } }
      const { data } = yield* run(here, "report_upload", { title: "May", name: "may" }, answer)
      assert.deepStrictEqual(data, { id: 7, url: "https://api.example.com/r/7" })
      const body = Buffer.from(here.requests[0]?.body ?? []).toString("latin1")
      assert.match(body, /name="title"\r\n\r\nMay\r\n/)
      assert.match(body, /name="report"; filename="may\.pdf"\r\nContent-Type: application\/pdf\r\n\r\n%PDF\r\n/)
      assert.notInclude(body, "picture")
      const escaped = yield* Effect.flip(run(here, "report_upload", { title: "x", name: "../secret" }, answer))
      assert.strictEqual(escaped._tag, "TemplateUnsafe")
      const other = yield* Effect.flip(run(here, "report_upload", { title: "x", name: "june" }, { report: {} }))
      assert.strictEqual(other._tag, "UploadRefused")
      const changed = yield* Effect.flip(run(here, "report_upload", { title: "x", name: "may" }, { report: {} }))
      assert.include(changed.message, "the answer has no /report/id: /report in the answer is an empty object")
    }))

  it.effect("deno_runtime is a runtime for other tools", () =>
    Effect.gen(function*() {
      const { chain } = yield* (yield* ChainResolver).resolve({ id: "deno_runtime" })
      assert.deepStrictEqual(chain.links.map(({ tool }) => tool.location.id), ["deno_runtime", "subprocess"])
      assert.deepStrictEqual(chain.config["runtime_args"], ["run", "--no-prompt", "${TOOL_FILE}"])
    }).pipe(Effect.provide(kernel([], null))))
})
