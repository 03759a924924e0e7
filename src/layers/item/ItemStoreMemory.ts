// Items in memory, for tests and for programs that bring their own. Names, paths and snapshots follow the same rules as
// on disk.
import { Effect, Layer, Option, Result, Stream } from "effect"
import type { FolderFile, ItemLocation, ItemSnapshot } from "../../services/item/Item.ts"
import { showLocation, typeFolder } from "../../services/item/Item.ts"
import { ItemInvalid, ItemUnreadable } from "../../services/item/ItemErrors.ts"
import { ItemType, type Tier } from "../../services/item/ItemId.ts"
import {
  detachedSuffix,
  folderManifest,
  locate,
  readCategory,
  readFileName,
  readFolderName,
  readId
} from "../../services/item/ItemPath.ts"
import type { Entry, ItemSources, Listing } from "../../services/item/ItemSources.ts"
import { namedSources, sourcesOf } from "../../services/item/ItemSources.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { sha256 } from "../identity/sha256.ts"
import * as MakeItemStore from "./makeItemStore.ts"
import { fileSnapshot, folderSnapshot, isDetached } from "./makeSnapshot.ts"

export type MemoryFile = string | Uint8Array | { readonly content: string | Uint8Array; readonly executable: boolean }

/** By path below the tier's root: "tools/math/add.py". A Map is read at every call, so it may change. */
export type MemoryFiles = Readonly<Record<string, MemoryFile>> | ReadonlyMap<string, MemoryFile>

export type MemoryTiers = { readonly [tier in Tier]?: MemoryFiles | undefined }

const bytesOf = (file: MemoryFile): Uint8Array =>
  typeof file === "string"
    ? new TextEncoder().encode(file)
    : file instanceof Uint8Array
    ? file
    : bytesOf(file.content)

const isExecutable = (file: MemoryFile): boolean =>
  typeof file === "object" && !(file instanceof Uint8Array) && file.executable

const maxItem = 1024 * 1024
const maxFolder = 16 * maxItem

/** Extensions of extractors, by type. */
export type FurtherExtensions = { readonly [type in ItemType]?: ReadonlyArray<string> | undefined }

/** Files in memory as a source of items. */
export const makeFiles = (tiers: MemoryTiers, further: FurtherExtensions = {}): MakeItemStore.Backend => {
  const roots: Record<Tier, string> = { project: "/project/.ai", user: "/user/.ai", system: "/system/.ai" }
  const filesOf = (tier: Tier): ReadonlyMap<string, MemoryFile> => {
    const files = tiers[tier]
    return files === undefined ? new Map() : files instanceof Map ? files : new Map(Object.entries(files))
  }

  const listing = (tier: Tier, type: ItemType): Listing => {
    const byId = new Map<string, ReadonlyArray<Entry>>()
    const problems: Array<ItemInvalid> = []
    const folders = new Set<string>()
    const prefix = `${typeFolder[type]}/`
    const paths = Array.from(filesOf(tier).keys()).filter((p) => p.startsWith(prefix)).map((p) =>
      p.slice(prefix.length)
    )
    const refuse = (path: string, reason: { readonly issue: string; readonly hint: string }): void => {
      problems.push(
        new ItemInvalid({ item: showLocation({ tier, type, path }), line: 0, column: 0, found: "", ...reason })
      )
    }
    const add = (location: ItemLocation): void => {
      byId.set(location.id, [...byId.get(location.id) ?? [], { location, kind: "plain" }])
    }
    const manifests = new Set(type === "tool" ? paths.filter((p) => p.endsWith(`/${folderManifest}`)) : [])
    next: for (const path of paths) {
      const segments = path.split("/")
      for (let depth = 1; depth < segments.length; depth++) {
        const folder = segments.slice(0, depth).join("/")
        const answer = readFolderName(folder)
        if (answer !== "enter") {
          if (answer !== "skip" && !folders.has(folder)) refuse(folder, answer)
          folders.add(folder)
          continue next
        }
        if (!manifests.has(`${folder}/${folderManifest}`)) continue
        if (folders.has(folder)) continue next
        folders.add(folder)
        const name = segments[depth - 1]!
        const reading = readId(name)
        const category = segments.slice(0, depth - 1).join("/")
        if (reading._tag === "Id") {
          add(locate({ type, tier, root: roots[tier], id: reading.id, category, name, kind: "folder" }))
        } else if (reading._tag === "Invalid") refuse(folder, reading.reason)
        continue next
      }
      const name = segments.at(-1)!
      const reading = readFileName(type, name, further[type])
      const category = segments.slice(0, -1).join("/")
      const wrong = readCategory(category)
      if (wrong !== undefined) {
        if (!folders.has(category)) refuse(category, wrong)
        folders.add(category)
        continue
      }
      if (reading._tag === "Id") {
        add(locate({ type, tier, root: roots[tier], id: reading.id, category, name, kind: "file" }))
      } else if (reading._tag === "Invalid") refuse(path, reading.reason)
    }
    return { byId, problems }
  }

  const readOne = (location: ItemLocation): Result.Result<ItemSnapshot, ItemInvalid | ItemUnreadable> => {
    const files = filesOf(location.tier)
    const base = `${typeFolder[location.type]}/${location.path}`
    const item = showLocation(location)
    const signature = isDetached(location) ? files.get(base + detachedSuffix) : undefined
    const detached = signature === undefined ? undefined : bytesOf(signature)
    const tooLarge = (most: number): Result.Result<never, ItemUnreadable> =>
      Result.fail(new ItemUnreadable({ item, issue: "too-large", detail: `it is larger than ${most} bytes` }))
    if (location.kind === "file") {
      const file = files.get(base)
      if (file === undefined) {
        return Result.fail(new ItemUnreadable({ item, issue: "vanished", detail: "it no longer exists" }))
      }
      const bytes = bytesOf(file)
      if (bytes.length > maxItem) return tooLarge(maxItem)
      return fileSnapshot(location, { bytes, executable: isExecutable(file), detached })
    }
    const parts: Array<Omit<FolderFile, "executable">> = []
    let total = 0
    for (const [path, file] of files) {
      if (!path.startsWith(`${base}/`)) continue
      const bytes = bytesOf(file)
      total += bytes.length
      if (total > maxFolder) return tooLarge(maxFolder)
      parts.push({ path: path.slice(base.length + 1), digest: sha256(bytes), bytes })
    }
    return folderSnapshot(location, { files: parts, detached })
  }

  return {
    listing: (tier, type) => Effect.sync(() => listing(tier, type)),
    listings: (tier) => Effect.sync(() => ItemType.literals.map((type) => listing(tier, type))),
    resolve: (entry) => Result.succeed(entry.location),
    read: (location) => Effect.suspend(() => Effect.fromResult(readOne(location))),
    rootOf: (tier) => tier === "project" && tiers.project === undefined ? Option.none() : Option.some(roots[tier]),
    changes: Stream.never,
    changedSince: () => Effect.succeed({ mark: undefined, folders: undefined })
  }
}

export const make = (
  tiers: MemoryTiers,
  further: FurtherExtensions = {},
  sources: ItemSources["Service"] = sourcesOf([])
): ItemStore["Service"] => MakeItemStore.make(makeFiles(tiers, further), sources)

export const layerWith = (tiers: MemoryTiers, further: FurtherExtensions = {}) =>
  Layer.effect(ItemStore, Effect.map(namedSources, (sources) => make(tiers, further, sources)))
export const layer = layerWith({})
