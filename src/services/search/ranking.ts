// The order of hits, the same for every backend: who gave a name gets what has it; everything else by one number, how
// much of what the question means an item has, and how much the item is about it.
import type { ItemType, Tier } from "../item/ItemId.ts"
import { ItemType as ItemTypes, tiers } from "../item/ItemId.ts"
import { type IndexHit, mostHits, type SearchQuery } from "./ItemIndex.ts"
import type { ParsedQuery, QueryWord } from "./searchText.ts"

/** Best first: the id, the id in another spelling, an id that begins so, an item that has words of the question. */
const matches = ["exact", "named", "prefix", "words"] as const
export type Match = typeof matches[number]

export interface RankedHit extends Omit<IndexHit, "score"> {
  readonly match: Match
  /** From 0 to 1; 0 for a name. Comparable between tiers that were searched together. */
  readonly relevance: number
  /** How much of the question's meaning the item has, from 0 to 1. */
  readonly coverage: number
  /** Whether it would be found if it were the only one. */
  readonly isAnswer: boolean
}

/** Of how many items some have a word, in all tiers that are searched. */
export interface Frequency {
  readonly items: number
  readonly having: number
}

/** A word that every tool could be described with tells half as much as its frequency says. */
const kindWeight = { specific: 1, common: 0.5, filler: 0.25 } as const
/** And so does what stands in for a word. */
const insteadWeight = 0.6

/** The words of a question that are looked for. */
export const soughtIn = ({ optional, words }: ParsedQuery): ReadonlyArray<QueryWord> => [...words, ...optional]

/** How much each of them means: its inverse document frequency. Never 0, so that nothing divides by it. */
export const meanings = (
  question: ParsedQuery,
  frequencies: ReadonlyArray<Frequency>
): ReadonlyArray<number> =>
  soughtIn(question).map((word, index) => {
    const { having, items } = frequencies[index] ?? { having: 0, items: 0 }
    return Math.log(1 + (items - Math.min(having, items) + 0.5) / (having + 0.5)) * kindWeight[word.kind] *
      (word.instead === undefined ? 1 : insteadWeight)
  })

/** A question of so few words is a command, each of whose words counts; a longer one is padded. */
const shortQuestion = 4
/** How much of a short question a hit has to cover that has one of its words, and not in its name. */
const shortCoverage = 0.3
/** How much of it a common word has to be that stands for the whole, and how much one that is in the item's name. */
const mostOfIt = 0.6
const namedPart = 0.25
/** How relevant, in words, what has less than most of it has to be: a long text may have any word by chance. */
const leastRelevance = 0.2

/** What of a question an item has. */
export interface Evidence {
  readonly words: number
  /** How many of them are specific, and not stand-ins for others. */
  readonly specific: number
  /** How many of them stand in its name, and in the place of no other. */
  readonly named: number
  /** Whether its whole name is words of the question. */
  readonly isWhole: boolean
  readonly coverage: number
  readonly relevance: number
}

/** Whether an item that has these words is an answer. One common word is none, unless it is enough of the question. */
export const isAnswer = (
  question: ParsedQuery,
  { coverage, isWhole, named, relevance, specific, words }: Evidence
): boolean => {
  const asked = question.words.length
  const means = specific > 0 || words > 1 || words >= asked || isWhole || coverage >= (named > 0 ? namedPart : mostOfIt)
  const covers = asked > shortQuestion || words > 1 || named > 0 || coverage >= shortCoverage
  return means && covers && (words >= asked || coverage >= mostOfIt || relevance * asked >= leastRelevance)
}

/** What would be no answer by itself stands beside one if it is at least so much as relevant. */
const besideAnswer = 0.5

export const limitOf = (query: SearchQuery): number => Math.min(mostHits, Math.max(1, Math.floor(query.limit ?? 10)))

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

/** Those that are answers, and what comes near to the best of these. */
const answersOf = (hits: ReadonlyArray<RankedHit>): ReadonlyArray<RankedHit> => {
  const best = hits.reduce((most, hit) => hit.isAnswer ? Math.max(most, hit.relevance) : most, 0)
  return hits.filter((hit) => hit.isAnswer || (best > 0 && hit.relevance >= besideAnswer * best))
}

/** What comes with Kiwi is mostly help and what tools are built on: by words alone, people mean their own items. */
const systemWeight = 0.6

const weighed = (hit: RankedHit): RankedHit =>
  hit.tier === "system" && hit.match === "words" ? { ...hit, relevance: hit.relevance * systemWeight } : hit

/** Each item once, by its best match. */
export const rank = (found: ReadonlyArray<RankedHit>, limit: number): ReadonlyArray<IndexHit> => {
  const seen = new Set<string>()
  const hits = found.map(weighed)
  const answers = answersOf(hits)
  const wanted = hits.some(isNamed) ? answers.filter((hit) => hit.match !== "words" || hit.coverage > whole) : answers
  return wanted.toSorted(compare).filter((hit) => {
    const key = `${hit.tier}:${hit.type}/${hit.path}`
    return !seen.has(key) && seen.add(key)
  }).slice(0, limit).map((hit) => {
    const { category, id, path, tier, type } = hit
    return { type, id, tier, category, path, score: scoreOf(hit) }
  })
}
