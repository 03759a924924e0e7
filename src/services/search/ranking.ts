// The order of hits, the same for every backend: how a query matches first, then how well. Quality is BM25 divided by
// the sum of its inverse document frequencies, so that hits from indexes of different sizes can be compared.
import type { ItemType, Tier } from "../item/ItemId.ts"
import { ItemType as ItemTypes, tiers } from "../item/ItemId.ts"
import type { IndexHit, SearchQuery } from "./ItemIndex.ts"

/** Best first. */
export const matches = ["exact", "named", "prefix", "all", "any"] as const
export type Match = typeof matches[number]

export interface RankedHit extends Omit<IndexHit, "score"> {
  readonly match: Match
  readonly quality: number
}

/** FTS5's, to the letter: a word that half of the documents have counts next to nothing. */
export const inverseFrequency = (documents: number, having: number): number => {
  const idf = Math.log((documents - having + 0.5) / (having + 0.5))
  return idf <= 0 ? 1e-6 : idf
}

/** Beyond this many items, a word that half of them have is not looked for on its own where there is another. */
const smallCorpus = 20

/** Of the words that some item has, those worth finding an item by that has not all of them; the rarest at least. */
export const tellingWords = <A>(
  words: ReadonlyArray<A>,
  having: (word: A) => number,
  items: number
): ReadonlyArray<A> => {
  if (items < smallCorpus) return words
  const telling = words.filter((word) => having(word) <= items / 2)
  return telling.length > 0 ? telling : words.toSorted((a, b) => having(a) - having(b)).slice(0, 1)
}

export const limitOf = (query: SearchQuery): number => Math.min(100, Math.max(1, Math.floor(query.limit ?? 10)))

const order = (hit: { readonly type: ItemType; readonly tier: Tier }): number =>
  tiers.indexOf(hit.tier) * 10 + ItemTypes.literals.indexOf(hit.type)

const text = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

const compare = (a: RankedHit, b: RankedHit): number =>
  matches.indexOf(a.match) - matches.indexOf(b.match) ||
  b.quality - a.quality ||
  // Of names that begin alike, the shortest is the nearest.
  (a.match === "prefix" ? a.id.length - b.id.length : 0) ||
  order(a) - order(b) ||
  text(a.id, b.id) ||
  text(a.path, b.path)

/** Whoever gave a name wants that item, not those that share a word with it. */
export const isNamed = (hit: RankedHit): boolean => hit.match === "exact" || hit.match === "named"

/** Each item once, by its best match. Scores are coarse, so that a caller can prefer one of two equal matches. */
export const rank = (hits: ReadonlyArray<RankedHit>, limit: number): ReadonlyArray<IndexHit> => {
  const seen = new Set<string>()
  const wanted = hits.some(isNamed) ? hits.filter((hit) => hit.match !== "any") : hits
  return wanted.toSorted(compare).filter((hit) => {
    const key = `${hit.tier}:${hit.type}/${hit.path}`
    return !seen.has(key) && seen.add(key)
  }).slice(0, limit).map(({ category, id, match, path, quality, tier, type }) => ({
    type,
    id,
    tier,
    category,
    path,
    score: (matches.length - matches.indexOf(match)) * 100 + Math.round(quality * 10) / 10
  }))
}
