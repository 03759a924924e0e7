// Searches one tier's database. Ranking takes about a microsecond for each row that matches, so all rows of a rare word
// are ranked. For a frequent word, only the best rows of the others are checked for it; if every word is frequent, rows
// that have them in their names are ranked first.
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { editDistance } from "../../services/error/editDistance.ts"
import { isItemId, type ItemType, type Tier } from "../../services/item/ItemId.ts"
import type { SearchQuery } from "../../services/search/ItemIndex.ts"
import { type Frequency, isAnswer, type Match, type RankedHit, soughtIn } from "../../services/search/ranking.ts"
import { type ParsedQuery, type QueryWord, type Term, tokens, weights } from "../../services/search/searchText.ts"
import { candidateIds } from "./candidateIds.ts"
import { bm25, type SearchDatabase } from "./searchDatabase.ts"

/** One statement ranks at most so many rows. */
const rankable = 1000
/** A larger tier has nearly every word, and too many words to compare. */
const spellable = 5000
/** Too many shorter words differ by one letter only. */
const shortestSlip = 6
const shortestStem = 5

const expression = (term: Term): string => `"${term.token}"${term.prefix ? "*" : ""}`

const wordExpression = (word: QueryWord): string =>
  `(${word.alternatives.map((terms) => terms.map(expression).join(" AND ")).join(" OR ")})`

interface Filter {
  readonly sql: string
  readonly params: ReadonlyArray<unknown>
}

/** Conditions on `i`, a row of `items`; each begins with AND. */
const filterOf = (query: SearchQuery): Filter => {
  const params: Array<unknown> = []
  let sql = ""
  if (query.type !== undefined) {
    sql += " AND i.type = ?"
    params.push(query.type)
  }
  if (query.category !== undefined) {
    sql += " AND (i.category = ? OR substr(i.category, 1, ?) = ?)"
    params.push(query.category, query.category.length + 1, `${query.category}/`)
  }
  for (const tag of query.tags ?? []) {
    sql += " AND EXISTS (SELECT 1 FROM tags t WHERE t.item = i.rowid AND t.tag = ?)"
    params.push(tag)
  }
  return { sql, params }
}

/** A word of a question, and how many rows of this tier have it. */
interface Found {
  /** As in the question. */
  readonly given: QueryWord
  /** A prefix is kept only if no item has the whole word. */
  readonly word: QueryWord
  readonly match: string
  /** An upper bound of the number of rows that have it. */
  readonly rows: number
  readonly meaning: number
}

/** Which words of a question a row has, counted so far. */
interface Candidate {
  score: number
  covered: number
  words: number
  specific: number
  specificInBody: number
  named: number
}

const nothing: Candidate = { score: 0, covered: 0, words: 0, specific: 0, specificInBody: 0, named: 0 }

export interface SearchTier {
  /** How many items have each word of the question. */
  readonly frequencies: (parsed: ParsedQuery) => Effect.Effect<ReadonlyArray<Frequency>, SqlError>
  /** Words of items that a word which no item has may stand for: it has one slip, or is derived from them. */
  readonly spellings: (word: string) => Effect.Effect<ReadonlyArray<string>, SqlError>
  /** `meanings`: of each word, over all tiers that are searched. */
  readonly search: (
    query: SearchQuery,
    parsed: ParsedQuery,
    meanings: ReadonlyArray<number>,
    limit: number
  ) => Effect.Effect<Array<RankedHit>, SqlError>
  /** Ids that share enough with a mistyped one to be worth comparing. */
  readonly candidates: (id: string, type: ItemType | undefined) => Effect.Effect<ReadonlyArray<string>, SqlError>
}

/** The same formula as in FTS5, which multiplies a term's saturation with it. */
const inverseFrequency = (documents: number, having: number): number => {
  const idf = Math.log((documents - having + 0.5) / (having + 0.5))
  return idf <= 0 ? 1e-6 : idf
}

const none = { name: 0, title: 0, description: 0, labels: 0, body: 0 }

/** Over all columns, the name alone, and all but the body. */
const scores = `${bm25(weights)} AS s, ${bm25({ ...none, name: 1 })} AS n, ${bm25({ ...weights, body: 0 })} AS h`

/** The upper bound of BM25's saturation: FTS5's k1 of 1.2, and 1. */
const saturation = 2.2
/** The share of it that a word gets which stands once in a column of this weight, in a text of average length. */
const once = (weight: number): number => weight / (weight + 1.2)

/** Whether a word is this stem or begins with it, with at most one slip. */
const isSlipOf = (word: string, stem: string): boolean =>
  2 * stem.length >= word.length &&
  [stem.length - 1, stem.length, stem.length + 1].some((length) => editDistance(word.slice(0, length), stem, 1) <= 1)

export const makeSearchTier = (tier: Tier, database: SearchDatabase): SearchTier => {
  // For one version of the file.
  let version: number | undefined
  let items = 0
  let having = new BoundedMap<string, number>(10_000)

  const statistics = Effect.gen(function*() {
    const now = yield* database.version
    if (now === version) return
    const rows = yield* database.rows("SELECT count(*) FROM items")
    having = new BoundedMap(10_000)
    items = Number(rows[0]![0])
    version = now
  })

  const rowsHaving = Effect.fnUntraced(function*(term: Term) {
    const match = expression(term)
    const known = having.get(match)
    if (known !== undefined) return known
    const rows = yield* database.rows("SELECT count(*) FROM words WHERE words MATCH ?", [match])
    const count = Number(rows[0]![0])
    having.set(match, count)
    return count
  })

  /** Drops the prefix if some item has the whole word. */
  const preferWholeWord = Effect.fnUntraced(function*(term: Term) {
    if (!term.prefix) return term
    const whole: Term = { token: term.token, prefix: false }
    return (yield* rowsHaving(whole)) > 0 ? whole : term
  })

  /** An upper bound: rows with two alternatives are counted twice. */
  const countRows = Effect.fnUntraced(function*(given: QueryWord, meaning: number) {
    const alternatives: Array<ReadonlyArray<Term>> = []
    for (const terms of given.alternatives) {
      alternatives.push(yield* Effect.forEach(terms, preferWholeWord))
    }
    const word: QueryWord = { ...given, alternatives }
    let rows = 0
    for (const terms of word.alternatives) {
      let least = Infinity
      for (const term of terms) least = Math.min(least, yield* rowsHaving(term))
      rows += least
    }
    return { given, word, match: wordExpression(word), rows, meaning } satisfies Found
  })

  /** FTS5's BM25 of a word, divided by this, leaves its saturation. The least of its alternatives. */
  const weightOf = Effect.fnUntraced(function*({ word }: Found) {
    let least = Infinity
    for (const terms of word.alternatives) {
      let sum = 0
      for (const term of terms) sum += inverseFrequency(items, yield* rowsHaving(term))
      least = Math.min(least, sum)
    }
    return least
  })

  const hits = (rows: ReadonlyArray<ReadonlyArray<unknown>>, match: Match): Array<RankedHit> =>
    rows.flatMap(([type, id, category, path]) =>
      // The file may have been written by another program.
      isItemId(id) && (type === "directive" || type === "tool" || type === "knowledge")
        ? [{
          type,
          id,
          tier,
          category: String(category),
          path: String(path),
          match,
          relevance: 0,
          coverage: 0,
          isAnswer: true
        }]
        : []
    )

  const fields = "i.type, i.id, i.category, i.path"

  const byName = Effect.fnUntraced(function*(parsed: ParsedQuery, filter: Filter, limit: number) {
    const where = (match: Match, condition: string, ...params: ReadonlyArray<unknown>) =>
      Effect.map(
        database.rows(`SELECT ${fields} FROM items i WHERE ${condition}${filter.sql} ORDER BY i.id LIMIT ?`, [
          ...params,
          ...filter.params,
          limit
        ]),
        (rows) => hits(rows, match)
      )
    const slash = parsed.literal.lastIndexOf("/")
    const id = parsed.literal.slice(slash + 1)
    const found: Array<RankedHit> = []
    if (isItemId(id)) {
      const category = parsed.literal.slice(0, Math.max(0, slash))
      found.push(
        ...slash === -1
          ? yield* where("exact", "i.id = ?", id)
          : yield* where("exact", "i.id = ? AND lower(i.category) = ?", id, category)
      )
    }
    if (parsed.squashed !== "") found.push(...yield* where("named", "i.squashed = ?", parsed.squashed))
    // "~" is above every character of an id.
    if (slash === -1 && id.length > 1 && isItemId(id)) {
      found.push(...yield* where("prefix", "i.id > ? AND i.id < ?", id, `${id}~`))
    }
    return found
  })

  /** Everything in a category, of a type or with a tag, for a question without words. */
  const listing = Effect.fnUntraced(function*(parsed: ParsedQuery, filter: Filter, limit: number) {
    if (filter.sql === "" || (parsed.literal !== "" && parsed.literal !== "*")) return []
    const rows = yield* database.rows(
      `SELECT ${fields} FROM items i WHERE 1${filter.sql} ORDER BY i.id, i.path LIMIT ?`,
      [...filter.params, limit]
    )
    return hits(rows, "words")
  })

  /** Rows of `words` that match and pass the filter, with their scores: over all, by name, and without the body. */
  const matching = (match: string, filter: Filter, bound: string) =>
    database.rows(
      filter.sql === ""
        ? `SELECT rowid, ${scores} FROM words WHERE words MATCH ? ${bound}`
        : `SELECT r, s, n, h FROM (SELECT rowid AS r, ${scores} FROM words WHERE words MATCH ?) m
            JOIN items i ON i.rowid = m.r WHERE 1${filter.sql} ${bound}`,
      [match, ...filter.params]
    )

  /** If every word is frequent: rows that have all of them, in the order name, head, body. */
  const seeds = Effect.fnUntraced(function*(words: ReadonlyArray<Found>, filter: Filter, limit: number) {
    const rows = new Set<number>()
    const all = words.map(({ match }) => match).join(" AND ")
    for (const wanted of words.length === 1 ? [all] : [all, words[0]!.match]) {
      for (const scope of ["name : ", "{name title description labels} : ", ""]) {
        for (const [row] of yield* matching(`${scope}(${wanted})`, filter, `LIMIT ${rankable}`)) {
          rows.add(Number(row))
        }
        if (rows.size >= limit) return rows
      }
    }
    return rows
  })

  const byWords = Effect.fnUntraced(function*(
    parsed: ParsedQuery,
    present: ReadonlyArray<Found>,
    meaning: number,
    filter: Filter,
    limit: number
  ) {
    const found = new Map<number, Candidate>()
    const count = (word: Found, row: number, at: "name" | "head" | "body", saturated: number) => {
      const candidate = found.get(row) ?? { ...nothing }
      candidate.score += word.meaning * saturated
      found.set(row, candidate)
      if (word.word.kind === "filler") return
      candidate.covered += word.meaning
      candidate.words++
      if (word.word.instead !== undefined) return
      if (word.word.kind === "specific") candidate[at === "body" ? "specificInBody" : "specific"]++
      if (at === "name") candidate.named++
    }
    let budget = 4 * rankable
    const frequent: Array<Found> = []
    const rowsOf = new Map<QueryWord, Set<number>>()
    for (const word of present) {
      const { instead } = word.word
      if (word.rows > rankable || word.rows > budget) {
        if (instead === undefined && word.word.kind !== "filler") frequent.push(word)
        continue
      }
      budget -= word.rows
      const weight = (yield* weightOf(word)) * saturation
      const had = instead === undefined ? undefined : rowsOf.get(instead)
      const rows = new Set<number>()
      for (const [row, score, name, head] of yield* matching(word.match, filter, "")) {
        const at = Number(name) !== 0 ? "name" : Number(head) !== 0 ? "head" : "body"
        rows.add(Number(row))
        if (had?.has(Number(row)) !== true) count(word, Number(row), at, Math.min(1, -Number(score) / weight))
      }
      rowsOf.set(word.given, rows)
    }
    const best = found.size > 0
      ? [...found].toSorted(([, a], [, b]) => b.score - a.score).slice(0, limit + 50).map(([row]) => row)
      : frequent.length > 0
      ? [...yield* seeds(frequent, filter, limit)].slice(0, limit + 50)
      : []
    if (best.length === 0) return []
    const ofBest = (match: string) =>
      Effect.map(
        database.rows(`SELECT rowid FROM words WHERE words MATCH ? AND rowid IN (${best.join(", ")})`, [match]),
        (rows) => rows.map(([row]) => Number(row))
      )
    for (const word of frequent) {
      const named = new Set(yield* ofBest(`name : (${word.match})`))
      for (const row of yield* ofBest(word.match)) {
        count(word, row, named.has(row) ? "name" : "head", once(named.has(row) ? weights.name : weights.body))
      }
    }
    const rows = yield* database.rows(
      `SELECT ${fields}, i.rowid FROM items i WHERE i.rowid IN (${best.join(", ")})`
    )
    return rows.flatMap((row) => {
      const [hit] = hits([row], "words")
      const candidate = found.get(Number(row.at(-1)))
      if (hit === undefined || candidate === undefined || candidate.words === 0) return []
      const { covered, named, score, words } = candidate
      // A tool's body lists its parameters: one called "port" does not make it a tool for ports.
      const specific = candidate.specific + (hit.type === "tool" ? 0 : candidate.specificInBody)
      const coverage = Math.min(1, covered / meaning)
      const isWhole = tokens(hit.id).every((part) => parsed.tokens.has(part))
      const relevance = Math.min(1, score / meaning)
      const evidence = { words, specific, named, isWhole, coverage, relevance }
      return [{ ...hit, relevance, coverage, isAnswer: isAnswer(parsed, evidence) }]
    })
  })

  const search = Effect.fnUntraced(function*(
    query: SearchQuery,
    parsed: ParsedQuery,
    meanings: ReadonlyArray<number>,
    limit: number
  ) {
    yield* statistics
    const filter = filterOf(query)
    if (parsed.words.length === 0) return yield* listing(parsed, filter, limit)
    const words: Array<Found> = []
    for (const [index, word] of soughtIn(parsed).entries()) words.push(yield* countRows(word, meanings[index] ?? 0))
    // A word comes before its stand-ins.
    const present = words.filter((word) => word.rows > 0).toSorted((a, b) =>
      Number(a.word.instead !== undefined) - Number(b.word.instead !== undefined) || a.rows - b.rows
    )
    const named = yield* byName(parsed, filter, limit)
    if (present.length === 0) return named
    const meaning = meanings.slice(0, parsed.words.length).reduce((sum, one) => sum + one, 0)
    return [...named, ...yield* byWords(parsed, present, meaning, filter, limit)]
  })

  const frequencies = Effect.fnUntraced(function*(parsed: ParsedQuery) {
    yield* statistics
    const found: Array<Frequency> = []
    for (const word of soughtIn(parsed)) found.push({ items, having: (yield* countRows(word, 0)).rows })
    return found
  })

  const spellings = Effect.fnUntraced(function*(word: string) {
    yield* statistics
    if (items > spellable || word.length < shortestSlip) return []
    yield* database.rows("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)")
    const begin = word.slice(0, 2)
    const rows = yield* database.rows(
      "SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
      [begin, `${begin}~`, shortestStem, word.length + 1]
    )
    return rows.map(([term]) => String(term)).filter((term) => isSlipOf(word, term))
  })

  return { frequencies, spellings, search, candidates: candidateIds(database) }
}
