// The folder of the system tier: the package's own where it is there, else one in $KIWI_HOME that is written from the
// program itself. A bundle has no package around it, and the items of an embedding program come from no file.
import { Context, Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { SafeFiles } from "../../../services/files/SafeFiles.ts"
import { SystemItemRefused } from "../../../services/item/ItemErrors.ts"
import type { ItemType } from "../../../services/item/ItemId.ts"
import { folderManifest, readFileName, readFolderName, readId } from "../../../services/item/ItemPath.ts"
import { KiwiHome } from "../../../services/workspace/KiwiHome.ts"
import { sha256 } from "../../identity/sha256.ts"
import { manifestOf } from "./manifestOf.ts"
import { SystemManifest } from "./SystemManifest.ts"

/** Files by path below the tier: "tools/acme/greet.yaml". */
export type SystemItems = Readonly<Record<string, string | Uint8Array>>

const types: Readonly<Record<string, ItemType>> = { tools: "tool", directives: "directive", knowledge: "knowledge" }

/** `tool subprocess`: what an item of this path is called; "" for a part of a folder tool, `undefined` for no item. */
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

/** Kiwi's own files and those of the program. */
export const systemFiles = Effect.fnUntraced(function*(items: SystemItems) {
  const { systemTier } = yield* Effect.promise(() => import("./systemTier.generated.ts"))
  const encoder = new TextEncoder()
  const all = new Map([...systemTier].map(([path, text]) => [path, encoder.encode(text)]))
  const own = new Set([...systemTier.keys()].map(nameOf))
  const folders = Object.keys(items).filter((path) => path.endsWith(`/${folderManifest}`))
    .map((path) => path.slice(0, -folderManifest.length))
  const isPart = (path: string): boolean =>
    !path.split("/").includes("..") &&
    folders.some((folder) => path.startsWith(folder) && path !== folder + folderManifest)
  for (const [path, content] of Object.entries(items)) {
    const bytes = typeof content === "string" ? encoder.encode(content) : content
    const name = isPart(path) ? "" : nameOf(path)
    const issue = name === undefined
      ? "it is not the path of an item, like tools/acme/greet.yaml"
      : own.has(name)
      ? "Kiwi has an item there itself, or one of that name"
      : bytes.length > maxItem
      ? "it has more than 1 MiB"
      : undefined
    if (issue !== undefined) return yield* new SystemItemRefused({ item: path, issue })
    all.set(path, Uint8Array.from(bytes))
  }
  return all
})

const write = Effect.fnUntraced(function*(home: string, items: SystemItems) {
  const files = yield* SafeFiles
  const all = yield* systemFiles(items)
  const manifest = manifestOf(all)
  const digests = [...all].map(([path, bytes]) => [path, sha256(bytes)]).toSorted(([a = ""], [b = ""]) =>
    a < b ? -1 : 1
  )
  const folder = `system/items-${sha256(JSON.stringify(digests)).slice(0, 16)}`
  yield* Effect.forEach(all, ([path, bytes]) =>
    Effect.gen(function*() {
      const place = `${folder}/${path}`
      const known = yield* Effect.orElseSucceed(files.read(home, place, { maxBytes: maxItem }), () => undefined)
      if (known === undefined || !Buffer.from(known).equals(bytes)) yield* files.write(home, place, bytes)
    }).pipe(
      Effect.mapError((cause) =>
        new SystemItemRefused({ item: path, issue: "it cannot be written to $KIWI_HOME", cause })
      )
    ), { discard: true })
  return { space: join(home, folder), manifest }
})

const written = Effect.fnUntraced(function*(home: KiwiHome["Service"], items: SystemItems) {
  const { manifest, space } = yield* write(home.home, items)
  return Context.add(Context.make(KiwiHome, KiwiHome.of({ ...home, systemSpace: space })), SystemManifest, manifest)
})

/** KiwiHome with a folder that holds Kiwi's items and these, and what they are held to. */
export const layerWith = (items: SystemItems) =>
  Layer.effectContext(Effect.flatMap(KiwiHome, (home) => written(home, items)))

/** KiwiHome with a folder that holds Kiwi's items. Without room for one there are none, which is logged. */
export const layer = Layer.effectContext(Effect.gen(function*() {
  const home = yield* KiwiHome
  const own = Context.make(KiwiHome, home)
  if (existsSync(home.systemSpace)) return own
  return yield* written(home, {}).pipe(
    Effect.catchTag(
      "SystemItemRefused",
      (error) => Effect.as(Effect.logWarning(`There are no system items: ${error.message}`), own)
    )
  )
}))
