// Finding in one tier's database. Ranking costs about a microsecond for each row that matches, so a query is planned by
// how many rows each of its words has: frequent words are left to the rare ones, and where all are frequent, matches
// in names are ranked before those in bodies.
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { isItemId, type ItemType, type Tier } from "../../services/item/ItemId.ts"
import type { SearchQuery } from "../../services/search/ItemIndex.ts"
import { tolerance } from "../../services/search/near.ts"
import { inverseFrequency, isNamed, type Match, type RankedHit, tellingWords } from "../../services/search/ranking.ts"
import type { ParsedQuery, QueryWord, Term } from "../../services/search/searchText.ts"
import { bm25, type SearchDatabase } from "./searchDatabase.ts"

/** How many rows are ranked at most by one statement. */
const rankable = 1000

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

interface Found {
  readonly word: QueryWord
  readonly match: string
  /** An upper bound of the number of rows that have it. */
  readonly rows: number
}

export interface SearchTier {
  readonly search: (query: SearchQuery, parsed: ParsedQuery, limit: number) => Effect.Effect<Array<RankedHit>, SqlError>
  /** Ids that share enough with a mistyped one to be worth comparing. */
  readonly candidates: (id: string, type: ItemType | undefined) => Effect.Effect<ReadonlyArray<string>, SqlError>
}

export const makeSearchTier = (tier: Tier, database: SearchDatabase): SearchTier => {
  // Statistics hold for one version of the file.
  let version: number | undefined
  let items = 0
  const having = new Map<string, number>()

  const statistics = Effect.gen(function*() {
    const now = yield* database.version
    if (now === version) return
    const rows = yield* database.rows("SELECT count(*) FROM items")
    having.clear()
    items = Number(rows[0]![0])
    version = now
  })

  const rowsHaving = Effect.fnUntraced(function*(term: Term) {
    const match = expression(term)
    const known = having.get(match)
    if (known !== undefined) return known
    const rows = yield* database.rows("SELECT count(*) FROM words WHERE words MATCH ?", [match])
    const count = Number(rows[0]![0])
    if (having.size >= 10_000) having.clear()
    having.set(match, count)
    return count
  })

  /** Where a whole word has rows enough, what merely begins with it only costs: SQLite merges all of that first. */
  const settle = Effect.fnUntraced(function*(term: Term) {
    if (!term.prefix) return term
    const whole: Term = { token: term.token, prefix: false }
    return (yield* rowsHaving(whole)) >= rankable ? whole : term
  })

  const look = Effect.fnUntraced(function*(given: QueryWord) {
    const alternatives: Array<ReadonlyArray<Term>> = []
    for (const terms of given.alternatives) {
      const settled: Array<Term> = []
      for (const term of terms) settled.push(yield* settle(term))
      alternatives.push(settled)
    }
    const word: QueryWord = { alternatives }
    let rows = 0
    for (const terms of word.alternatives) {
      let least = Infinity
      for (const term of terms) least = Math.min(least, yield* rowsHaving(term))
      rows += least
    }
    return { word, match: wordExpression(word), rows } satisfies Found
  })

  /** The sum by which BM25 is divided to become a quality. */
  const mass = Effect.fnUntraced(function*(words: ReadonlyArray<Found>) {
    let sum = 0
    for (const { word } of words) {
      for (const terms of word.alternatives) {
        for (const term of terms) sum += inverseFrequency(items, yield* rowsHaving(term))
      }
    }
    return sum
  })

  const hits = (rows: ReadonlyArray<ReadonlyArray<unknown>>, match: Match, divisor = 1): Array<RankedHit> =>
    rows.flatMap(([type, id, category, path, score]) =>
      // A file that somebody else wrote may say anything.
      isItemId(id) && (type === "directive" || type === "tool" || type === "knowledge")
        ? [{
          type,
          id,
          tier,
          category: String(category),
          path: String(path),
          match,
          quality: -Number(score ?? 0) / divisor
        }]
        : []
    )

  const fields = "i.type, i.id, i.category, i.path"

  const byName = Effect.fnUntraced(function*(parsed: ParsedQuery, filter: Filter, limit: number) {
    const where = (match: Match, condition: string, ...params: ReadonlyArray<unknown>) =>
      Effect.map(
        database.rows(`SELECT ${fields}, 0 FROM items i WHERE ${condition}${filter.sql} ORDER BY i.id LIMIT ?`, [
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

  /** Everything in a category, of a type or with a tag, where no words are asked for. */
  const listing = Effect.fnUntraced(function*(parsed: ParsedQuery, filter: Filter, limit: number) {
    if (filter.sql === "" || (parsed.literal !== "" && parsed.literal !== "*")) return []
    const rows = yield* database.rows(
      `SELECT ${fields}, 0 FROM items i WHERE 1${filter.sql} ORDER BY i.id, i.path LIMIT ?`,
      [...filter.params, limit]
    )
    return hits(rows, "all")
  })

  const ranked = Effect.fnUntraced(function*(
    match: Match,
    words: ReadonlyArray<Found>,
    operator: "AND" | "OR",
    filter: Filter,
    limit: number,
    bounded: boolean
  ) {
    const divisor = yield* mass(words)
    // Some more than asked for, so that ties at the end are broken by name and not by row.
    const count = limit + 50
    const statement = (rows: string) =>
      filter.sql === ""
        ? `SELECT ${fields}, m.s FROM (SELECT r, s FROM (${rows}) ORDER BY s, r LIMIT ?) m JOIN items i ON i.rowid = m.r`
        : `SELECT ${fields}, m.s FROM (${rows}) m JOIN items i ON i.rowid = m.r WHERE 1${filter.sql} ORDER BY m.s LIMIT ?`
    const expressionOf = words.map((word) => word.match).join(` ${operator} `)
    const select = `SELECT rowid AS r, ${bm25} AS s FROM words WHERE words MATCH ?`
    if (!bounded) {
      return hits(
        yield* database.rows(statement(select), [expressionOf, ...filter.params, count]),
        match,
        divisor
      )
    }
    const found: Array<RankedHit> = []
    for (const scope of ["name : ", "{name title description labels} : ", ""]) {
      const rows = yield* database.rows(statement(`${select} LIMIT ${rankable}`), [
        `${scope}(${expressionOf})`,
        ...filter.params,
        count
      ])
      found.push(...hits(rows, match, divisor))
      if (rows.length >= limit) break
    }
    return found
  })

  const search = Effect.fnUntraced(function*(query: SearchQuery, parsed: ParsedQuery, limit: number) {
    yield* statistics
    const filter = filterOf(query)
    if (parsed.words.length === 0) return yield* listing(parsed, filter, limit)
    const found = yield* byName(parsed, filter, limit)
    const words: Array<Found> = []
    for (const word of parsed.words) words.push(yield* look(word))
    const present = words.filter((word) => word.rows > 0).toSorted((a, b) => a.rows - b.rows)
    if (present.length === 0) return found
    const [rarest] = present
    if (present.length === words.length) {
      found.push(...yield* ranked("all", present, "AND", filter, limit, rarest!.rows > rankable))
    }
    if (words.length === 1 || found.length >= limit || found.some(isNamed)) return found
    const chosen: Array<Found> = []
    let rows = 0
    for (const word of tellingWords(present, (one) => one.rows, items)) {
      if (chosen.length > 0 && rows + word.rows > rankable) break
      chosen.push(word)
      rows += word.rows
    }
    found.push(...yield* ranked("any", chosen, "OR", filter, limit, rows > rankable))
    return found
  })

  const candidates = Effect.fnUntraced(function*(id: string, type: ItemType | undefined) {
    const [condition, params] = type === undefined ? ["", []] as const : [" AND i.type = ?", [type]] as const
    const reach = tolerance(id)
    const ids: Array<string> = []
    const collect = (rows: ReadonlyArray<ReadonlyArray<unknown>>) => {
      for (const [found] of rows) if (isItemId(found)) ids.push(found)
    }
    const squashed = id.replace(/[^a-z0-9]/g, "")
    if (squashed === "") return ids
    collect(
      yield* database.rows(`SELECT i.id FROM items i WHERE i.squashed = ?${condition} LIMIT 10`, [
        squashed,
        ...params
      ])
    )
    for (const start of new Set([id.slice(0, 3), id.slice(0, 2), id.slice(0, 1)])) {
      collect(
        yield* database.rows(
          `SELECT i.id FROM items i WHERE i.id >= ? AND i.id < ?${condition}
            AND length(i.id) BETWEEN ? AND ? ORDER BY i.id LIMIT 1000`,
          [start, `${start}~`, ...params, id.length - reach, id.length + (start.length > 2 ? 32 : reach)]
        )
      )
    }
    // Rarest first: what the slip made of the id is in no other, and what every id has says nothing.
    const grams: Array<readonly [string, number]> = []
    for (const gram of new Set(Array.from({ length: Math.max(0, id.length - 2) }, (_, i) => id.slice(i, i + 3)))) {
      const rows = yield* database.rows("SELECT count(*) FROM grams WHERE grams MATCH ?", [`"${gram}"`])
      const count = Number(rows[0]![0])
      if (count > 0) grams.push([gram, count])
    }
    let budget = rankable
    for (const [gram, count] of grams.toSorted((a, b) => a[1] - b[1])) {
      if (count > budget) break
      budget -= count
      collect(
        yield* database.rows(
          `SELECT i.id FROM grams JOIN items i ON i.rowid = grams.rowid WHERE grams MATCH ?${condition}`,
          [`"${gram}"`, ...params]
        )
      )
    }
    return ids
  })

  return { search, candidates }
}
