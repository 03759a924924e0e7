// Shortens names of a restricted project for agents. The name of a tool, its folder or its lock can be a whole sentence
// of the project's author. An agent is shown a short identifier as it is, and of any other name its start and digest.
import { Effect } from "effect"
import { cutName } from "../layers/identity/shownName.ts"
import type { Listing } from "../services/item/ItemSources.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { LockfileStore } from "../services/lockfile/LockfileStore.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"

const longest = 32
const mostWords = 4

/** "filesystem.read", "generate_release_notes": at most four words, with any separator. */
export const isPlainName = (name: string): boolean =>
  name.length <= longest && /^[A-Za-z0-9_.-]*$/.test(name) &&
  name.split(/[_.-]+|(?<=[a-z0-9])(?=[A-Z])/).length <= mostWords

const lockEnd = ".lock.json"

/** "math/add@1.0.0.lock.json" → "math", "add", "1.0.0". */
const partsOfLock = (path: string): ReadonlyArray<string> =>
  path.split(/[/@]/).map((part) => part.endsWith(lockEnd) ? part.slice(0, -lockEnd.length) : part)

export type ShortenNames = <A>(value: A) => A

/** Shortens the names in every string of an answer, except below `untrusted`. */
const cutter = (names: ReadonlySet<string>): ShortenNames => {
  const unusual = [...names].filter((name) => /[^A-Za-z0-9_.-]/.test(name)).toSorted((a, b) => b.length - a.length)
  const inText = (text: string): string =>
    unusual.reduce((said, name) => said.replaceAll(name, () => cutName(name)), text).replaceAll(
      /[A-Za-z0-9_.-]+/g,
      (token) => {
        // A file's name is an item's id with an extension.
        for (let end = token.length; end > 0; end = token.lastIndexOf(".", end - 1)) {
          const name = token.slice(0, end)
          if (names.has(name)) return cutName(name) + token.slice(end)
        }
        return token
      }
    )
  const cut = (value: unknown): unknown => {
    if (typeof value === "string") return inText(value)
    if (Array.isArray(value)) return value.map(cut)
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, key === "untrusted" ? inner : cut(inner)])
    )
  }
  return <A>(value: A) => cut(value) as A
}

/** What names of a project were taken from, and the function that shortens them. */
interface Known {
  readonly listings: ReadonlyArray<Listing>
  readonly locks: ReadonlyArray<string>
  readonly shorten: ShortenNames | undefined
}

const known = new WeakMap<ItemStore["Service"], Known>()

const namesIn = ({ byId }: Listing): ReadonlyArray<string> =>
  [...byId.keys()].concat([...byId.values()].flat().flatMap(({ location }) => location.category.split("/")))

/**
 * The function to apply to an answer about this project before an agent gets it. `undefined` if nothing has to be
 * shortened. Names are collected again only after a change: every call asks.
 */
export const shortenNames = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  if ((yield* trust.state)._tag !== "Restricted") return undefined
  const store = yield* ItemStore
  const listings = yield* store.listings("project")
  const locks = yield* Effect.flatMap(LockfileStore, (lockfiles) => lockfiles.paths("project"))
  const before = known.get(store)
  if (before?.locks === locks && listings.every((listing, index) => listing === before.listings[index])) {
    return before.shorten
  }
  const names = [...listings.flatMap(namesIn), ...locks.flatMap(partsOfLock)].filter((name) => !isPlainName(name))
  const shorten = names.length === 0 ? undefined : cutter(new Set(names))
  known.set(store, { listings, locks, shorten })
  return shorten
})
