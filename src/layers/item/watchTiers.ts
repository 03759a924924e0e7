// Watches the tiers for changes: by file system events where they work, and by a slow walk where they do not (network
// mounts, no inotify watches left). Each folder is watched separately, since Node's recursive watching uses one watch
// for every file.
import { Clock, Duration, Effect, Queue, Stream } from "effect"
import type { Scope } from "effect"
import * as Fs from "node:fs"
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
}

const surveyed = (path: string): Surveyed => {
  const stat = statOf(path)
  return { path, identity: stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.birthtimeMs}` }
}

/** Everything below a tier's type folders: its folders, and a number that changes with any file. */
const survey = Effect.fnUntraced(function*(root: string | undefined) {
  const folders: Array<Surveyed> = []
  let state = 0
  const mix = (text: string): void => {
    for (let i = 0; i < text.length; i++) state = (Math.imul(state, 31) + text.charCodeAt(i)) | 0
  }
  if (root === undefined) return { folders, state }
  const waiting = ItemType.literals.map((type) => `${root}/${typeFolder[type]}`)
  folders.push(surveyed(root))
  let seen = 0
  while (waiting.length > 0) {
    const folder = waiting.pop()!
    // Taken before the folder's entries are read, so that the next survey notices a replaced folder.
    const found = surveyed(folder)
    const names = namesIn(folder)
    if (names === undefined) continue
    folders.push(found)
    mix(folder)
    for (const name of names) {
      const file = `${folder}/${name.name}`
      if (name.isDirectory()) {
        waiting.push(file)
        continue
      }
      if (++seen % batch === 0) yield* Effect.yieldNow
      const stat = statOf(file)
      if (stat !== undefined) mix(`${name.name}:${stat.ino}:${stat.size}:${stat.mode}:${stat.mtimeMs}:${stat.ctimeMs}`)
    }
  }
  return { folders, state }
})

const watchTier = Effect.fnUntraced(function*(
  { root, tier }: WatchedTier,
  queue: Queue.Enqueue<Tier>
): Effect.fn.Return<never, never, Scope.Scope> {
  const watchers = new Map<string, { readonly watcher: Fs.FSWatcher; readonly identity: string }>()
  const wake = yield* Queue.sliding<void>(1)
  let complete = true
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const { watcher } of watchers.values()) watcher.close()
    })
  )
  const typeFolders: ReadonlySet<string> = new Set(ItemType.literals.map((type) => typeFolder[type]))
  const changed = (): void => {
    Queue.offerUnsafe(queue, tier)
    Queue.offerUnsafe(wake, undefined)
  }
  const watch = ({ identity, path }: Surveyed, isRoot: boolean): void => {
    try {
      // In the root itself only its type folders matter; logs and caches are beside them.
      const watcher = Fs.watch(path, { persistent: false }, (_event, name) => {
        if (!isRoot || name === null || typeFolders.has(name)) changed()
      })
      watcher.on("error", () => {
        watcher.close()
        if (watchers.get(path)?.watcher === watcher) watchers.delete(path)
        complete = false
        Queue.offerUnsafe(wake, undefined)
      })
      watchers.set(path, { watcher, identity })
    } catch {
      complete = false
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
      added ||= watchers.has(folder.path)
    }
    return added
  }
  let known: number | undefined
  while (true) {
    const start = yield* Clock.currentTimeMillis
    const { folders, state } = yield* survey(root())
    const isFirst = known === undefined
    if (!isFirst && known !== state) yield* Queue.offer(queue, tier)
    known = state
    if (follow(folders) && !isFirst) Queue.offerUnsafe(wake, undefined)
    const cost = (yield* Clock.currentTimeMillis) - start
    // The walk takes at most a few percent of the time. A missing root costs one stat.
    const pause = folders.length > 0 && complete ? Math.max(10_000, cost * 100) : Math.max(500, cost * 20)
    yield* Effect.timeoutOption(Queue.take(wake), Duration.millis(pause))
    // Collects a burst of events into one walk, after which the folder's changes are complete.
    yield* Effect.sleep(Duration.millis(100))
  }
})

/** Emits the tiers that changed, collected over a fifth of a second. Runs only while there is a subscriber. */
export const watchTiers = (tiers: ReadonlyArray<WatchedTier>): Stream.Stream<ReadonlyArray<Tier>> =>
  Stream.callback<Tier>((queue) =>
    Effect.forEach(tiers, (tier) => watchTier(tier, queue), { concurrency: "unbounded", discard: true })
  ).pipe(
    Stream.groupedWithin(1000, Duration.millis(200)),
    Stream.map((seen) => Array.from(new Set(seen)))
  )
