// Brings one tier's index up to date: compares the disk with the index, parses only what differs, and writes in small
// batches, between which other fibers run. One process at a time writes; the others wait, and then find little left to
// do. The rows are also kept in memory until another process writes to the index.
import { Clock, Effect, Schedule } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { dirname } from "node:path"
import type { ItemParser } from "../../services/format/ItemParser.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import type { ItemType, Tier } from "../../services/item/ItemId.ts"
import type { ItemStore } from "../../services/item/ItemStore.ts"
import { documentOf, fold } from "../../services/search/searchText.ts"
import { LockUnavailable, type ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { changedAt, isSettled, stampOf, statOf } from "../files/believe.ts"
import type { IndexedItem, SearchDatabase } from "./searchDatabase.ts"

export interface Refreshed {
  readonly items: number
  readonly changed: number
  /** How long the comparison took. */
  readonly millis: number
}

export type Report = (done: number, total: number) => Effect.Effect<void>

/** Items in one transaction: a commit costs as much as some items. */
const batchSize = 256
/** How many items are read and written, in a few milliseconds, before other fibers get a turn. */
const turnSize = 8
/** How many files are checked on disk before they do, and how many only in memory. */
const stride = 256
const knownStride = 8192
const pageSize = 2048

const mainFile: Readonly<Record<ItemType, string>> = {
  directive: "SKILL.md",
  tool: "tool.yaml",
  knowledge: "SKILL.md"
}

const statIdentity = (file: string): readonly [string, number] => {
  const stat = statOf(file)
  return stat === undefined ? ["", 0] : [stampOf(stat), changedAt(stat)]
}

/**
 * A text that differs if the item is not the one that was indexed, "" if that is unknown; and the time of its last
 * change, in milliseconds.
 */
export type IdentityOf = (location: ItemLocation) => readonly [identity: string, changed: number]

/** By its file; for a folder, by that and its main file. By its digest if it is not on disk. */
export const fileIdentity: IdentityOf = (location) => {
  if (location.source !== undefined) return [location.source.digest, Number.NEGATIVE_INFINITY]
  const [own, changed] = statIdentity(location.file)
  if (own === "" || location.kind === "file") return [own, changed]
  const [main, mainChanged] = statIdentity(`${location.file}/${mainFile[location.type]}`)
  return main === "" ? ["", 0] : [`${own} ${main}`, Math.max(changed, mainChanged)]
}

interface Indexed {
  readonly row: number
  identity: string
  /** Number of the last comparison that found its file. */
  seen: number
}

/** The row of each item that a comparison found. The key is the object that the store lists. */
type Known = Map<ItemLocation, Indexed>

interface Changed {
  readonly location: ItemLocation
  readonly indexed: Indexed | undefined
}

interface Difference {
  readonly millis: number
  readonly items: number
  readonly changed: ReadonlyArray<Changed>
  readonly gone: ReadonlyArray<number>
  readonly known: Known
}

const keyOf = ({ path, type }: ItemLocation): string => `${type}/${path}`

const folderOf = ({ file }: ItemLocation): string => file.slice(0, file.lastIndexOf("/"))

/** Whether a file has to be checked on disk, if only these folders have changed. */
const mayDiffer = (location: ItemLocation, { identity }: Indexed, folders: ReadonlySet<string>): boolean =>
  identity === "" || location.source !== undefined ||
  (folders.size > 0 && (folders.has(folderOf(location)) || folders.has(location.file)))

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
  let comparisons = 0
  /** Undefined while a refresh is running, and after one that failed. */
  let kept: { readonly database: SearchDatabase; readonly version: number; readonly known: Known } | undefined

  const readRows = Effect.fnUntraced(function*(database: SearchDatabase) {
    const rows = new Map<string, Indexed>()
    let last = 0
    while (true) {
      const page = yield* database.rows(
        "SELECT rowid, type, path, identity FROM items WHERE rowid > ? ORDER BY rowid LIMIT ?",
        [last, pageSize]
      )
      for (const [row, type, path, identity] of page) {
        last = Number(row)
        rows.set(`${type}/${path}`, { row: last, identity: String(identity), seen: 0 })
      }
      if (page.length < pageSize) return rows
      yield* Effect.yieldNow
    }
  })

  const compare = Effect.fnUntraced(function*(
    database: SearchDatabase,
    before: Known | undefined,
    folders: ReadonlySet<string> | undefined
  ) {
    const started = yield* Clock.currentTimeNanos
    const comparison = ++comparisons
    const locations = yield* services.store.list({ tier })
    const known: Known = before ?? new Map()
    const changed: Array<Changed> = []
    const newlyListed: Array<ItemLocation> = []
    const compareOne = (location: ItemLocation, indexed: Indexed): void => {
      const [identity] = identityOf(location)
      if (identity === "" || indexed.identity !== identity) changed.push({ location, indexed })
    }
    for (const [i, location] of locations.entries()) {
      const indexed = known.get(location)
      if (i % (folders === undefined ? stride : knownStride) === 0) yield* Effect.yieldNow
      if (indexed === undefined) {
        newlyListed.push(location)
        continue
      }
      indexed.seen = comparison
      if (folders === undefined || mayDiffer(location, indexed, folders)) compareOne(location, indexed)
    }
    const rest = before === undefined ? yield* readRows(database) : new Map<string, Indexed>()
    if (locations.length - newlyListed.length < known.size) {
      let passed = 0
      for (const [location, indexed] of known) {
        if (++passed % knownStride === 0) yield* Effect.yieldNow
        if (indexed.seen === comparison) continue
        known.delete(location)
        rest.set(keyOf(location), indexed)
      }
    }
    for (const [i, location] of newlyListed.entries()) {
      if (i % stride === stride - 1) yield* Effect.yieldNow
      const key = keyOf(location)
      const indexed = rest.get(key)
      rest.delete(key)
      if (indexed === undefined) changed.push({ location, indexed })
      else {
        known.set(location, indexed)
        compareOne(location, indexed)
      }
    }
    return {
      millis: Number((yield* Clock.currentTimeNanos) - started) / 1e6,
      items: locations.length,
      changed,
      gone: Array.from(rest.values(), ({ row }) => row),
      known
    } satisfies Difference
  })

  const digestIn = (database: SearchDatabase, row: number) =>
    Effect.map(
      database.rows("SELECT digest FROM items WHERE rowid = ?", [row]),
      ([found]) => String(found?.[0] ?? "")
    )

  const index = Effect.fnUntraced(function*(database: SearchDatabase, { indexed, location }: Changed) {
    // Before reading: a change in between is then found by the next refresh.
    const [seen, changed] = identityOf(location)
    const now = yield* Clock.currentTimeMillis
    const identity = isSettled(changed, now) ? seen : ""
    const snapshot = yield* Effect.orElseSucceed(services.store.read(location), () => undefined)
    const digest = snapshot?.digest ?? ""
    if (indexed !== undefined && digest !== "" && (yield* digestIn(database, indexed.row)) === digest) {
      return { row: indexed.row, identity }
    }
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

  /** Runs `each` on every element, one transaction for each batch, and lets other fibers run in between. */
  const inBatches = <A, E>(
    database: SearchDatabase,
    all: ReadonlyArray<A>,
    each: (one: A) => Effect.Effect<void, E>,
    report: Report
  ) =>
    Effect.gen(function*() {
      for (let i = 0; i < all.length; i += batchSize) {
        yield* database.transaction(
          Effect.forEach(
            all.slice(i, i + batchSize),
            (one, n) => n % turnSize === turnSize - 1 ? Effect.andThen(each(one), Effect.yieldNow) : each(one),
            { discard: true }
          )
        )
        yield* report(Math.min(i + batchSize, all.length), all.length)
      }
    })

  const applyDifference = Effect.fnUntraced(
    function*(database: SearchDatabase, difference: Difference, report: Report) {
      const { changed, gone, known } = difference
      let written = gone.length
      yield* inBatches(database, gone, database.remove, () => Effect.void)
      const apply = Effect.fnUntraced(function*(one: Changed) {
        const { indexed, location } = one
        const entry = yield* index(database, one)
        if (entry.row !== undefined) {
          if (indexed!.identity !== entry.identity) yield* database.touch(entry.row, entry.identity)
          indexed!.identity = entry.identity
          return
        }
        if (indexed !== undefined) yield* database.remove(indexed.row)
        known.set(location, { row: yield* database.add(entry), identity: entry.identity, seen: 0 })
        written++
      })
      yield* inBatches(database, changed, apply, report)
      if (changed.length > 1000) {
        while (yield* database.merge) yield* Effect.yieldNow
      }
      return { items: difference.items, changed: written, millis: difference.millis } satisfies Refreshed
    }
  )

  const exclusively = services.lock.tryHold(dirname(filename), "search.lock").pipe(
    Effect.retry({
      // Waits as long as another process writes: the caller can be interrupted, or has its own timeout.
      while: (error) => error._tag === "LockTimeout",
      schedule: Schedule.spaced("25 millis")
    }),
    Effect.catchTag(
      "LockTimeout",
      (error) => Effect.fail(new LockUnavailable({ name: error.name, detail: error.message }))
    )
  )

  /** `folders`: where files may have changed since the last refresh; undefined: anywhere. */
  return Effect.fnUntraced(
    function*(database: SearchDatabase, report: Report, folders: ReadonlySet<string> | undefined) {
      const version = yield* database.version
      const before = kept?.database === database && kept.version === version ? kept.known : undefined
      kept = undefined
      const difference = yield* compare(database, before, folders)
      const { changed, gone, items, known, millis } = difference
      if (changed.length + gone.length === 0) {
        kept = { database, version, known }
        return { items, changed: 0, millis } satisfies Refreshed
      }
      yield* exclusively
      const current = (yield* database.version) === version
        ? difference
        : yield* compare(database, undefined, undefined)
      const refreshed = yield* applyDifference(database, current, report)
      kept = { database, version: yield* database.version, known: current.known }
      return refreshed
    },
    (effect): Effect.Effect<Refreshed, SqlError | LockUnavailable> => Effect.scoped(effect)
  )
}

export type RefreshTier = ReturnType<typeof makeRefreshTier>
