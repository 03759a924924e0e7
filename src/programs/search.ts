// Search: hits from the index, each with its present state and the text that may be shown.
import { Effect, Option } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import { callSignature } from "../services/item/CallSignature.ts"
import type { ItemLocation } from "../services/item/Item.ts"
import { showLocation } from "../services/item/Item.ts"
import type { ItemType, Tier } from "../services/item/ItemId.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { profileOf } from "../services/permission/profile/callerProfile.ts"
import { isListed } from "../services/permission/profile/Profile.ts"
import { ItemIndex, mostHits } from "../services/search/ItemIndex.ts"
import type { IndexHit, SearchQuery } from "../services/search/ItemIndex.ts"
import { governRead } from "./govern.ts"
import type { ItemState } from "./itemState.ts"
import { checkReadiness } from "./itemState.ts"

const mostShown = 100

/** An item without a trusted signature has id, place and state, and none of its own text. */
export interface SearchHit {
  readonly id: string
  readonly type: ItemType
  readonly tier: Tier
  readonly category: string
  /** `tier:folder/path`. */
  readonly path: string
  readonly state: ItemState
  readonly version?: string
  /** One line. */
  readonly description?: string
  /** `add(a: number, b: number)`. */
  readonly call?: string
  /** Locations of the items that this one hides. */
  readonly hides?: ReadonlyArray<string>
}

const firstLine = (text: string): string => {
  const line = text.trimStart().split("\n", 1)[0] ?? ""
  return line.length <= 160 ? line : `${line.slice(0, 159)}…`
}

const describe = Effect.fnUntraced(
  function*(location: ItemLocation, hides: ReadonlyArray<ItemLocation>, caller: Caller) {
    const store = yield* ItemStore
    const parser = yield* ItemParser
    const head = {
      id: location.id,
      type: location.type,
      tier: location.tier,
      category: location.category,
      path: showLocation(location),
      ...(hides.length === 0 ? {} : { hides: hides.map(showLocation) })
    }
    const snapshot = yield* store.read(location)
    const checked = yield* checkReadiness(snapshot, caller)
    if (checked.verified === undefined) return { ...head, state: checked.state } satisfies SearchHit
    const item = yield* parser.parse(snapshot)
    const text = item.description === "" ? item.title : item.description
    return {
      ...head,
      state: checked.state,
      version: item.version,
      ...(text === "" ? {} : { description: firstLine(text) }),
      ...(item._tag === "knowledge" ? {} : { call: callSignature(item) })
    } satisfies SearchHit
  }
)

/**
 * Best first; of equal matches, items with a trusted signature first, and last what no caller can run. Empty if nothing
 * matches.
 */
export const search = Effect.fn("search")((query: SearchQuery, caller: Caller) => {
  const { query: words, ...filters } = query
  return governRead(
    {
      caller,
      operation: "search",
      query: words,
      filters: { ...filters, tags: filters.tags && [...filters.tags] },
      shown: (hits: ReadonlyArray<SearchHit>) => hits.map(({ id, state, tier, type }) => ({ type, id, tier, state }))
    },
    Effect.succeed({ action: { _tag: "Search", query } as const }),
    () => find(query, caller)
  )
})

const queryFor = (hit: IndexHit) => ({ id: qualifiedId(hit), type: hit.type, tier: hit.tier })

/** The first hits that the caller's profile lists. */
const listedHits = Effect.fnUntraced(function*(hits: ReadonlyArray<IndexHit>, caller: Caller, limit: number) {
  const { find: findAtOnce } = yield* (yield* ItemStore).atOnce
  const profile = yield* profileOf(caller)
  const listed: Array<IndexHit> = []
  for (const hit of hits) {
    if (listed.length >= limit) break
    const found = yield* Effect.option(findAtOnce(queryFor(hit)))
    if (Option.isSome(found) && (profile === undefined || isListed(profile, found.value.location))) listed.push(hit)
  }
  return listed
})

const find = Effect.fnUntraced(function*(query: SearchQuery, caller: Caller) {
  const index = yield* ItemIndex
  const store = yield* ItemStore
  const limit = Math.min(mostShown, query.limit ?? 10)
  const found = caller.profile === undefined
    ? foundationsLast(yield* index.search({ ...query, limit: limit + mostFoundations })).slice(0, limit)
    : yield* listedHits(foundationsLast(yield* index.search({ ...query, limit: mostHits })), caller, limit)
  const hits = yield* Effect.forEach(found, (hit: IndexHit) =>
    Effect.gen(function*() {
      const { hides, location } = yield* store.find(queryFor(hit))
      return { hit: yield* describe(location, hides, caller), score: hit.score }
    }).pipe(
      Effect.catchTag(["ItemNotFound", "ItemIdInvalid"], () => Effect.undefined),
      Effect.orElseSucceed(() => ({
        hit: {
          id: hit.id,
          type: hit.type,
          tier: hit.tier,
          category: hit.category,
          path: showLocation(hit),
          state: "invalid"
        } satisfies SearchHit as SearchHit,
        score: hit.score
      }))
    ))
  return hits
    .filter((h) => h !== undefined)
    .toSorted((a, b) =>
      Number(isFoundation(a.hit)) - Number(isFoundation(b.hit)) || b.score - a.score ||
      unverifiedLast(a.hit) - unverifiedLast(b.hit)
    )
    .map((h): SearchHit => h.hit)
})

/** What tools are built on, and nobody calls: a search for a tool shows it behind all that can be called. */
const isFoundation = ({ category, tier, type }: Pick<IndexHit, "category" | "tier" | "type">): boolean =>
  tier === "system" && type === "tool" && /^(?:capabilities|primitives|runtimes)(?:\/|$)/.test(category)

/** There are fewer of them. */
const mostFoundations = 32

const foundationsLast = (hits: ReadonlyArray<IndexHit>): ReadonlyArray<IndexHit> =>
  hits.toSorted((a, b) => Number(isFoundation(a)) - Number(isFoundation(b)))

const unverifiedLast = (hit: SearchHit): number => hit.version === undefined ? 1 : 0
