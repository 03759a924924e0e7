import { Effect } from "effect"
import { isItemId, type ItemType } from "../../services/item/ItemId.ts"
import { tolerance } from "../../services/search/near.ts"
import type { SearchDatabase } from "./searchDatabase.ts"

/** So many ids are found by their parts at most. */
const mostIds = 1_000

/** Finds ids that share enough with a mistyped one to be worth comparing: their letters, their beginning, or parts. */
export const candidateIds = (database: SearchDatabase) =>
  Effect.fnUntraced(function*(id: string, type: ItemType | undefined) {
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
    // Rarest first: a part that many ids have selects nothing.
    const grams: Array<readonly [string, number]> = []
    for (const gram of new Set(Array.from({ length: Math.max(0, id.length - 2) }, (_, i) => id.slice(i, i + 3)))) {
      const rows = yield* database.rows("SELECT count(*) FROM grams WHERE grams MATCH ?", [`"${gram}"`])
      const count = Number(rows[0]![0])
      if (count > 0) grams.push([gram, count])
    }
    let budget = mostIds
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
