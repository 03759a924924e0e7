// Lookup of items, the same for every backend: precedence of tiers, protection of system items, ambiguity, hidden
// items, similar ids. In a tier, files take precedence over the items of other sources.
import { Effect, Option, Result, Stream } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import {
  ItemAmbiguous,
  ItemIdInvalid,
  ItemInvalid,
  ItemNotFound,
  ItemUnreadable
} from "../../services/item/ItemErrors.ts"
import { ItemType, parseItemRef, printItemRef, tiers } from "../../services/item/ItemId.ts"
import type { ItemRef, Tier } from "../../services/item/ItemId.ts"
import { isMarkedOverridable, mayBeOverridable } from "../../services/item/ItemPath.ts"
import type { Entry, ItemSource, ItemSources, Listing } from "../../services/item/ItemSources.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import type { FoundItem, ItemQuery } from "../../services/item/ItemStore.ts"
import { nearIds } from "../../services/item/nearIds.ts"
import { defined } from "../../services/schema/defined.ts"

/** The files of the tiers. */
export interface Backend extends ItemSource {
  /** The listing of each type. */
  readonly listings: (tier: Tier) => Effect.Effect<ReadonlyArray<Listing>>
  /** The location of an entry, with links followed. */
  readonly resolve: (entry: Entry) => Result.Result<ItemLocation, ItemUnreadable>
  readonly rootOf: (tier: Tier) => Option.Option<string>
  readonly changedSince: ItemStore["Service"]["changedSince"]
}

const isSameName = (a: Entry, b: Entry): boolean =>
  a.location.id === b.location.id && a.location.category === b.location.category

/** A tier's items of one type, by source. */
type Sourced = readonly [files: Listing, ...others: ReadonlyArray<Listing>]

/** How a lookup reads listings. */
type Listings = (tier: Tier, type: ItemType) => Effect.Effect<Sourced>

/** Reads every listing once, and returns the same listing afterwards. */
const asOfNow = (listings: Listings): Listings => {
  const seen = new Map<string, Effect.Effect<Sourced>>()
  return (tier, type) => {
    const key = `${tier}:${type}`
    return seen.get(key) ?? Effect.mapEager(listings(tier, type), (listing) => {
      seen.set(key, Effect.succeed(listing))
      return listing
    })
  }
}

/** A lookup that found an item, and every listing that it read. */
interface Lookup {
  readonly listed: ReadonlyArray<readonly [tier: Tier, type: ItemType, files: Listing]>
  readonly hit: Entry
  readonly found: FoundItem
}

/** The limit of lookups that are remembered. */
const mostLookups = 1_000

const showEntry = (entry: Entry): string => showLocation(entry.location)

/** All entries with an id, or only those in a category. Entries of other sources count only if no file has the id. */
const entriesOf = ([files, ...others]: Sourced, id: string, category?: string): ReadonlyArray<Entry> => {
  const of = ({ byId }: Listing) =>
    (byId.get(id) ?? []).filter(({ location }) => category === undefined || location.category === category)
  const own = of(files)
  return own.length > 0 ? own : others.flatMap(of)
}

export const make = (files: Backend, { named }: ItemSources["Service"]): ItemStore["Service"] => {
  const others = Map.groupBy(named.values(), ({ tier }) => tier)

  const current: Listings = (tier, type) => {
    const sources = others.get(tier)
    return Effect.flatMapEager(files.listing(tier, type), (own): Effect.Effect<Sourced> =>
      sources === undefined
        ? Effect.succeed([own])
        : Effect.map(Effect.forEach(sources, (source) => source.listing(tier, type)), (rest) => [own, ...rest]))
  }

  const resolve: Backend["resolve"] = (entry) =>
    entry.location.source === undefined ? files.resolve(entry) : Result.succeed(entry.location)

  const read: ItemStore["Service"]["read"] = (location) => {
    if (location.source === undefined) return files.read(location)
    const source = named.get(location.source.name)
    return source === undefined
      ? Effect.fail(
        new ItemUnreadable({ item: showLocation(location), issue: "vanished", detail: "its source is not there" })
      )
      : source.read(location)
  }

  // The system tier does not change during the process.
  const protection = new Map<string, boolean>()

  const isProtected = Effect.fnUntracedEager(function*(entry: Entry) {
    if (!mayBeOverridable(entry.location)) return true
    const known = protection.get(entry.location.file)
    if (known !== undefined) return known
    const text = yield* read(entry.location).pipe(
      Effect.map((snapshot) => new TextDecoder().decode(snapshot.bytes)),
      Effect.orElseSucceed(() => "")
    )
    const answer = !isMarkedOverridable(text)
    protection.set(entry.location.file, answer)
    return answer
  })

  const of = (listings: Listings, tier: Tier, type: ItemType, id: string, category?: string) =>
    Effect.mapEager(listings(tier, type), (sourced) => entriesOf(sourced, id, category))

  /** Searches the tiers in order. Protected system items come before all. */
  const searchTiers = Effect.fnUntracedEager(function*(
    listings: Listings,
    ref: ItemRef,
    type: ItemType,
    tier: Tier | undefined
  ) {
    const { category, id } = ref
    if (tier !== undefined) return yield* of(listings, tier, type, id, category)
    const system = yield* listings("system", type)
    for (const entry of entriesOf(system, id)) {
      if (yield* isProtected(entry)) return entriesOf(system, id, category)
    }
    for (const other of ["project", "user"] as const) {
      const entries = yield* of(listings, other, type, id, category)
      if (entries.length > 0) return entries
    }
    return entriesOf(system, id, category)
  })

  const near = Effect.fnUntraced(function*(listings: Listings, ref: ItemRef, query: ItemQuery) {
    const ids = new Set<string>()
    const elsewhere = new Set<string>()
    for (const tier of query.tier === undefined ? tiers : [query.tier]) {
      for (const type of query.type === undefined ? ItemType.literals : [query.type]) {
        for (const { byId } of yield* listings(tier, type)) {
          for (const entry of byId.get(ref.id) ?? []) {
            elsewhere.add(printItemRef({ id: entry.location.id, category: entry.location.category || undefined }))
          }
          for (const id of byId.keys()) ids.add(id)
        }
      }
    }
    return [...Array.from(elsewhere).toSorted(), ...nearIds(ref.id, ids)].slice(0, 3)
  })

  /** Why a file or folder of that name is not an item. */
  const lackingOf = Effect.fnUntraced(function*(listings: Listings, { id }: ItemRef, query: ItemQuery) {
    for (const tier of query.tier === undefined ? tiers : [query.tier]) {
      for (const type of query.type === undefined ? ItemType.literals : [query.type]) {
        const [{ byId, problems }] = yield* listings(tier, type)
        const file = problems.find(({ item }) => /[:/]([^:/.]+)(?:\.[^/.]*)?$/.exec(item)?.[1] === id)
        if (file?._tag === "ItemInvalid") return `A file of that name is not a ${type}: ${file.issue}. ${file.hint}`
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

  const lookups = new BoundedMap<string, Lookup>(mostLookups)

  /** Whether each listing that the lookup read is the same object again: what it found is the same then. */
  const isCurrent = Effect.fnUntracedEager(function*(listings: Listings, { listed }: Lookup) {
    for (const [tier, type, before] of listed) {
      const now = yield* listings(tier, type)
      if (now[0] !== before || now.length > 1) return false
    }
    return true
  })

  const lookUp = Effect.fnUntracedEager(function*(listings: Listings, query: ItemQuery) {
    const ref = Option.getOrUndefined(parseItemRef(query.id))
    if (ref === undefined) return yield* new ItemIdInvalid({ id: query.id })
    const hits: Array<Entry> = []
    for (const type of query.type === undefined ? ItemType.literals : [query.type]) {
      hits.push(...yield* searchTiers(listings, ref, type, query.tier))
    }
    const hit = hits[0]
    if (hit === undefined) {
      const lacks = yield* lackingOf(listings, ref, query)
      return yield* new ItemNotFound(defined({
        id: query.id,
        type: query.type,
        tier: query.tier,
        near: yield* near(listings, ref, query),
        lacks,
        projectless: Option.isNone(files.rootOf("project")) || undefined
      }))
    }
    if (hits.length > 1) return yield* new ItemAmbiguous({ id: query.id, candidates: hits.map(showEntry).toSorted() })
    const location = yield* Effect.fromResult(resolve(hit))
    const hides: Array<ItemLocation> = []
    for (const tier of tiers.slice(tiers.indexOf(location.tier) + 1)) {
      for (const entry of yield* of(listings, tier, location.type, location.id)) hides.push(entry.location)
    }
    return { hit, found: { location, hides } }
  })

  /** Listings of other sources are not compared: where one was read, nothing is remembered. */
  const findIn = Effect.fnUntracedEager(function*(listings: Listings, query: ItemQuery) {
    const key = `${query.tier ?? ""}:${query.type ?? ""}:${query.id}`
    const known = lookups.get(key)
    if (known !== undefined && (yield* isCurrent(listings, known))) {
      const location = yield* Effect.fromResult(resolve(known.hit))
      return location === known.found.location ? known.found : { location, hides: known.found.hides }
    }
    const listed: Array<Lookup["listed"][number]> = []
    let isPlain = true
    const noted: Listings = (tier, type) =>
      Effect.mapEager(listings(tier, type), (sourced) => {
        listed.push([tier, type, sourced[0]])
        isPlain &&= sourced.length === 1
        return sourced
      })
    const { found, hit } = yield* lookUp(noted, query)
    if (isPlain) lookups.set(key, { listed, hit, found })
    return found
  })

  const listingsOf: ItemStore["Service"]["listings"] = Effect.fnUntraced(function*(tier) {
    const all = [...yield* files.listings(tier)]
    for (const source of others.get(tier) ?? []) {
      for (const type of ItemType.literals) all.push(yield* source.listing(tier, type))
    }
    return all
  })

  const list: ItemStore["Service"]["list"] = Effect.fn("ItemStore.list")(function*(filter = {}) {
    const locations: Array<ItemLocation> = []
    for (const tier of filter.tier === undefined ? tiers : [filter.tier]) {
      for (const type of filter.type === undefined ? ItemType.literals : [filter.type]) {
        const [own, ...rest] = yield* current(tier, type)
        for (const entries of own.byId.values()) {
          for (const entry of entries) {
            const location = Result.getOrUndefined(resolve(entry))
            if (location !== undefined) locations.push(location)
          }
        }
        for (const [id, entries] of rest.flatMap(({ byId }) => Array.from(byId))) {
          for (const entry of entries) {
            if (own.byId.get(id)?.some((file) => isSameName(file, entry)) !== true) locations.push(entry.location)
          }
        }
      }
    }
    return locations
  })

  const overruled = (entry: Entry, by: string): ItemInvalid =>
    new ItemInvalid({
      item: showEntry(entry),
      line: 0,
      column: 0,
      issue: `"${entry.location.id}" is the id of ${by}, which takes precedence over this one`,
      found: "",
      hint: entry.location.source === undefined ? "Give the file another name" : "Give one of them another name"
    })

  const problems = Effect.gen(function*() {
    const found: Array<ItemInvalid | ItemUnreadable | ItemAmbiguous> = []
    for (const type of ItemType.literals) {
      const system = yield* current("system", type)
      for (const tier of tiers) {
        const sourced = yield* current(tier, type)
        const [own, ...rest] = sourced
        for (const problem of sourced.flatMap((listing) => listing.problems)) found.push(problem)
        for (const id of new Set(sourced.flatMap(({ byId }) => [...byId.keys()]))) {
          const entries = entriesOf(sourced, id)
          if (entries.length > 1) found.push(new ItemAmbiguous({ id, candidates: entries.map(showEntry).toSorted() }))
          for (const entry of entries) {
            const resolved = resolve(entry)
            if (Result.isFailure(resolved)) found.push(resolved.failure)
          }
          for (const entry of rest.flatMap(({ byId }) => byId.get(id) ?? [])) {
            const isTaken = own.byId.get(id)?.some((file) => isSameName(file, entry)) === true
            if (isTaken) found.push(overruled(entry, "a file of its tier"))
          }
          if (tier === "system") continue
          for (const hidden of entriesOf(system, id)) {
            if (!(yield* isProtected(hidden))) continue
            for (const entry of entries) found.push(overruled(entry, "a protected system item"))
          }
        }
      }
    }
    return found
  }).pipe(Effect.withSpan("ItemStore.problems"))

  return ItemStore.of({
    find: (query) => Effect.suspend(() => findIn(current, query)),
    atOnce: Effect.sync(() => {
      const listings = asOfNow(current)
      return { find: (query) => findIn(listings, query) }
    }),
    list,
    listings: listingsOf,
    problems,
    read,
    rootOf: files.rootOf,
    changes: Stream.mergeAll([files, ...named.values()].map(({ changes }) => changes), { concurrency: "unbounded" }),
    changedSince: files.changedSince
  })
}
