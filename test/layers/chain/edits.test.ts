// What is remembered of chains never outlives an edit: each of these is seen by the very next call. Every case has a
// disk of its own, all are left alone for the two seconds in which times cannot be believed, and are then edited.
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as Fs from "node:fs"
import * as AcceptChildren from "../../../src/layers/chain/acceptChildren.ts"
import * as ChainResolverStore from "../../../src/layers/chain/ChainResolverStore.ts"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../../src/layers/format/ItemParserBuiltin.ts"
import * as SchemaValidatorByOrigin from "../../../src/layers/schema/SchemaValidatorByOrigin.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { showLocation } from "../../../src/services/item/Item.ts"
import { type Disk, makeDisk, storeOn, writeTiers } from "../item/onDisk.ts"

const yaml = (fields: object) => JSON.stringify({ version: "1.0.0", tool_type: "script", ...fields })
const leaf = (value: string) => yaml({ executor_id: "runtime@^1.0", config: { args: [value] } })
const runtime = (fields: object = {}) =>
  yaml({
    tool_type: "runtime",
    executor_id: "subprocess",
    config: { command: "one" },
    validation: { child_schemas: [{ match: { tool_type: "script" } }] },
    ...fields
  })

/** So many categories that they are kept open, and one of them two levels deep. */
const makeTiers = (disk: Disk) => {
  writeTiers(disk, {
    project: { "tools/c0/leaf.yaml": leaf("a"), "tools/c1/runtime.yaml": runtime() },
    user: { "tools/mine.yaml": yaml({ executor_id: "subprocess" }) },
    system: {
      "tools/primitives/subprocess.yaml": JSON.stringify({ version: "1.0.0", tool_type: "primitive" })
    }
  })
  for (let i = 0; i < 24; i++) disk.write("project", `tools/c${i}/other_${i}.yaml`, yaml({ executor_id: "subprocess" }))
  disk.write("project", "tools/c2/deep/other.yaml", yaml({ executor_id: "subprocess" }))
}

interface Edit {
  readonly what: string
  readonly item?: string
  readonly edit: (tools: string, disk: Disk) => void
  /** Then the chain is this. */
  readonly after: string
}

const rewrite = (file: string, text: string) => {
  const { atime, mtime } = Fs.statSync(file)
  Fs.writeFileSync(file, text)
  Fs.utimesSync(file, atime, mtime)
}

const whole = "project:tools/c0/leaf.yaml > project:tools/c1/runtime.yaml > system:tools/primitives/subprocess.yaml"

const edits: ReadonlyArray<Edit> = [
  {
    what: "content of the same size, with its time set back",
    edit: (tools) => rewrite(`${tools}/c0/leaf.yaml`, leaf("b")),
    after: `${whole} {"command":"one","args":["b"]}`
  },
  {
    what: "a file put in the place of another",
    edit: (tools) => {
      Fs.writeFileSync(`${tools}/c0/.new`, leaf("c"))
      Fs.renameSync(`${tools}/c0/.new`, `${tools}/c0/leaf.yaml`)
    },
    after: `${whole} {"command":"one","args":["c"]}`
  },
  {
    what: "a touch, which changes nothing",
    edit: (tools) => Fs.utimesSync(`${tools}/c0/leaf.yaml`, new Date(), new Date()),
    after: `${whole} {"command":"one","args":["a"]}`
  },
  {
    what: "a link in the middle",
    edit: (tools) => rewrite(`${tools}/c1/runtime.yaml`, runtime({ config: { command: "two" } })),
    after: `${whole} {"command":"two","args":["a"]}`
  },
  {
    what: "a twin in another category",
    edit: (tools) => Fs.writeFileSync(`${tools}/c17/leaf.yaml`, leaf("a")),
    after: "ItemAmbiguous"
  },
  {
    what: "a twin of a link in the middle, in a category within a category",
    edit: (tools) => Fs.writeFileSync(`${tools}/c2/deep/runtime.yaml`, runtime()),
    after: "ChainLinkBroken"
  },
  {
    what: "a twin in a category that is new",
    edit: (tools) => {
      Fs.mkdirSync(`${tools}/c5/more`)
      Fs.writeFileSync(`${tools}/c5/more/leaf.yaml`, leaf("a"))
    },
    after: "ItemAmbiguous"
  },
  {
    what: "a user's item that a project's hides now",
    item: "mine",
    edit: (tools) => Fs.writeFileSync(`${tools}/c9/mine.yaml`, leaf("m")),
    after: "project:tools/c9/mine.yaml > project:tools/c1/runtime.yaml > system:tools/primitives/subprocess.yaml " +
      `{"command":"one","args":["m"]} hides user:tools/mine.yaml`
  },
  {
    what: "a file that is gone",
    edit: (tools) => Fs.rmSync(`${tools}/c1/runtime.yaml`),
    after: "ChainLinkMissing"
  },
  {
    what: "a folder that is another one now",
    edit: (tools) => {
      Fs.renameSync(`${tools}/c1`, `${tools}/../gone`)
      Fs.mkdirSync(`${tools}/c1`)
      Fs.writeFileSync(`${tools}/c1/runtime.yaml`, runtime({ config: { command: "three" } }))
    },
    after: `${whole} {"command":"three","args":["a"]}`
  },
  {
    what: "all tools put in the place of others",
    edit: (tools) => {
      Fs.renameSync(tools, `${tools}/../before`)
      Fs.mkdirSync(tools)
    },
    after: "ItemNotFound"
  },
  {
    what: "a version that is out of the range",
    edit: (tools) => rewrite(`${tools}/c1/runtime.yaml`, runtime({ version: "2.0.0" })),
    after: "ChainVersionMismatch"
  },
  {
    what: "child schemas that refuse the child now",
    edit: (tools) =>
      rewrite(
        `${tools}/c1/runtime.yaml`,
        runtime({ validation: { child_schemas: [{ match: { tool_type: "pythen" } }] } })
      ),
    after: "ChildRefused"
  },
  {
    what: "child schemas that are gone",
    edit: (tools) => rewrite(`${tools}/c1/runtime.yaml`, runtime({ validation: null })),
    after: `${whole} {"command":"one","args":["a"]} ChildSchemasMissing`
  }
]

const open = Effect.fnUntraced(function*(disk: Disk) {
  makeTiers(disk)
  const context = yield* Layer.build(
    ChainResolverStore.layer.pipe(
      Layer.provide(
        Layer.mergeAll(storeOn(disk), Layer.provide(ItemParserBuiltin.layerNoProcess, ExtractorsMemory.layer))
      )
    )
  )
  const accept = yield* Effect.provide(AcceptChildren.make, SchemaValidatorByOrigin.layer)
  return Effect.fnUntraced(function*(id: string) {
    const found = yield* Effect.result(Effect.provideContext(ChainResolver.use((r) => r.resolve({ id })), context))
    if (Result.isFailure(found)) return found.failure._tag
    const { chain, hides } = found.success
    const { refused, silent } = yield* accept(chain)
    return refused?.reason._tag ?? [
      chain.links.map((l) => showLocation(l.tool.location)).join(" > "),
      JSON.stringify(chain.config),
      ...(hides.length === 0 ? [] : [`hides ${hides.map(showLocation).join()}`]),
      ...silent.map((s) => s._tag)
    ].join(" ")
  })
})

it.effect("every edit between two calls is seen by the second", () =>
  Effect.gen(function*() {
    const cases = yield* Effect.forEach(edits, (edit) =>
      Effect.gen(function*() {
        const disk = yield* makeDisk
        return { edit, disk, resolve: yield* open(disk) }
      }))
    yield* TestClock.setTime(Date.now() + 2200)
    for (const { edit: { item = "leaf" }, resolve } of cases) {
      const first = yield* resolve(item)
      assert.include(first, "system:tools/primitives/subprocess.yaml")
      assert.strictEqual(yield* resolve(item), first)
    }
    yield* TestClock.setTime(Date.now())
    for (const { disk, edit: { after, edit, item = "leaf", what }, resolve } of cases) {
      edit(`${disk.root("project")}/tools`, disk)
      assert.strictEqual(yield* resolve(item), after, what)
      assert.strictEqual(yield* resolve(item), after, `${what}, once more`)
    }
  }).pipe(Effect.scoped), 30_000)

it.effect("a folder is not kept open when the store is closed", () =>
  Effect.gen(function*() {
    if (process.platform !== "linux") return
    const disk = yield* makeDisk
    const openBelow = () =>
      Fs.readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return Fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(`${disk.root("project")}/tools/`)
        } catch {
          return false
        }
      }).length
    yield* Effect.scoped(Effect.gen(function*() {
      const resolve = yield* open(disk)
      yield* TestClock.setTime(Date.now() + 2200)
      yield* resolve("leaf")
      yield* resolve("leaf")
      assert.strictEqual(openBelow(), 25)
    }))
    assert.strictEqual(openBelow(), 0)
  }).pipe(Effect.scoped), 30_000)
