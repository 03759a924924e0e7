// Shortens names of a restricted project for agents. The name of a tool, its folder or its lock can be a whole sentence
// of the project's author. An agent is shown a short identifier as it is, and of any other name its start and digest.
import { Effect } from "effect"
import { cutName } from "../layers/identity/shownName.ts"
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

const pathOf = (shown: string): string => shown.slice(shown.indexOf(":lockfiles/") + ":lockfiles/".length)

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

const namesOfLocks = Effect.gen(function*() {
  const { invalid, locks } = yield* Effect.flatMap(LockfileStore, (store) => store.list({ scope: "project" }))
  return [...locks.map(({ path }) => path), ...invalid.map(({ lockfile }) => pathOf(lockfile))].flatMap(partsOfLock)
})

/**
 * The function to apply to an answer about this project before an agent gets it. `locks`: whether the answer may name
 * locks. `undefined` if nothing has to be shortened.
 */
export const shortenNames = Effect.fnUntraced(function*(locks: boolean) {
  const trust = yield* ProjectTrust
  if ((yield* trust.state)._tag !== "Restricted") return undefined
  const items = yield* Effect.flatMap(ItemStore, (store) => store.list({ tier: "project" }))
  const names = [
    ...items.map(({ id }) => id),
    ...items.flatMap(({ category }) => category.split("/")),
    ...(locks ? yield* namesOfLocks : [])
  ]
  return cutter(new Set(names.filter((name) => !isPlainName(name))))
})
