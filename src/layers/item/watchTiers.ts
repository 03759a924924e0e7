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
import { folderManifest, readFolderName } from "../../services/item/ItemPath.ts"
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
  /** The folders to look at in it, relative to the type folder. */
  readonly folders: ReadonlyArray<string>
}

type Survey = ReadonlyMap<string, Surveyed>

type Watch = (path: string, identity: string) => void

const identityOf = (path: string): string => {
  const stat = statOf(path)
  return stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.birthtimeMs}`
}

/** `category`: of the items in it, "" for a type folder. The folders in it are those in which makeCatalog looks too. */
const surveyFolder = Effect.fnUntraced(function*(path: string, type: ItemType, category: string, watch: Watch) {
  // Both before its names are read: what is put in its place later is another one to the next survey, and what changes
  // in it later is reported.
  const identity = identityOf(path)
  watch(path, identity)
  const names = namesIn(path)
  if (names === undefined) return undefined
  const isItem = type === "tool" && category !== "" && names.some(({ name }) => name === folderManifest)
  const folders: Array<string> = []
  let state = 0
  const mix = (text: string): void => {
    for (let i = 0; i < text.length; i++) state = (Math.imul(state, 31) + text.charCodeAt(i)) | 0
  }
  for (const [i, name] of names.entries()) {
    const file = `${path}/${name.name}`
    if (name.isDirectory()) {
      const child = category === "" ? name.name : `${category}/${name.name}`
      if (!isItem && readFolderName(child) === "enter") folders.push(child)
      continue
    }
    if (i % batch === batch - 1) yield* Effect.yieldNow
    const stat = statOf(file)
    if (stat !== undefined) mix(`${name.name}:${stat.ino}:${stat.size}:${stat.mode}:${stat.mtimeMs}:${stat.ctimeMs}`)
  }
  return { path, identity, state, folders } satisfies Surveyed
})

/**
 * The folders of a tier that can hold items, its root first. A folder that is not `stale`, nor below one that took the
 * place of another, is as `known` has it.
 */
const survey = Effect.fnUntraced(
  function*(root: string | undefined, known: Survey, stale: ReadonlySet<string> | undefined, watch: Watch) {
    const found = new Map<string, Surveyed>()
    if (root === undefined) return found
    const isReplaced = ({ identity, path }: Surveyed): boolean => known.get(path)?.identity !== identity
    const top: Surveyed = { path: root, identity: identityOf(root), state: 0, folders: [] }
    found.set(root, top)
    watch(root, top.identity)
    const waiting = ItemType.literals.map((type) => ({ type, category: "", below: isReplaced(top) }))
    while (waiting.length > 0) {
      const { below, category, type } = waiting.pop()!
      const path = [root, typeFolder[type], ...(category === "" ? [] : [category])].join("/")
      const before = below || stale?.has(path) !== false ? undefined : known.get(path)
      const folder = before ?? (yield* surveyFolder(path, type, category, watch))
      if (folder === undefined) continue
      found.set(path, folder)
      for (const child of folder.folders) waiting.push({ type, category: child, below: below || isReplaced(folder) })
      if (before === undefined) yield* Effect.yieldNow
    }
    return found
  }
)

/** The changes that one subscriber's watchers reported. The numbers come from one counter for all subscribers. */
interface Reported {
  readonly tier: Tier
  /** When every folder was watched; undefined while one is not. */
  since: number | undefined
  /** When each folder was reported last. */
  readonly folders: Map<string, number>
}

const watchTier = Effect.fnUntraced(function*(
  { root: findRoot }: WatchedTier,
  reported: Reported,
  count: () => number,
  report: () => void
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
  const watch = (path: string, identity: string, isRoot: boolean): void => {
    const before = watchers.get(path)
    if (before?.identity === identity) return
    before?.watcher.close()
    watchers.delete(path)
    if (watchers.size >= maxWatched) return
    try {
      // In the root only its type folders matter, not the logs and caches beside them, and its own name: it was moved.
      const watcher = Fs.watch(path, { persistent: false }, (_event, name) => {
        if (isRoot && name !== null && name !== basename(path) && !typeFolders.has(name)) return
        reported.folders.set(path, count())
        stale.add(path)
        if (name !== null) stale.add(`${path}/${name}`)
        report()
        Queue.offerUnsafe(wake, undefined)
      })
      watcher.on("error", () => {
        watcher.close()
        if (watchers.get(path)?.watcher === watcher) watchers.delete(path)
        complete = false
        reported.since = undefined
        Queue.offerUnsafe(wake, undefined)
      })
      watchers.set(path, { watcher, identity })
    } catch {
      // One folder without a watcher makes the watching incomplete.
    }
  }
  /** After a survey: whether all that it found is watched, and nothing else. */
  const settle = (found: Survey): void => {
    for (const [path, { watcher }] of watchers) {
      if (found.has(path)) continue
      watcher.close()
      watchers.delete(path)
    }
    complete = watchers.size === found.size
    if (!complete || found.size === 0) reported.since = undefined
    else if (reported.since === undefined || reported.folders.size > 2 * maxWatched) {
      reported.folders.clear()
      reported.since = count()
      // What changed before in a folder that was not watched yet, no watcher has reported.
      report()
    }
  }
  let known: Survey = new Map()
  let pause = 0
  let wholeAt = Number.NEGATIVE_INFINITY
  while (true) {
    const start = yield* Clock.currentTimeMillis
    const isWhole = !complete || start >= wholeAt
    const looked = isWhole ? undefined : stale
    stale = new Set()
    const root = findRoot()
    const found = yield* survey(root, known, looked, (path, identity) => watch(path, identity, path === root))
    const differing = [...found.values()].filter(({ identity, path, state }) => {
      const before = known.get(path)
      return before?.state !== state || before.identity !== identity
    })
    if (differing.length > 0 || known.size !== found.size) {
      for (const { path } of differing) reported.folders.set(path, count())
      report()
    }
    known = found
    settle(found)
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
const eventsRead = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

export const watchTiers = (tiers: ReadonlyArray<WatchedTier>) => {
  let counted = 0
  const count = (): number => ++counted
  const live = new Set<Reported>()

  const watched = (tier: WatchedTier, queue: Queue.Enqueue<Tier>) =>
    Effect.gen(function*() {
      const reported: Reported = { tier: tier.tier, since: undefined, folders: new Map() }
      live.add(reported)
      yield* Effect.addFinalizer(() => Effect.sync(() => live.delete(reported)))
      return yield* watchTier(tier, reported, count, () => Queue.offerUnsafe(queue, tier.tier))
    })

  /** Emits the tiers that changed, collected over a fifth of a second. Works only while somebody listens. */
  const changes: Stream.Stream<ReadonlyArray<Tier>> = Stream.callback<Tier>((queue) =>
    Effect.forEach(tiers, (tier) => watched(tier, queue), { concurrency: "unbounded", discard: true })
  ).pipe(
    Stream.groupedWithin(1000, Duration.millis(200)),
    Stream.map((seen) => Array.from(new Set(seen)))
  )

  const changedSince = Effect.fnUntraced(function*(tier: Tier, mark: number | undefined) {
    const isWatched = (reported: Reported) => reported.tier === tier && reported.since !== undefined
    if (![...live].some(isWatched)) return { mark: undefined, folders: undefined }
    yield* eventsRead
    const reported = [...live].find(isWatched)
    if (reported?.since === undefined) return { mark: undefined, folders: undefined }
    return {
      mark: counted,
      folders: mark === undefined || mark < reported.since
        ? undefined
        : new Set(Array.from(reported.folders).flatMap(([folder, at]) => at > mark ? [folder] : []))
    }
  })

  return { changes, changedSince }
}
