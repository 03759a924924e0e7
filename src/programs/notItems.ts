// What lies below `.ai` and is nothing that anybody could sign: no item, no control file, no lock, nothing of Kiwi's own.
// Kiwi runs none of it as a tool, but what it finds there – an interpreter – can be what a tool runs by.
import { Effect, FileSystem, Option, Path } from "effect"
import { venvNames } from "../layers/env/virtualEnvironments.ts"
import { readFolder } from "../layers/files/listFolder.ts"
import type { ItemLocation } from "../services/item/Item.ts"
import { typeFolder } from "../services/item/Item.ts"
import { detachedSuffix } from "../services/item/ItemPath.ts"
import { isControlPath } from "../services/trust/TrustDecision.ts"

/** Control folders and locks are compared by themselves; what `.gitignore` names is what Kiwi writes. */
const known: ReadonlySet<string> = new Set(
  ["config", "extractors", "lockfiles", "cache", "logs", "outputs", "threads", ".gitattributes", ".gitignore"]
)
const itemFolders: ReadonlySet<string> = new Set(Object.values(typeFolder))

/** Where a project's own interpreters are looked for below `.ai`. */
export const scriptInterpreters: ReadonlySet<string> = new Set(
  [...venvNames, "node_modules"].map((name) => `scripts/${name}`)
)

/** More would hide the rest. */
const most = 100

/** Paths below `.ai`, sorted. A folder in which no item can lie is named and not entered. */
export const notItems = Effect.fnUntraced(function*(project: string, items: ReadonlyArray<ItemLocation>) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const own = new Set(
    items.flatMap(({ path: place, type }) => {
      const item = `${typeFolder[type]}/${place}`
      return [item, `${item}${detachedSuffix}`]
    })
  )
  /** Names below a real folder; undefined for anything else. */
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
