// The order of hits, the same for every backend: who gave a name gets what has it; everything else by one number, how
// much of what the question means an item has, and how much the item is about it.
import type { ItemType, Tier } from "../item/ItemId.ts"
import { ItemType as ItemTypes, tiers } from "../item/ItemId.ts"
import type { IndexHit, SearchQuery } from "./ItemIndex.ts"
import type { ParsedQuery, QueryWord } from "./searchText.ts"

/** Best first: the id, the id in another spelling, an id that begins so, an item that has words of the question. */
export const matches = ["exact", "named", "prefix", "words"] as const
export type Match = typeof matches[number]

export interface RankedHit extends Omit<IndexHit, "score"> {
  readonly match: Match
  /** From 0 to 1; 0 for a name. Comparable between tiers that were searched together. */
  readonly relevance: number
  /** How much of the question's meaning the item has, from 0 to 1. */
  readonly coverage: number
}

/** Of how many items some have a word, in all tiers that are searched. */
export interface Frequency {
  readonly items: number
  readonly having: number
}

/** A word that every tool could be described with tells half as much as its frequency says. */
const commonWeight = 0.5

/** The words of a question that are looked for. */
export const soughtIn = ({ joined, words }: ParsedQuery): ReadonlyArray<QueryWord> => [...words, ...joined]

/** How much each of them means: its inverse document frequency. Never 0, so that nothing divides by it. */
export const meanings = (
  question: ParsedQuery,
  frequencies: ReadonlyArray<Frequency>
): ReadonlyArray<number> =>
  soughtIn(question).map((word, index) => {
    const { having, items } = frequencies[index] ?? { having: 0, items: 0 }
    return Math.log(1 + (items - Math.min(having, items) + 0.5) / (having + 0.5)) * (word.common ? commonWeight : 1)
  })

/** A question of so few words is a command, each of whose words counts; a longer one is padded. */
const shortQuestion = 4
/** How much of a short question a hit has to cover that has one of its words, and not in its name. */
const shortCoverage = 0.3
/** How much of it a common word has to be that stands for the whole. */
const mostOfIt = 0.6

/** What of a question an item has. */
export interface Evidence {
  readonly words: number
  /** How many of them are not common words. */
  readonly telling: number
  /** How many of them stand in its name. */
  readonly named: number
  /** Whether its whole name is words of the question. */
  readonly isWhole: boolean
  readonly coverage: number
}

/** Whether an item that has these words is an answer. One common word is none, unless it is most of the question. */
export const isAnswer = (question: ParsedQuery, { coverage, isWhole, named, telling, words }: Evidence): boolean =>
  (telling > 0 || words > 1 || isWhole || coverage >= mostOfIt) &&
  (question.words.length > shortQuestion || words > 1 || named > 0 || coverage >= shortCoverage)

export const limitOf = (query: SearchQuery): number => Math.min(100, Math.max(1, Math.floor(query.limit ?? 10)))

const order = (hit: { readonly type: ItemType; readonly tier: Tier }): number =>
  tiers.indexOf(hit.tier) * 10 + ItemTypes.literals.indexOf(hit.type)

const text = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/** Coarse, so that a caller can prefer one of two equal matches. */
const scoreOf = ({ match, relevance }: RankedHit): number =>
  (matches.length - matches.indexOf(match) - 1) * 100 + Math.round(relevance * 1000) / 10

const compare = (a: RankedHit, b: RankedHit): number =>
  scoreOf(b) - scoreOf(a) ||
  // Of names that begin alike, the shortest is the nearest.
  (a.match === "prefix" ? a.id.length - b.id.length : 0) ||
  order(a) - order(b) ||
  text(a.id, b.id) ||
  text(a.path, b.path)

/** Whoever gave a name wants that item, not those that share a word with it. */
const isNamed = (hit: RankedHit): boolean => hit.match === "exact" || hit.match === "named"

/** Sums of fractions that are 1 come out a little below it. */
const whole = 0.999

/** Each item once, by its best match. */
export const rank = (hits: ReadonlyArray<RankedHit>, limit: number): ReadonlyArray<IndexHit> => {
  const seen = new Set<string>()
  const wanted = hits.some(isNamed) ? hits.filter((hit) => hit.match !== "words" || hit.coverage > whole) : hits
  return wanted.toSorted(compare).filter((hit) => {
    const key = `${hit.tier}:${hit.type}/${hit.path}`
    return !seen.has(key) && seen.add(key)
  }).slice(0, limit).map((hit) => {
    const { category, id, path, tier, type } = hit
    return { type, id, tier, category, path, score: scoreOf(hit) }
  })
}
