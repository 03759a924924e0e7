// Watches the tiers for changes: by file system events where they work, and by a slow walk where they do not (network
// mounts, no inotify watches left). Each folder is watched separately, since Node's recursive watching uses one watch
// for every file.
import { Clock, Duration, Effect, Queue, Stream } from "effect"
import type { Scope } from "effect"
import * as Fs from "node:fs"
import { basename } from "node:path"
import { typeFolder } from "../../services/item/Item.ts"
import { ItemType } from "../../services/item/ItemId.ts"
import type { Tier } from "../../services/item/ItemId.ts"
import { statOf } from "./makeCatalog.ts"

const maxWatched = 4000
const batch = 512

interface WatchedTier {
  readonly tier: Tier
  readonly root: () => string | undefined
}

const namesIn = (folder: string): ReadonlyArray<Fs.Dirent> | undefined => {
  try {
    return Fs.readdirSync(folder, { withFileTypes: true })
  } catch {
    return undefined
  }
}

/** A folder, with what distinguishes it from a later folder at the same path, which may have the same inode. */
interface Surveyed {
  readonly path: string
  readonly identity: string
  /** A number that changes with any file in it. */
  readonly state: number
  readonly folders: ReadonlyArray<string>
}

type Survey = ReadonlyMap<string, Surveyed>

const identityOf = (path: string): string => {
  const stat = statOf(path)
  return stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.birthtimeMs}`
}

const surveyFolder = Effect.fnUntraced(function*(path: string) {
  // Before its names are read: what is put in its place later is another one to the next survey.
  const identity = identityOf(path)
  const names = namesIn(path)
  if (names === undefined) return undefined
  const folders: Array<string> = []
  let state = 0
  const mix = (text: string): void => {
    for (let i = 0; i < text.length; i++) state = (Math.imul(state, 31) + text.charCodeAt(i)) | 0
  }
  for (const [i, name] of names.entries()) {
    const file = `${path}/${name.name}`
    if (name.isDirectory()) {
      folders.push(file)
      continue
    }
    if (i % batch === batch - 1) yield* Effect.yieldNow
    const stat = statOf(file)
    if (stat !== undefined) mix(`${name.name}:${stat.ino}:${stat.size}:${stat.mode}:${stat.mtimeMs}:${stat.ctimeMs}`)
  }
  return { path, identity, state, folders } satisfies Surveyed
})

/**
 * Everything below a tier's type folders, the root first. A folder that is not `stale`, nor below one that took the place
 * of another, is as `known` has it.
 */
const survey = Effect.fnUntraced(
  function*(root: string | undefined, known: Survey, stale: ReadonlySet<string> | undefined) {
    const found = new Map<string, Surveyed>()
    if (root === undefined) return found
    const isReplaced = ({ identity, path }: Surveyed): boolean => known.get(path)?.identity !== identity
    const top: Surveyed = { path: root, identity: identityOf(root), state: 0, folders: [] }
    found.set(root, top)
    const waiting = ItemType.literals.map((type) => ({ path: `${root}/${typeFolder[type]}`, below: isReplaced(top) }))
    while (waiting.length > 0) {
      const { below, path } = waiting.pop()!
      const before = below || stale?.has(path) !== false ? undefined : known.get(path)
      const folder = before ?? (yield* surveyFolder(path))
      if (folder === undefined) continue
      found.set(path, folder)
      for (const child of folder.folders) waiting.push({ path: child, below: below || isReplaced(folder) })
      if (before === undefined) yield* Effect.yieldNow
    }
    return found
  }
)

/** What one listener's watchers have told of a tier. Numbers count what all of them told. */
interface Told {
  readonly tier: Tier
  /** When every folder was watched; undefined while one is not. */
  since: number | undefined
  /** When each folder was told of last. */
  readonly folders: Map<string, number>
}

const watchTier = Effect.fnUntraced(function*(
  { root }: WatchedTier,
  told: Told,
  count: () => number,
  tell: () => void
): Effect.fn.Return<never, never, Scope.Scope> {
  const watchers = new Map<string, { readonly watcher: Fs.FSWatcher; readonly identity: string }>()
  const wake = yield* Queue.sliding<void>(1)
  let complete = true
  let stale = new Set<string>()
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const { watcher } of watchers.values()) watcher.close()
    })
  )
  const typeFolders: ReadonlySet<string> = new Set(ItemType.literals.map((type) => typeFolder[type]))
  const incomplete = (): void => {
    complete = false
    told.since = undefined
  }
  const changed = (folder: string): void => {
    told.folders.set(folder, count())
    stale.add(folder)
  }
  const watch = ({ identity, path }: Surveyed, isRoot: boolean): void => {
    try {
      // In the root only its type folders matter (logs and caches are beside them), and its own name, told if it is moved.
      const watcher = Fs.watch(path, { persistent: false }, (_event, name) => {
        if (isRoot && name !== null && name !== basename(path) && !typeFolders.has(name)) return
        changed(path)
        if (name !== null) stale.add(`${path}/${name}`)
        tell()
        Queue.offerUnsafe(wake, undefined)
      })
      watcher.on("error", () => {
        watcher.close()
        if (watchers.get(path)?.watcher === watcher) watchers.delete(path)
        incomplete()
        Queue.offerUnsafe(wake, undefined)
      })
      watchers.set(path, { watcher, identity })
    } catch {
      incomplete()
    }
  }
  /** Returns whether a folder is newly watched: changes in it before that were not reported. */
  const follow = (folders: ReadonlyArray<Surveyed>): boolean => {
    const wanted = new Map(folders.slice(0, maxWatched).map((folder) => [folder.path, folder]))
    complete = wanted.size === folders.length
    for (const [path, { identity, watcher }] of watchers) {
      if (wanted.get(path)?.identity === identity) continue
      watcher.close()
      watchers.delete(path)
    }
    let added = false
    for (const folder of wanted.values()) {
      if (watchers.has(folder.path)) continue
      watch(folder, folder === folders[0])
      changed(folder.path)
      added ||= watchers.has(folder.path)
    }
    if (!complete || folders.length === 0) told.since = undefined
    else if (told.since === undefined || told.folders.size > 2 * maxWatched) {
      told.folders.clear()
      told.since = count()
    }
    return added
  }
  let known: Survey | undefined
  let pause = 0
  let wholeAt = Number.NEGATIVE_INFINITY
  while (true) {
    const start = yield* Clock.currentTimeMillis
    const isWhole = known === undefined || !complete || start >= wholeAt
    const looked = isWhole ? undefined : stale
    stale = new Set()
    const found = yield* survey(root(), known ?? new Map(), looked)
    const differing = [...found.values()].filter(({ path, state }) => known?.get(path)?.state !== state)
    const isFirst = known === undefined
    if (!isFirst && (differing.length > 0 || known!.size !== found.size)) {
      for (const { path } of differing) told.folders.set(path, count())
      tell()
    }
    known = found
    if (follow([...found.values()]) && !isFirst) Queue.offerUnsafe(wake, undefined)
    const end = yield* Clock.currentTimeMillis
    if (isWhole) {
      const cost = end - start
      // Never more than a few percent of the time for looking; a missing root is one cheap look.
      pause = found.size > 0 && complete ? Math.max(10_000, cost * 100) : Math.max(500, cost * 20)
      wholeAt = end + pause
    }
    yield* Effect.timeoutOption(Queue.take(wake), Duration.millis(Math.max(0, wholeAt - end)))
    // A burst of events is one look, and their folder is in a settled state by then.
    yield* Effect.sleep(Duration.millis(100))
  }
})

/** Two turns of the event loop: what the system had told before has reached its listeners. */
const eventsTold = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

export const watchTiers = (tiers: ReadonlyArray<WatchedTier>) => {
  let counted = 0
  const count = (): number => ++counted
  const live = new Set<Told>()

  const watched = (tier: WatchedTier, queue: Queue.Enqueue<Tier>) =>
    Effect.gen(function*() {
      const told: Told = { tier: tier.tier, since: undefined, folders: new Map() }
      live.add(told)
      yield* Effect.addFinalizer(() => Effect.sync(() => live.delete(told)))
      return yield* watchTier(tier, told, count, () => Queue.offerUnsafe(queue, tier.tier))
    })

  /** Emits the tiers that changed, collected over a fifth of a second. Works only while somebody listens. */
  const changes: Stream.Stream<ReadonlyArray<Tier>> = Stream.callback<Tier>((queue) =>
    Effect.forEach(tiers, (tier) => watched(tier, queue), { concurrency: "unbounded", discard: true })
  ).pipe(
    Stream.groupedWithin(1000, Duration.millis(200)),
    Stream.map((seen) => Array.from(new Set(seen)))
  )

  const changedSince = Effect.fnUntraced(function*(tier: Tier, mark: number | undefined) {
    const isWatched = (told: Told) => told.tier === tier && told.since !== undefined
    if (![...live].some(isWatched)) return { mark: undefined, folders: undefined }
    yield* eventsTold
    const told = [...live].find(isWatched)
    if (told?.since === undefined) return { mark: undefined, folders: undefined }
    return {
      mark: counted,
      folders: mark === undefined || mark < told.since
        ? undefined
        : new Set(Array.from(told.folders).flatMap(([folder, at]) => at > mark ? [folder] : []))
    }
  })

  return { changes, changedSince }
}
