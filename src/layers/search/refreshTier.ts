// Bringing one tier's index up to date: compare what lies on disk with what was indexed, parse only what differs, write
// in small batches. Between batches everything else goes on; one process at a time writes, the others wait and then
// find little left to do.
import { Clock, Effect, Schedule } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { statSync } from "node:fs"
import { dirname } from "node:path"
import type { ItemParser } from "../../services/format/ItemParser.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import type { ItemType, Tier } from "../../services/item/ItemId.ts"
import type { ItemStore } from "../../services/item/ItemStore.ts"
import { documentOf, fold } from "../../services/search/searchText.ts"
import { LockUnavailable, type ProcessLock } from "../../services/workspace/ProcessLock.ts"
import type { IndexedItem, SearchDatabase } from "./searchDatabase.ts"

export interface Refreshed {
  readonly items: number
  readonly changed: number
  /** What it cost to find out that nothing changed, or what. */
  readonly millis: number
}

export type Report = (done: number, total: number) => Effect.Effect<void>

/** Items in one transaction: a commit costs as much as some items. Other fibers get a turn after each item. */
const batchSize = 256
/** How many files are looked at, and rows read, before other fibers get a turn. */
const stride = 256
const pageSize = 2048
/** A file that changed this recently can change again without its times showing it. */
const racyMillis = 2000

const mainFile: Readonly<Record<ItemType, string>> = {
  directive: "SKILL.md",
  tool: "tool.yaml",
  knowledge: "SKILL.md"
}

const statIdentity = (file: string): readonly [string, number] => {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? ["", 0] : [`${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`, stat.ctimeMs]
}

/** What tells whether an item is the one that was indexed, "" where nothing does, and when it changed: milliseconds. */
export type IdentityOf = (location: ItemLocation) => readonly [identity: string, changed: number]

/** By its file; for a folder, by that and its main file. By its digest where it is no file. */
export const fileIdentity: IdentityOf = (location) => {
  if (location.source !== undefined) return [location.source.digest, Number.NEGATIVE_INFINITY]
  try {
    const [own, changed] = statIdentity(location.file)
    if (location.kind === "file") return [own, changed]
    const [main, mainChanged] = statIdentity(`${location.file}/${mainFile[location.type]}`)
    return [`${own} ${main}`, Math.max(changed, mainChanged)]
  } catch {
    return ["", 0]
  }
}

interface Indexed {
  readonly row: number
  readonly identity: string
  readonly digest: string
}

interface Changed {
  readonly location: ItemLocation
  readonly indexed: Indexed | undefined
}

interface Difference {
  readonly millis: number
  readonly items: number
  readonly changed: ReadonlyArray<Changed>
  readonly gone: ReadonlyArray<number>
}

export const makeRefreshTier = (
  tier: Tier,
  filename: string,
  identityOf: IdentityOf,
  services: {
    readonly store: ItemStore["Service"]
    readonly parser: ItemParser["Service"]
    readonly lock: ProcessLock["Service"]
  }
) => {
  const compare = Effect.fnUntraced(function*(database: SearchDatabase) {
    const started = yield* Clock.currentTimeNanos
    const locations = yield* services.store.list({ tier })
    const known = new Map<string, Indexed>()
    let last = 0
    while (true) {
      const rows = yield* database.rows(
        "SELECT rowid, type, path, identity, digest FROM items WHERE rowid > ? ORDER BY rowid LIMIT ?",
        [last, pageSize]
      )
      for (const [row, type, path, identity, digest] of rows) {
        last = Number(row)
        known.set(`${type}/${path}`, { row: last, identity: String(identity), digest: String(digest) })
      }
      if (rows.length < pageSize) break
      yield* Effect.yieldNow
    }
    const changed: Array<Changed> = []
    for (const [i, location] of locations.entries()) {
      if (i % stride === stride - 1) yield* Effect.yieldNow
      const key = `${location.type}/${location.path}`
      const indexed = known.get(key)
      known.delete(key)
      const [identity] = identityOf(location)
      if (identity === "" || indexed?.identity !== identity) changed.push({ location, indexed })
    }
    return {
      millis: Number((yield* Clock.currentTimeNanos) - started) / 1e6,
      items: locations.length,
      changed,
      gone: [...known.values()].map(({ row }) => row)
    } satisfies Difference
  })

  const index = Effect.fnUntraced(function*({ indexed, location }: Changed) {
    // Before reading: a change in between is then found by the next refresh.
    const [seen, changed] = identityOf(location)
    const now = yield* Clock.currentTimeMillis
    const identity = Math.abs(now - changed) < racyMillis ? "" : seen
    const snapshot = yield* Effect.orElseSucceed(services.store.read(location), () => undefined)
    const digest = snapshot?.digest ?? ""
    if (indexed !== undefined && digest !== "" && indexed.digest === digest) return { row: indexed.row, identity }
    const item = snapshot === undefined
      ? undefined
      : yield* Effect.orElseSucceed(services.parser.parse(snapshot), () => undefined)
    return {
      type: location.type,
      id: location.id,
      category: location.category,
      path: location.path,
      identity,
      digest,
      tags: (item?.tags ?? []).map(fold),
      document: documentOf(location, item)
    } satisfies IndexedItem
  })

  const bring = Effect.fnUntraced(function*(database: SearchDatabase, difference: Difference, report: Report) {
    const total = difference.changed.length
    let written = difference.gone.length
    for (let i = 0; i < difference.gone.length; i += batchSize) {
      const rows = difference.gone.slice(i, i + batchSize)
      yield* database.transaction(
        Effect.forEach(rows, (row) => Effect.andThen(database.remove(row), Effect.yieldNow), { discard: true })
      )
    }
    const apply = Effect.fnUntraced(function*(changed: Changed) {
      const entry = yield* index(changed)
      if (entry.row !== undefined) return yield* database.touch(entry.row, entry.identity)
      if (changed.indexed !== undefined) yield* database.remove(changed.indexed.row)
      yield* database.add(entry)
      written++
    })
    for (let i = 0; i < total; i += batchSize) {
      const batch = difference.changed.slice(i, i + batchSize)
      yield* database.transaction(
        Effect.forEach(batch, (one) => Effect.andThen(apply(one), Effect.yieldNow), { discard: true })
      )
      yield* report(Math.min(i + batchSize, total), total)
    }
    if (total > 1000) {
      while (yield* database.merge) yield* Effect.yieldNow
    }
    return { items: difference.items, changed: written, millis: difference.millis } satisfies Refreshed
  })

  const exclusively = services.lock.tryHold(dirname(filename), "search.lock").pipe(
    Effect.retry({
      // For as long as another process builds: whoever asked can be interrupted or has a timeout of its own.
      while: (error) => error._tag === "LockTimeout",
      schedule: Schedule.spaced("25 millis")
    }),
    Effect.catchTag(
      "LockTimeout",
      (error) => Effect.fail(new LockUnavailable({ name: error.name, detail: error.message }))
    )
  )

  return Effect.fnUntraced(
    function*(database: SearchDatabase, report: Report) {
      const version = yield* database.version
      const difference = yield* compare(database)
      if (difference.changed.length + difference.gone.length === 0) {
        return { items: difference.items, changed: 0, millis: difference.millis } satisfies Refreshed
      }
      yield* exclusively
      const current = (yield* database.version) === version ? difference : yield* compare(database)
      return yield* bring(database, current, report)
    },
    (effect): Effect.Effect<Refreshed, SqlError | LockUnavailable> => Effect.scoped(effect)
  )
}

export type RefreshTier = ReturnType<typeof makeRefreshTier>
