// Files below `.ai` that nobody can sign: no item, control file or lock, and not written by Kiwi. Kiwi runs none of
// them as a tool, but one of them may be an interpreter that tools run with.
import { Effect, FileSystem, Option, Path } from "effect"
import { venvNames } from "../layers/env/virtualEnvironments.ts"
import { readFolder } from "../layers/files/listFolder.ts"
import type { ItemLocation } from "../services/item/Item.ts"
import { typeFolder } from "../services/item/Item.ts"
import { detachedSuffix } from "../services/item/ItemPath.ts"
import { isControlPath } from "../services/trust/TrustDecision.ts"

/** Control folders and locks have checks of their own; `.gitignore` names what Kiwi writes. */
const known: ReadonlySet<string> = new Set(
  ["config", "extractors", "lockfiles", "cache", "logs", "outputs", "threads", ".gitattributes", ".gitignore"]
)
const itemFolders: ReadonlySet<string> = new Set(Object.values(typeFolder))

/** Places below `.ai` that are searched for the project's own interpreters. */
export const scriptInterpreters: ReadonlySet<string> = new Set(
  [...venvNames, "node_modules"].map((name) => `scripts/${name}`)
)

/** More rows would hide the other findings. */
const most = 100

/** Paths below `.ai`, sorted. A folder that cannot contain items is listed, but not searched. */
export const unsignableFiles = Effect.fnUntraced(function*(project: string, items: ReadonlyArray<ItemLocation>) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const own = new Set(
    items.flatMap(({ path: place, type }) => {
      const item = `${typeFolder[type]}/${place}`
      return [item, `${item}${detachedSuffix}`]
    })
  )
  /** Paths in a real folder; undefined for anything else. */
  const listing = Effect.fnUntraced(function*(folder: string) {
    const place = path.join(project, ".ai", folder)
    if (Option.isSome(yield* Effect.option(files.readLink(place)))) return undefined
    const entries = Option.getOrUndefined(yield* Effect.option(Effect.try(() => readFolder(place))))
    return entries?.map(({ name }) => folder === "" ? name : `${folder}/${name}`)
  })
  const mayHoldItems = (place: string) => {
    const [first = "", ...rest] = place.split("/")
    if (place === "scripts") return true
    return itemFolders.has(first) && rest.every((name) => !name.startsWith(".") && name !== "node_modules")
  }
  const found: Array<string> = []
  const waiting = ((yield* listing("")) ?? []).filter((name) => !known.has(name) && !isControlPath(`.ai/${name}`))
  for (let next = waiting.pop(); next !== undefined && found.length < most; next = waiting.pop()) {
    if (own.has(next)) continue
    const below = mayHoldItems(next) ? yield* listing(next) : undefined
    if (below === undefined) found.push(next)
    else for (const name of below) waiting.push(name)
  }
  return found.toSorted()
})
