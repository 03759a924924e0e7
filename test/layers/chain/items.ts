// An item store and parser over a list of tools in memory, with the lookup rules of the real one.
import { Effect, Layer, Option, Schema, Stream } from "effect"
import { createHash } from "node:crypto"
import { ItemParser } from "../../../src/services/format/ItemParser.ts"
import type { ItemLocation, ItemSnapshot, Tool } from "../../../src/services/item/Item.ts"
import { ItemAmbiguous, ItemIdInvalid, ItemInvalid, ItemNotFound } from "../../../src/services/item/ItemErrors.ts"
import { type ItemId, parseItemRef, type Tier, tiers } from "../../../src/services/item/ItemId.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"

export interface ToolSpec {
  readonly id: string
  readonly tier?: Tier
  readonly category?: string
  readonly executor?: string
  /** Versions of the executor that will do. */
  readonly range?: string
  readonly childSchemas?: Tool["childSchemas"]
  readonly type?: string
  readonly version?: string
  readonly config?: Schema.JsonObject
  readonly configSchema?: Schema.JsonObject
  readonly parameters?: Schema.JsonObject
  readonly envConfig?: Schema.JsonObject
  readonly entrypoint?: string
  readonly requires?: Partial<Tool["requires"]>
  readonly overridable?: boolean
  readonly invalid?: boolean
}

const locationOf = (spec: ToolSpec): ItemLocation => {
  const category = spec.category ?? ""
  const tier = spec.tier ?? "project"
  const path = `${category === "" ? "" : `${category}/`}${spec.id}.yaml`
  const root = `/${tier}/.ai`
  // The specs of tests are ids by construction.
  const id = spec.id as ItemId
  return { type: "tool", tier, id, category, path, root, file: `${root}/tools/${path}`, kind: "file" }
}

const digestOf = (spec: ToolSpec) => createHash("sha256").update(JSON.stringify(spec)).digest("hex")

export const toolOf = (spec: ToolSpec): Tool => ({
  _tag: "tool",
  location: locationOf(spec),
  digest: digestOf(spec),
  version: spec.version ?? "1.0.0",
  title: spec.id,
  description: "",
  tags: [],
  overridable: spec.overridable ?? false,
  toolType: spec.type ?? "python",
  executorId: spec.executor,
  executorRange: spec.range,
  childSchemas: spec.childSchemas,
  parameters: spec.parameters ?? { type: "object" },
  config: spec.config ?? {},
  configSchema: spec.configSchema,
  envConfig: spec.envConfig,
  dependencies: [],
  requires: { commands: [], environment: [], capabilities: [], ...spec.requires },
  mutatesState: false,
  entrypoint: spec.entrypoint,
  legacy: false,
  extra: {}
})

export const snapshotOf = (spec: ToolSpec): ItemSnapshot => ({
  location: locationOf(spec),
  bytes: new TextEncoder().encode(JSON.stringify(spec)),
  digest: digestOf(spec),
  claim: { _tag: "None" },
  files: [],
  executable: false
})

/** The list may be changed between calls: that is an edit on disk. */
export const layer = (specs: Array<ToolSpec>) => {
  const parsed = new Map<string, Tool>()
  const read = new Map<string, ItemSnapshot>()
  const find: ItemStore["Service"]["find"] = (query) =>
    Effect.gen(function*() {
      const ref = Option.getOrUndefined(parseItemRef(query.id))
      if (ref === undefined) return yield* new ItemIdInvalid({ id: query.id })
      const named = specs.filter((s) =>
        s.id === ref.id && (ref.category === undefined || (s.category ?? "") === ref.category)
      )
      const inTier = (tier: Tier) => named.filter((s) => (s.tier ?? "project") === tier)
      const guarded = inTier("system").filter((s) => s.overridable !== true)
      const order = query.tier !== undefined ? [query.tier] : guarded.length > 0 ? ["system" as const] : tiers
      for (const tier of order) {
        const here = inTier(tier)
        if (here.length > 1) {
          return yield* new ItemAmbiguous({ id: query.id, candidates: here.map((s) => locationOf(s).path) })
        }
        const only = here[0]
        if (only !== undefined) {
          return {
            location: locationOf(only),
            hides: named.filter((s) => tiers.indexOf(s.tier ?? "project") > tiers.indexOf(tier)).map(locationOf)
          }
        }
      }
      return yield* new ItemNotFound({
        id: query.id,
        type: query.type,
        tier: query.tier,
        near: specs.map((s) => s.id).filter((id) => id[0] === ref.id[0]).slice(0, 3)
      })
    })
  return Layer.mergeAll(
    Layer.succeed(ItemStore, {
      find,
      atOnce: Effect.succeed({ find }),
      list: () => Effect.succeed(specs.map(locationOf)),
      listings: () => Effect.die("not used"),
      problems: Effect.succeed([]),
      read: (location) =>
        Effect.sync(() => {
          const spec = specs.find((s) => locationOf(s).file === location.file)!
          const digest = digestOf(spec)
          const snapshot = read.get(digest) ?? snapshotOf(spec)
          read.set(digest, snapshot)
          return snapshot
        }),
      rootOf: () => Option.none(),
      changes: Stream.empty,
      changedSince: () => Effect.succeed({ mark: undefined, folders: undefined })
    }),
    Layer.succeed(ItemParser, {
      parse: (snapshot) =>
        Effect.gen(function*() {
          const spec = specs.find((s) => digestOf(s) === snapshot.digest)!
          if (spec.invalid === true) {
            return yield* new ItemInvalid({
              item: snapshot.location.path,
              line: 3,
              column: 1,
              issue: "it is broken",
              found: "",
              hint: "mend it"
            })
          }
          const tool = parsed.get(snapshot.digest) ?? toolOf(spec)
          parsed.set(snapshot.digest, tool)
          return tool
        }),
      check: () => Effect.die("not used")
    })
  )
}

export const system: ReadonlyArray<ToolSpec> = [
  {
    id: "subprocess",
    tier: "system",
    category: "primitives",
    type: "primitive",
    config: { timeout: 300, args: ["p"] }
  },
  { id: "http_client", tier: "system", category: "primitives", type: "primitive" },
  { id: "builtin", tier: "system", category: "primitives", type: "primitive" },
  {
    id: "python_runtime",
    tier: "system",
    category: "runtimes",
    type: "runtime",
    executor: "subprocess",
    version: "2.0.0",
    config: { command: "${KIWI_PYTHON}", args: [], env: { PYTHONUNBUFFERED: "1" } },
    envConfig: { interpreter: { type: "venv_python", var: "KIWI_PYTHON" } },
    requires: { commands: ["python3"] }
  }
]
