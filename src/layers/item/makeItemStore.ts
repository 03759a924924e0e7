// Looking items up, the same for every backend: precedence of the tiers, protection of the system's items, ambiguity,
// what is hidden, what is near.
import { Effect, Option, Result, type Stream } from "effect"
import { showLocation } from "../../services/item/Item.ts"
import type { ItemLocation, ItemSnapshot } from "../../services/item/Item.ts"
import { ItemAmbiguous, ItemIdInvalid, ItemInvalid, ItemNotFound } from "../../services/item/ItemErrors.ts"
import type { ItemUnreadable } from "../../services/item/ItemErrors.ts"
import { ItemType, parseItemRef, printItemRef, tiers } from "../../services/item/ItemId.ts"
import type { ItemRef, Tier } from "../../services/item/ItemId.ts"
import { isMarkedOverridable, mayBeOverridable } from "../../services/item/ItemPath.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import type { FoundItem, ItemQuery } from "../../services/item/ItemStore.ts"
import { nearIds } from "../../services/item/nearIds.ts"

/** A name that is an item's, before anybody looked whether it can be read. */
export interface Entry {
  readonly location: ItemLocation
  /** `link` and `special` are looked at again each time that they are asked for. */
  readonly kind: "plain" | "link" | "special"
}

/** What one tier has of one type. */
export interface Listing {
  readonly byId: ReadonlyMap<string, ReadonlyArray<Entry>>
  readonly problems: ReadonlyArray<ItemInvalid | ItemUnreadable>
}

export interface Backend {
  /** Current at the time of the call. */
  readonly listing: (tier: Tier, type: ItemType) => Effect.Effect<Listing>
  /** Where an entry really lies. */
  readonly resolve: (entry: Entry) => Result.Result<ItemLocation, ItemUnreadable>
  readonly read: (location: ItemLocation) => Effect.Effect<ItemSnapshot, ItemInvalid | ItemUnreadable>
  readonly rootOf: (tier: Tier) => Option.Option<string>
  readonly changes: Stream.Stream<ReadonlyArray<Tier>>
}

const inCategory = (ref: ItemRef) => (entry: Entry): boolean =>
  ref.category === undefined || entry.location.category === ref.category

/** How a lookup asks for a listing. */
type Listings = (tier: Tier, type: ItemType) => Effect.Effect<Listing>

/** Every listing is asked for once, and then the same for whoever asks again. */
const asOfNow = (listings: Listings): Listings => {
  const seen = new Map<string, Effect.Effect<Listing>>()
  return (tier, type) => {
    const key = `${tier}:${type}`
    return seen.get(key) ?? Effect.map(listings(tier, type), (listing) => {
      seen.set(key, Effect.succeed(listing))
      return listing
    })
  }
}

const showEntry = (entry: Entry): string => showLocation(entry.location)

export const make = (backend: Backend): ItemStore["Service"] => {
  // The system tier does not change while the process lives.
  const protection = new Map<string, boolean>()

  const isProtected = Effect.fnUntraced(function*(entry: Entry) {
    if (!mayBeOverridable(entry.location)) return true
    const known = protection.get(entry.location.file)
    if (known !== undefined) return known
    const text = yield* backend.read(entry.location).pipe(
      Effect.map((snapshot) => new TextDecoder().decode(snapshot.bytes)),
      Effect.orElseSucceed(() => "")
    )
    const answer = !isMarkedOverridable(text)
    protection.set(entry.location.file, answer)
    return answer
  })

  const of = (listings: Listings, tier: Tier, type: ItemType, id: string): Effect.Effect<ReadonlyArray<Entry>> =>
    Effect.map(listings(tier, type), (listing) => listing.byId.get(id) ?? [])

  /** The first tier that has the id, protected items of the system before everything. */
  const lookUp = Effect.fnUntraced(function*(
    listings: Listings,
    ref: ItemRef,
    type: ItemType,
    tier: Tier | undefined
  ) {
    if (tier !== undefined) return (yield* of(listings, tier, type, ref.id)).filter(inCategory(ref))
    const system = yield* of(listings, "system", type, ref.id)
    for (const entry of system) {
      if (yield* isProtected(entry)) return system.filter(inCategory(ref))
    }
    for (const other of ["project", "user"] as const) {
      const entries = (yield* of(listings, other, type, ref.id)).filter(inCategory(ref))
      if (entries.length > 0) return entries
    }
    return system.filter(inCategory(ref))
  })

  const near = Effect.fnUntraced(function*(listings: Listings, ref: ItemRef, query: ItemQuery) {
    const ids = new Set<string>()
    const elsewhere = new Set<string>()
    for (const tier of query.tier === undefined ? tiers : [query.tier]) {
      for (const type of query.type === undefined ? ItemType.literals : [query.type]) {
        const { byId } = yield* listings(tier, type)
        for (const entry of byId.get(ref.id) ?? []) {
          elsewhere.add(printItemRef({ id: entry.location.id, category: entry.location.category || undefined }))
        }
        for (const id of byId.keys()) ids.add(id)
      }
    }
    return [...Array.from(elsewhere).toSorted(), ...nearIds(ref.id, ids)].slice(0, 3)
  })

  /** What stands in a type folder by that name without being an item. */
  const lackingOf = Effect.fnUntraced(function*(listings: Listings, { id }: ItemRef, query: ItemQuery) {
    for (const tier of query.tier === undefined ? tiers : [query.tier]) {
      for (const type of query.type === undefined ? ItemType.literals : [query.type]) {
        const { byId, problems } = yield* listings(tier, type)
        const file = problems.find(({ item }) => /[:/]([^:/.]+)(?:\.[^/.]*)?$/.exec(item)?.[1] === id)
        if (file?._tag === "ItemInvalid") return `A file of that name is no ${type}: ${file.issue}. ${file.hint}`
        const isFolder = type === "tool" &&
          [...byId.values()].some((entries) =>
            entries.some(({ location: { category } }) => category === id || category.endsWith(`/${id}`))
          )
        if (isFolder) {
          return "A folder of that name has no tool.yaml, so each file in it is an item of its own: with one (version, " +
            "tool_type, executor_id, entrypoint), the folder is the tool"
        }
      }
    }
    return undefined
  })

  const findBy = (listings: Listings) =>
    Effect.fnUntraced(function*(query: ItemQuery) {
      const ref = Option.getOrUndefined(parseItemRef(query.id))
      if (ref === undefined) return yield* new ItemIdInvalid({ id: query.id })
      const hits: Array<Entry> = []
      for (const type of query.type === undefined ? ItemType.literals : [query.type]) {
        hits.push(...yield* lookUp(listings, ref, type, query.tier))
      }
      const hit = hits[0]
      if (hit === undefined) {
        const lacks = yield* lackingOf(listings, ref, query)
        return yield* new ItemNotFound({
          id: query.id,
          ...(query.type === undefined ? {} : { type: query.type }),
          ...(query.tier === undefined ? {} : { tier: query.tier }),
          near: yield* near(listings, ref, query),
          ...(lacks === undefined ? {} : { lacks }),
          ...(Option.isNone(backend.rootOf("project")) ? { projectless: true } : {})
        })
      }
      if (hits.length > 1) return yield* new ItemAmbiguous({ id: query.id, candidates: hits.map(showEntry).toSorted() })
      const location = yield* Effect.fromResult(backend.resolve(hit))
      const hides: Array<ItemLocation> = []
      for (const tier of tiers.slice(tiers.indexOf(location.tier) + 1)) {
        for (const entry of yield* of(listings, tier, location.type, location.id)) hides.push(entry.location)
      }
      return { location, hides } satisfies FoundItem
    })

  const list: ItemStore["Service"]["list"] = Effect.fn("ItemStore.list")(function*(filter = {}) {
    const locations: Array<ItemLocation> = []
    for (const tier of filter.tier === undefined ? tiers : [filter.tier]) {
      for (const type of filter.type === undefined ? ItemType.literals : [filter.type]) {
        const { byId } = yield* backend.listing(tier, type)
        for (const entries of byId.values()) {
          for (const entry of entries) {
            const location = Result.getOrUndefined(backend.resolve(entry))
            if (location !== undefined) locations.push(location)
          }
        }
      }
    }
    return locations
  })

  const shadowIssue = (entry: Entry): ItemInvalid =>
    new ItemInvalid({
      item: showEntry(entry),
      line: 0,
      column: 0,
      issue: `"${entry.location.id}" is the id of a protected system item, which wins over this one`,
      found: "",
      hint: "Give the file another name"
    })

  const problems = Effect.gen(function*() {
    const found: Array<ItemInvalid | ItemUnreadable | ItemAmbiguous> = []
    for (const type of ItemType.literals) {
      const system = (yield* backend.listing("system", type)).byId
      for (const tier of tiers) {
        const listing = yield* backend.listing(tier, type)
        for (const problem of listing.problems) found.push(problem)
        for (const [id, entries] of listing.byId) {
          if (entries.length > 1) found.push(new ItemAmbiguous({ id, candidates: entries.map(showEntry).toSorted() }))
          for (const entry of entries) {
            const resolved = backend.resolve(entry)
            if (Result.isFailure(resolved)) found.push(resolved.failure)
          }
          if (tier === "system") continue
          for (const hidden of system.get(id) ?? []) {
            if (!(yield* isProtected(hidden))) continue
            for (const entry of entries) found.push(shadowIssue(entry))
          }
        }
      }
    }
    return found
  }).pipe(Effect.withSpan("ItemStore.problems"))

  return ItemStore.of({
    find: findBy(backend.listing),
    atOnce: Effect.sync(() => ({ find: findBy(asOfNow(backend.listing)) })),
    list,
    problems,
    read: backend.read,
    rootOf: backend.rootOf,
    changes: backend.changes
  })
}
