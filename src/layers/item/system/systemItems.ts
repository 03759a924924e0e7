// System items of an embedding program: a named source of the system tier. They come from the program's own memory, so
// they do not change while the kernel is open, and are trusted as the program is.
import { Effect, Layer, Result, Stream } from "effect"
import type { ItemLocation } from "../../../services/item/Item.ts"
import { SystemItemRefused } from "../../../services/item/ItemErrors.ts"
import { ItemType } from "../../../services/item/ItemId.ts"
import { folderManifest, readFileName, readFolderName, readId } from "../../../services/item/ItemPath.ts"
import type { Listing, NamedSource } from "../../../services/item/ItemSources.ts"
import { ItemSources, sourcesOf } from "../../../services/item/ItemSources.ts"
import { sha256 } from "../../identity/sha256.ts"
import { makeFiles } from "../ItemStoreMemory.ts"

/** Files by path below the tier: "tools/acme/greet.yaml". */
export type SystemItems = Readonly<Record<string, string | Uint8Array>>

const types: Readonly<Record<string, ItemType>> = { tools: "tool", directives: "directive", knowledge: "knowledge" }

/**
 * `tool subprocess`: the type and name of the item at this path; "" for a part of a folder tool, undefined if it is not
 * an item.
 */
const nameOf = (path: string): string | undefined => {
  const [folder = "", ...rest] = path.split("/")
  const type = Object.hasOwn(types, folder) ? types[folder] : undefined
  const name = rest.at(-1)
  if (type === undefined || name === undefined) return undefined
  const isManifest = type === "tool" && name === folderManifest && rest.length > 1
  const reading = isManifest ? readId(rest.at(-2)!) : readFileName(type, name)
  const category = rest.slice(0, isManifest ? -2 : -1)
  const isCategorised = category.every((_, depth) => readFolderName(category.slice(0, depth + 1).join("/")) === "enter")
  return reading._tag === "Id" && isCategorised ? `${type} ${reading.id}` : undefined
}

const maxItem = 1024 * 1024

/** Checks every file and copies its bytes, so that nobody else can change them. */
const checked = Effect.fnUntraced(function*(items: SystemItems) {
  const { systemTier } = yield* Effect.promise(() => import("./systemTier.generated.ts"))
  const encoder = new TextEncoder()
  const own = new Set([...systemTier.keys()].map(nameOf))
  const folders = Object.keys(items).filter((path) => path.endsWith(`/${folderManifest}`))
    .map((path) => path.slice(0, -folderManifest.length))
  const isPart = (path: string): boolean =>
    !path.split("/").includes("..") &&
    folders.some((folder) => path.startsWith(folder) && path !== folder + folderManifest)
  const all = new Map<string, Uint8Array>()
  for (const [path, content] of Object.entries(items)) {
    const bytes = typeof content === "string" ? encoder.encode(content) : content
    const name = isPart(path) ? "" : nameOf(path)
    const issue = name === undefined
      ? "it is not the path of an item, like tools/acme/greet.yaml"
      : own.has(name)
      ? "Kiwi itself has an item there, or one with that name"
      : bytes.length > maxItem
      ? "it has more than 1 MiB"
      : undefined
    if (issue !== undefined) return yield* new SystemItemRefused({ item: path, issue })
    all.set(path, Uint8Array.from(bytes))
  }
  return all
})

/** Every item is read at the start, since its location includes the digest of its content. */
const make = Effect.fnUntraced(function*(items: SystemItems): Effect.fn.Return<NamedSource, SystemItemRefused> {
  const system = yield* checked(items)
  const digests = [...system].map(([path, bytes]) => [path, sha256(bytes)]).toSorted()
  const name = `items-${sha256(JSON.stringify(digests)).slice(0, 16)}`
  const files = makeFiles({ system })
  const listings = new Map<ItemType, Listing>()
  const contents = new Map<string, ReturnType<NamedSource["read"]>>()
  for (const type of ItemType.literals) {
    const { byId, problems } = yield* files.listing("system", type)
    const entries = Array.from(byId.values()).flat()
    const located = yield* Effect.forEach(
      entries,
      ({ kind, location }) =>
        Effect.map(Effect.result(files.read(location)), (content) => {
          const digest = Result.isSuccess(content) ? content.success.digest : ""
          const file = `${name}:${location.file}`
          const named: ItemLocation = { ...location, file, root: `${name}:`, source: { name, digest } }
          contents.set(file, Effect.fromResult(Result.map(content, (one) => ({ ...one, location: named }))))
          return { kind, location: named }
        })
    )
    listings.set(type, { byId: Map.groupBy(located, ({ location }) => location.id), problems })
  }
  const none: Listing = { byId: new Map(), problems: [] }
  return {
    name,
    tier: "system",
    listing: (tier, type) => Effect.succeed(tier === "system" ? listings.get(type) ?? none : none),
    read: (location) => contents.get(location.file) ?? files.read(location),
    believe: () => Effect.void,
    changes: Stream.never
  }
})

/** These items in addition to the other named sources. */
export const layerOver = <E, R>(items: SystemItems, others: Layer.Layer<ItemSources, E, R>) =>
  Layer.effect(
    ItemSources,
    Effect.gen(function*() {
      const { named } = yield* ItemSources
      return sourcesOf([yield* make(items), ...named.values()])
    })
  ).pipe(Layer.provide(others))
