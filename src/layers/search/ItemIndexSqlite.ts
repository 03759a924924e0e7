// The index of the items of all tiers, in one disposable SQLite file for each tier. A small tier is compared with the
// disk at every search, a large one only when the store reports a change: the cost of a search does not grow with it.
import { Clock, Effect, Exit, Fiber, Layer, Option, Scope, Semaphore, Stream } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { ItemParser } from "../../services/format/ItemParser.ts"
import type { Tier } from "../../services/item/ItemId.ts"
import { tiers } from "../../services/item/ItemId.ts"
import type { ItemSources } from "../../services/item/ItemSources.ts"
import { namedSources } from "../../services/item/ItemSources.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { IndexUnavailable, ItemIndex, type SearchQuery } from "../../services/search/ItemIndex.ts"
import { nearest } from "../../services/search/near.ts"
import { type Frequency, limitOf, meanings, rank, soughtIn } from "../../services/search/ranking.ts"
import {
  fold,
  type ParsedQuery,
  parseQuery,
  plainWord,
  type QueryWord,
  withSpellings
} from "../../services/search/searchText.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { type LockError, ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import {
  fileIdentity,
  type IdentityOf,
  makeRefreshTier,
  type Refreshed,
  type RefreshTier,
  type Report
} from "./refreshTier.ts"
import type { SearchDatabase } from "./searchDatabase.ts"
import type { SearchTier } from "./searchTier.ts"

/** Asks for a refresh that is made in any case. */
const always = Number.MAX_SAFE_INTEGER

/** A tier of at most so many items is compared with the disk at every search: that takes a few milliseconds. */
const smallTier = 500

/** Items in memory are read at every refresh, and compared by digest. */
const unknown: IdentityOf = () => ["", 0]

interface Open {
  readonly database: SearchDatabase
  readonly tier: SearchTier
  readonly scope: Scope.Closeable
}

interface TierState {
  readonly tier: Tier
  readonly filename: string
  readonly turns: Semaphore.Semaphore
  open: Open | undefined
  readonly refresh: RefreshTier
  /** Number of the refresh that began last. */
  lastRefresh: number
  /** What the last refresh found. */
  last: Refreshed
  /** Passed to `changedSince` for the changes since that refresh began. Undefined if the store cannot tell: the clock decides. */
  mark: number | undefined
  /** Whether something may have changed since that refresh began. */
  dirty: boolean
  /** Whether a refresh is running. */
  busy: boolean
  refreshedAt: number
}

// SQL is loaded by the first search, not by the start of the program.
const modules = Effect.promise(() => Promise.all([import("./searchDatabase.ts"), import("./searchTier.ts")]))

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16)

const unavailable = (error: SqlError | LockError | IndexUnavailable): IndexUnavailable =>
  error._tag === "IndexUnavailable"
    ? error
    : new IndexUnavailable({ detail: error.message, ...(error._tag === "SqlError" ? {} : { cause: error }) })

const together = (frequencies: ReadonlyArray<Frequency | undefined>): Frequency => ({
  items: frequencies.reduce((sum, one) => sum + (one?.items ?? 0), 0),
  having: frequencies.reduce((sum, one) => sum + (one?.having ?? 0), 0)
})

/**
 * Files by tier. The path of a space is part of its file's, and so are the named sources of the tier: two kernels with
 * different items never share an index.
 */
const filesOf = (
  home: KiwiHome["Service"],
  workspace: Workspace["Service"],
  { named }: ItemSources["Service"]
): Readonly<Record<Tier, string>> => {
  const fileIn = (tier: Tier, folder: string): string => {
    const names = [...named.values()].filter((source) => source.tier === tier).map(({ name }) => name)
    return join(folder, ...(names.length === 0 ? [] : [digest(names.toSorted().join())]), "search.db")
  }
  return {
    project: fileIn("project", workspace.state),
    user: fileIn(
      "user",
      home.userSpace === join(home.userHome, ".ai")
        ? join(home.home, "user")
        : join(home.home, "user", digest(home.userSpace))
    ),
    system: fileIn("system", join(home.home, "system", digest(home.systemSpace)))
  }
}

/** `files`: where each tier's index is kept; undefined: in memory. */
export const makeIn = Effect.fnUntraced(function*(files: Readonly<Record<Tier, string>> | undefined) {
  const store = yield* ItemStore
  const parser = yield* ItemParser
  const lock = yield* ProcessLock
  const layerScope = yield* Effect.scope

  const states = tiers.filter((tier) => Option.isSome(store.rootOf(tier))).map((tier): TierState => ({
    tier,
    filename: files?.[tier] ?? tier,
    turns: Semaphore.makeUnsafe(1),
    open: undefined,
    refresh: makeRefreshTier(tier, files?.[tier] ?? tier, files === undefined ? unknown : fileIdentity, {
      store,
      parser,
      lock
    }),
    lastRefresh: 0,
    mark: undefined,
    last: { items: 0, changed: 0, millis: 0 },
    dirty: true,
    busy: false,
    refreshedAt: 0
  }))
  const selected = (tier: Tier | undefined) => states.filter((state) => tier === undefined || state.tier === tier)

  let refreshes = 0
  let watchStarted = false

  /**
   * Marks tiers that changed; the next search refreshes them. Ends if the store cannot watch: large tiers are then
   * compared after some time has passed.
   */
  const watch = Effect.suspend(() => {
    if (watchStarted) return Effect.void
    watchStarted = true
    const mark = (changed: ReadonlyArray<Tier>) =>
      Effect.sync(() => {
        for (const state of states) if (changed.includes(state.tier)) state.dirty = true
      })
    return Effect.forkIn(Stream.runForEach(store.changes, mark), layerScope, { startImmediately: true })
  })

  const close = (state: TierState) =>
    Effect.suspend(() => {
      const { open } = state
      state.open = undefined
      return open === undefined ? Effect.void : Scope.close(open.scope, Exit.void)
    })

  /** Within `turns`. */
  const open = Effect.fnUntraced(function*(state: TierState) {
    if (state.open !== undefined) return state.open
    const [searchDatabase, { makeSearchTier }] = yield* modules
    const attempt = Effect.provideService(
      files === undefined ? searchDatabase.openMemory : searchDatabase.open(state.filename),
      Scope.Scope,
      layerScope
    )
    // Only one process at a time may decide to delete the file.
    const again = lock.withLock(join(state.filename, ".."), "search-open.lock")(Effect.gen(function*() {
      const other = yield* attempt
      if (other !== undefined) return other
      yield* searchDatabase.discard(state.filename)
      return yield* attempt
    }))
    const opened = (yield* attempt) ?? (yield* again)
    if (opened === undefined) return yield* new IndexUnavailable({ detail: "its file cannot be replaced" })
    const { database, scope } = opened
    state.open = { database, scope, tier: makeSearchTier(state.tier, database) }
    return state.open
  })

  /** Deletes a damaged file, unless that was done already. */
  const reset = (state: TierState, damaged: Open) =>
    state.turns.withPermit(Effect.gen(function*() {
      if (state.open !== damaged) return
      const [searchDatabase] = yield* modules
      yield* close(state)
      yield* searchDatabase.discard(state.filename)
      state.dirty = true
    }))

  /** Runs `use` on the tier's database. If its file is damaged, `again` prepares a new one, and `use` runs on that. */
  const withDatabase = <A>(
    state: TierState,
    use: (open: Open) => Effect.Effect<A, SqlError | LockError>,
    again: Effect.Effect<void, IndexUnavailable>
  ): Effect.Effect<A, IndexUnavailable> => {
    const opened = Effect.suspend(() =>
      state.open === undefined ? state.turns.withPermit(open(state)) : Effect.succeed(state.open)
    )
    return Effect.gen(function*() {
      const [{ isDamage }] = yield* modules
      const current = yield* opened
      return yield* Effect.catchIf(
        use(current),
        // The database may also have been closed by another fiber that found the damage first.
        (error) => error._tag === "SqlError" && (isDamage(error) || state.open !== current),
        () => reset(state, current).pipe(Effect.andThen(again), Effect.andThen(opened), Effect.flatMap(use))
      )
    }).pipe(Effect.mapError(unavailable))
  }

  const due = (state: TierState, now: number): boolean =>
    state.dirty || state.last.items <= smallTier ||
    (state.mark === undefined && now - state.refreshedAt > Math.max(2000, 20 * state.last.millis))

  const nowMillis = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos) / 1e6)

  /** Compares with the disk, unless a refresh that began after `asked` has made that unnecessary. */
  const refreshIfStale = Effect.fnUntraced(
    function*(state: TierState, asked: number, report: Report, { database }: Open) {
      const started = yield* nowMillis
      if (!state.dirty && state.lastRefresh > asked) return state.last
      if (asked !== always && !due(state, started)) return state.last
      state.lastRefresh = ++refreshes
      state.dirty = false
      state.busy = true
      const isWhole = asked === always || state.last.items <= smallTier
      const compareFiles = Effect.gen(function*() {
        const { folders, mark } = yield* store.changedSince(state.tier, isWhole ? undefined : state.mark)
        state.last = yield* state.refresh(database, report, folders)
        state.mark = mark
      })
      yield* Effect.onExit(compareFiles, (exit) =>
        Effect.sync(() => {
          state.busy = false
          if (exit._tag === "Failure") state.dirty = true
        }))
      state.refreshedAt = yield* nowMillis
      return state.last
    },
    (effect, state) => state.turns.withPermit(effect)
  )

  /** In a fiber of the layer, so that a caller that is interrupted does not stop a refresh that others wait for. */
  const refreshShared = (state: TierState, asked: number, report: Report) =>
    Effect.forkIn(
      withDatabase(state, (current) => refreshIfStale(state, asked, report, current), Effect.void),
      layerScope,
      { startImmediately: true }
    ).pipe(Effect.flatMap(Fiber.join))

  /** Marks a large tier that has changed: the stream of changes reports them only after a delay. */
  const markChanged = (state: TierState) =>
    state.dirty || state.last.items <= smallTier
      ? Effect.void
      : Effect.map(store.changedSince(state.tier, state.mark), ({ folders, mark }) => {
        if (mark !== state.mark && (folders === undefined || folders.size > 0)) state.dirty = true
      })

  /** Returns at once if nothing can have changed, else when a refresh has ended. */
  const ensureFresh = (state: TierState): Effect.Effect<void, IndexUnavailable> =>
    Effect.andThen(markChanged(state), nowMillis).pipe(
      Effect.flatMap((now) =>
        due(state, now) || state.busy
          ? Effect.asVoid(refreshShared(state, refreshes, () => Effect.void))
          : Effect.void
      )
    )

  /** Reads the index after it was refreshed. */
  const withFresh = <A>(state: TierState, use: (open: Open) => Effect.Effect<A, SqlError>) =>
    Effect.andThen(ensureFresh(state), withDatabase(state, use, ensureFresh(state)))

  const search = Effect.fn("ItemIndex.search")(function*(query: SearchQuery) {
    const limit = limitOf(query)
    const normal: SearchQuery = {
      ...query,
      category: query.category?.replace(/^\/+|\/+$/g, "") || undefined,
      tags: query.tags?.map(fold)
    }
    yield* watch
    const searched = selected(query.tier)
    // In a small tier every word is frequent: what a word means is taken from all of them together.
    const frequenciesOf = Effect.fnUntraced(function*(asked: ParsedQuery) {
      const counted = yield* Effect.forEach(
        searched,
        (state) => withDatabase(state, (current) => current.tier.frequencies(asked), ensureFresh(state))
      )
      return soughtIn(asked).map((_, index) => together(counted.map((tier) => tier[index])))
    })
    yield* Effect.forEach(searched, ensureFresh, { discard: true })
    const written = parseQuery(query.query)
    const spellings: Array<readonly [QueryWord, ReadonlyArray<string>]> = []
    const first = yield* frequenciesOf(written)
    for (const [index, word] of written.words.entries()) {
      const plain = plainWord(word)
      if (plain === undefined || first[index]?.having !== 0) continue
      const near = yield* Effect.forEach(
        searched,
        (state) => withDatabase(state, (current) => current.tier.spellings(plain), ensureFresh(state))
      )
      if (near.some((terms) => terms.length > 0)) spellings.push([word, [...new Set(near.flat())]])
    }
    const parsed = spellings.length === 0 ? written : withSpellings(written, spellings)
    const all = meanings(parsed, spellings.length === 0 ? first : yield* frequenciesOf(parsed))
    const found = yield* Effect.forEach(
      searched,
      (state) => withDatabase(state, (current) => current.tier.search(normal, parsed, all, limit), ensureFresh(state))
    )
    return rank(found.flat(), limit)
  })

  const refresh = Effect.fn("ItemIndex.refresh")(
    function*(onProgress?: (done: number, total: number) => Effect.Effect<void>) {
      yield* watch
      let items = 0
      let changed = 0
      let before = 0
      for (const state of states) {
        let last = 0
        const refreshed = yield* refreshShared(state, always, (done, total) => {
          last = total
          return onProgress === undefined ? Effect.void : onProgress(before + done, before + total)
        })
        items += refreshed.items
        changed += refreshed.changed
        before += last
      }
      return { items, changed }
    }
  )

  const near: ItemIndex["Service"]["near"] = Effect.fn("ItemIndex.near")(function*(id, type) {
    const wanted = id.slice(id.lastIndexOf("/") + 1).toLowerCase().slice(0, 128)
    yield* watch
    const found = yield* Effect.forEach(
      states,
      (state) =>
        withFresh(state, (current) => current.tier.candidates(wanted, type)).pipe(
          Effect.orElseSucceed((): ReadonlyArray<string> => [])
        )
    )
    return nearest(wanted, found.flat())
  })

  return ItemIndex.of({ search, near, refresh })
})

export const make = Effect.gen(function*() {
  return yield* makeIn(filesOf(yield* KiwiHome, yield* Workspace, yield* namedSources))
})

export const layer = Layer.effect(ItemIndex, make)
