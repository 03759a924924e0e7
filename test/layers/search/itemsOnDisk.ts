// A store of items in a temporary folder, for the index: a file is one JSON object, `<tier>/<typefolder>/<path>.json`.
import { Effect, Layer, Option, Queue, Stream } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { ItemParser } from "../../../src/services/format/ItemParser.ts"
import { type Item, type ItemLocation, showLocation, typeFolder } from "../../../src/services/item/Item.ts"
import { ItemInvalid, ItemUnreadable } from "../../../src/services/item/ItemErrors.ts"
import { isItemId, ItemType, type Tier, tiers } from "../../../src/services/item/ItemId.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"

export interface Fields {
  readonly title?: string
  readonly description?: string
  readonly tags?: ReadonlyArray<string>
  readonly body?: string
}

export interface OnDisk {
  readonly root: string
  readonly put: (path: string, fields: Fields | string) => void
  readonly remove: (path: string) => void
  /** Counts parses and listings. */
  readonly counts: { parsed: number; listed: number }
  readonly changed: (tier: Tier) => Effect.Effect<void>
  readonly layer: Layer.Layer<ItemStore | ItemParser>
}

const locationsOf = (root: string, tier: Tier, type: ItemType): ReadonlyArray<ItemLocation> => {
  const folder = join(root, tier, typeFolder[type])
  if (!fs.existsSync(folder)) return []
  return fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((p) => p.endsWith(".json")).toSorted()
    .flatMap((path) => {
      const category = dirname(path) === "." ? "" : dirname(path)
      const id = path.slice(category === "" ? 0 : category.length + 1, -".json".length)
      return isItemId(id)
        ? [{ type, tier, id, category, path, file: join(folder, path), root: join(root, tier), kind: "file" as const }]
        : []
    })
}

const invalid = (item: string) =>
  new ItemInvalid({ item, line: 0, column: 0, issue: "not JSON", found: "", hint: "Write JSON" })

const toItem = (location: ItemLocation, digest: string, fields: Fields): Item => {
  const head = {
    location,
    digest,
    version: "1.0.0",
    title: fields.title ?? "",
    description: fields.description ?? "",
    tags: fields.tags ?? [],
    overridable: false
  }
  return location.type === "tool"
    ? {
      ...head,
      _tag: "tool",
      toolType: "python",
      executorId: undefined,
      executorRange: undefined,
      childSchemas: undefined,
      parameters: { type: "object", properties: { x: { description: fields.body ?? "" } } },
      config: {},
      configSchema: undefined,
      envConfig: undefined,
      dependencies: [],
      requires: { commands: [], environment: [], capabilities: [] },
      mutatesState: false,
      entrypoint: undefined,
      legacy: false,
      extra: {}
    }
    : { ...head, _tag: "knowledge", entryType: "note", links: [], body: fields.body ?? "", frontMatter: {} }
}

export const onDisk = (root: string, present: ReadonlyArray<Tier> = tiers): Effect.Effect<OnDisk> =>
  Effect.gen(function*() {
    const counts = { parsed: 0, listed: 0 }
    const queue = yield* Queue.unbounded<ReadonlyArray<Tier>>()
    const fileOf = (path: string) => join(root, `${path}.json`)
    const store = ItemStore.of({
      find: () => Effect.die("not used"),
      atOnce: Effect.die("not used"),
      list: (filter) =>
        Effect.sync(() => {
          counts.listed++
          return present.filter((tier) => filter?.tier === undefined || filter.tier === tier).flatMap((tier) =>
            ItemType.literals.filter((type) => filter?.type === undefined || filter.type === type).flatMap((type) =>
              locationsOf(root, tier, type)
            )
          )
        }),
      listings: () => Effect.die("not used"),
      problems: Effect.succeed([]),
      read: (location) =>
        Effect.try({
          try: () => {
            const bytes = fs.readFileSync(location.file)
            return {
              location,
              bytes,
              digest: createHash("sha256").update(bytes).digest("hex"),
              claim: { _tag: "None" as const },
              files: [],
              executable: false
            }
          },
          catch: () => new ItemUnreadable({ item: showLocation(location), issue: "io", detail: "unreadable" })
        }),
      rootOf: (tier) => present.includes(tier) ? Option.some(join(root, tier)) : Option.none(),
      changes: Stream.fromQueue(queue),
      changedSince: () => Effect.succeed({ mark: undefined, folders: undefined })
    })
    const parse = (snapshot: Parameters<ItemParser["Service"]["parse"]>[0]) =>
      Effect.try({
        try: () => {
          counts.parsed++
          return toItem(snapshot.location, snapshot.digest, JSON.parse(new TextDecoder().decode(snapshot.bytes)))
        },
        catch: () => invalid(showLocation(snapshot.location))
      })
    return {
      root,
      counts,
      put: (path, fields) => {
        fs.mkdirSync(dirname(fileOf(path)), { recursive: true })
        fs.writeFileSync(fileOf(path), typeof fields === "string" ? fields : JSON.stringify(fields))
      },
      remove: (path) => fs.rmSync(fileOf(path)),
      changed: (tier) => Effect.asVoid(Queue.offer(queue, [tier])),
      layer: Layer.mergeAll(
        Layer.succeed(ItemStore, store),
        Layer.succeed(ItemParser, ItemParser.of({ parse, check: parse }))
      )
    }
  })
