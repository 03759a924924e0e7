// The index without a disk: every search walks all items. Same words, same order of hits as the SQLite index.
import { Effect, Layer } from "effect"
import { ItemParser } from "../../services/format/ItemParser.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { ItemIndex, type SearchQuery } from "../../services/search/ItemIndex.ts"
import { nearest } from "../../services/search/near.ts"
import {
  inverseFrequency,
  limitOf,
  type Match,
  rank,
  type RankedHit,
  tellingWords
} from "../../services/search/ranking.ts"
import {
  type Column,
  columns,
  documentOf,
  fold,
  parseQuery,
  type QueryWord,
  squash,
  type Term,
  weights
} from "../../services/search/searchText.ts"

interface Entry {
  readonly location: ItemLocation
  readonly digest: string
  readonly tags: ReadonlyArray<string>
  readonly words: Readonly<Record<Column, ReadonlyArray<string>>>
  readonly length: number
}

const has = (word: string, term: Term): boolean => term.prefix ? word.startsWith(term.token) : word === term.token

/** How often a document has a term, each time by its column's weight. */
const frequency = (entry: Entry, term: Term): number =>
  columns.reduce((sum, column) => sum + weights[column] * entry.words[column].filter((w) => has(w, term)).length, 0)

const matchesWord = (entry: Entry, word: QueryWord): boolean =>
  word.alternatives.some((terms) => terms.every((term) => frequency(entry, term) > 0))

const termsOf = (words: ReadonlyArray<QueryWord>): ReadonlyArray<Term> => words.flatMap((w) => w.alternatives.flat())

/** BM25 as FTS5 computes it, over one tier, divided by the sum of the words' inverse frequencies. */
const quality = (entry: Entry, words: ReadonlyArray<QueryWord>, entries: ReadonlyArray<Entry>): number => {
  const average = entries.reduce((sum, e) => sum + e.length, 0) / entries.length
  let score = 0
  let mass = 0
  for (const term of termsOf(words)) {
    const idf = inverseFrequency(entries.length, entries.filter((e) => frequency(e, term) > 0).length)
    const tf = frequency(entry, term)
    mass += idf
    score += idf * (tf * 2.2) / (tf + 1.2 * (1 - 0.75 + 0.75 * entry.length / average))
  }
  return score / mass
}

const passes = (entry: Entry, query: SearchQuery): boolean =>
  (query.type === undefined || entry.location.type === query.type) &&
  (query.category === undefined || entry.location.category === query.category ||
    entry.location.category.startsWith(`${query.category}/`)) &&
  (query.tags ?? []).every((tag) => entry.tags.includes(tag))

const searchTier = (entries: ReadonlyArray<Entry>, query: SearchQuery): ReadonlyArray<RankedHit> => {
  const parsed = parseQuery(query.query)
  const passing = entries.filter((entry) => passes(entry, query))
  const hit = (match: Match, of: (entry: Entry) => number = () => 0) => (entry: Entry): RankedHit => ({
    type: entry.location.type,
    id: entry.location.id,
    tier: entry.location.tier,
    category: entry.location.category,
    path: entry.location.path,
    match,
    quality: of(entry)
  })
  if (parsed.words.length === 0) {
    const narrowed = query.type !== undefined || query.category !== undefined || (query.tags ?? []).length > 0
    return narrowed && (parsed.literal === "" || parsed.literal === "*") ? passing.map(hit("all")) : []
  }
  const slash = parsed.literal.lastIndexOf("/")
  const id = parsed.literal.slice(slash + 1)
  const category = parsed.literal.slice(0, Math.max(0, slash))
  const isExact = ({ location }: Entry) =>
    location.id === id && (slash === -1 || location.category.toLowerCase() === category)
  const beginsWith = ({ location }: Entry) => slash === -1 && id.length > 1 && location.id.startsWith(id)
  const present = parsed.words.filter((word) => entries.some((entry) => matchesWord(entry, word)))
  const all = present.length === parsed.words.length
    ? passing.filter((entry) => present.every((word) => matchesWord(entry, word)))
    : []
  const telling = tellingWords(present, (word) => entries.filter((e) => matchesWord(e, word)).length, entries.length)
  const any = parsed.words.length > 1 ? passing.filter((e) => telling.some((word) => matchesWord(e, word))) : []
  const byWords = (entry: Entry) => quality(entry, present, entries)
  return [
    ...passing.filter(isExact).map(hit("exact")),
    ...passing.filter((entry) => squash(entry.location.id) === parsed.squashed).map(hit("named")),
    ...passing.filter(beginsWith).map(hit("prefix")),
    ...all.map(hit("all", byWords)),
    ...any.map(hit("any", byWords))
  ]
}

export const make = Effect.gen(function*() {
  const store = yield* ItemStore
  const parser = yield* ItemParser
  const known = new Map<string, Entry>()

  const load = Effect.fnUntraced(function*(location: ItemLocation) {
    const snapshot = yield* Effect.orElseSucceed(store.read(location), () => undefined)
    const digest = snapshot?.digest ?? ""
    const before = known.get(showLocation(location))
    if (before !== undefined && before.digest === digest) return before
    const item = snapshot === undefined
      ? undefined
      : yield* Effect.orElseSucceed(parser.parse(snapshot), () => undefined)
    const words = documentOf(location, item)
    return {
      location,
      digest,
      tags: (item?.tags ?? []).map(fold),
      words,
      length: columns.reduce((sum, column) => sum + words[column].length, 0)
    } satisfies Entry
  })

  const refresh: ItemIndex["Service"]["refresh"] = Effect.fn("ItemIndex.refresh")(function*(onProgress) {
    const locations = yield* store.list()
    const entries = yield* Effect.forEach(locations, load)
    const changed = entries.filter((entry) => known.get(showLocation(entry.location)) !== entry).length +
      Math.max(0, known.size - entries.length)
    known.clear()
    for (const entry of entries) known.set(showLocation(entry.location), entry)
    if (onProgress !== undefined && changed > 0) yield* onProgress(entries.length, entries.length)
    return { items: entries.length, changed }
  })

  const search = Effect.fn("ItemIndex.search")(function*(query: SearchQuery) {
    yield* refresh()
    const normal: SearchQuery = {
      ...query,
      category: query.category?.replace(/^\/+|\/+$/g, "") || undefined,
      tags: query.tags?.map(fold)
    }
    const byTier = Map.groupBy(known.values(), (entry) => entry.location.tier)
    const hits = [...byTier].flatMap(([tier, entries]) =>
      query.tier === undefined || query.tier === tier ? searchTier(entries, normal) : []
    )
    return rank(hits, limitOf(query))
  })

  const near: ItemIndex["Service"]["near"] = Effect.fn("ItemIndex.near")(function*(id, type) {
    const locations = yield* store.list({ type })
    return nearest(id, locations.map((location) => location.id))
  })

  return ItemIndex.of({ search, near, refresh })
})

export const layer = Layer.effect(ItemIndex, make)
