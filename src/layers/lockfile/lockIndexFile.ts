// The index of one scope on disk: `.index.json` beside its lockfiles. What held is kept in memory and written behind
// everybody's back, at most once a day for a lock: a call never waits for it, and a checkout that cannot be written
// loses nothing but a time.
import { Clock, DateTime, Effect, Fiber, Result, Schedule, Scope } from "effect"
import * as Fs from "node:fs"
import { join } from "node:path"
import type { SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import type { LockWriteError, StoredLock } from "../../services/lockfile/LockfileStore.ts"
import { heldSince, indexEntry, instantOf, later, printIndex, readIndex } from "../../services/lockfile/LockIndex.ts"
import type { IndexEntry, LockIndex } from "../../services/lockfile/LockIndex.ts"
import type { LockError } from "../../services/workspace/ProcessLock.ts"
import { Readings, statOf } from "../files/believe.ts"
import type { Tree } from "./lockTree.ts"
import { readLock, walkLocks } from "./lockTree.ts"

const file = ".index.json"
const maxBytes = 64 * 1024 * 1024

/** An index up to this size is written with every change, a larger one from time to time. */
const smallBytes = 64 * 1024
const day = 24 * 60 * 60 * 1000
const interval = "5 minutes"

export interface IndexFile {
  /** As it is now, with what is in memory only. */
  readonly current: Effect.Effect<LockIndex | undefined>
  readonly held: (lock: StoredLock) => Effect.Effect<void>
  /** Under the scope's lock. */
  readonly changed: (paths: ReadonlyArray<string>) => Effect.Effect<void>
  /** Under the scope's lock. */
  readonly rebuild: Effect.Effect<void, LockWriteError>
}

interface Remembered {
  readonly lock: StoredLock
  at: number
  /** When it last held as far as the file says. */
  written: number
}

const iso = (milliseconds: number): string => DateTime.formatIso(DateTime.makeUnsafe(milliseconds))

export const make = Effect.fnUntraced(function*(options: {
  readonly tree: Tree
  readonly files: SafeFiles["Service"]
  /** The folder that SafeFiles writes below, and the lockfiles folder from there. */
  readonly root: string
  readonly folder: string
  /** Fails at once where another process holds the lock. */
  readonly tryExclusively: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | LockError>
}) {
  const { files, folder, root, tree, tryExclusively } = options
  const scope = yield* Effect.scope

  /** By path. */
  const remembered = new Map<string, Remembered>()
  const touched = new Set<string>()
  const indexPath = join(tree.root, file)
  const readings = new Readings<LockIndex | undefined>()
  let timer: Fiber.Fiber<void> | undefined

  const readFile = readings.getEffect(
    indexPath,
    files.read(root, `${folder}/${file}`, { maxBytes }).pipe(
      Effect.map((bytes) => bytes === undefined ? undefined : readIndex(new TextDecoder().decode(bytes))),
      Effect.orElseSucceed(() => undefined)
    )
  )

  /** Since when a lock is known to hold, by the file or by memory. */
  const lastHeld = (index: LockIndex | undefined, lock: StoredLock): string | undefined => {
    const memory = remembered.get(lock.path)
    const isIt = memory !== undefined && memory.lock.lockfile.chain_hash === lock.lockfile.chain_hash &&
      memory.lock.lockfile.generated_at === lock.lockfile.generated_at
    return later(heldSince(index, lock), isIt ? iso(memory.at) : undefined)
  }

  const current = Effect.map(readFile, (index): LockIndex | undefined => {
    if (remembered.size === 0) return index
    const merged = new Map(index)
    for (const { lock } of remembered.values()) merged.set(lock.path, indexEntry(lock, lastHeld(index, lock)))
    return merged
  })

  /** Remembered locks that the file has not heard of for a day. */
  const due = (index: LockIndex | undefined): ReadonlyArray<string> =>
    [...remembered.values()].flatMap((memory) => {
      memory.written = Math.max(memory.written, instantOf(heldSince(index, memory.lock) ?? "") ?? -Infinity)
      return memory.at - memory.written >= day ? [memory.lock.path] : []
    })

  const everything = Effect.fnUntraced(function*(old: LockIndex | undefined) {
    const entries = new Map<string, IndexEntry>()
    for (const found of yield* walkLocks(tree, undefined)) {
      if (Result.isFailure(found)) continue
      entries.set(found.success.path, indexEntry(found.success, lastHeld(old, found.success)))
    }
    return entries
  })

  const update = (old: LockIndex, paths: Iterable<string>): Map<string, IndexEntry> => {
    const entries = new Map(old)
    for (const path of paths) {
      const found = readLock(tree, path)
      if (found === undefined || Result.isFailure(found)) entries.delete(path)
      else entries.set(path, indexEntry(found.success, lastHeld(old, found.success)))
    }
    return entries
  }

  const write = Effect.fnUntraced(function*(entries: LockIndex) {
    const now = yield* Clock.currentTimeMillis
    yield* files.write(root, `${folder}/${file}`, printIndex(entries, iso(now)))
    for (const memory of remembered.values()) memory.written = memory.at
  })

  /** Under the scope's lock. */
  const bringUpToDate = Effect.gen(function*() {
    const old = yield* readFile
    const paths = new Set([...touched, ...due(old)])
    if (paths.size === 0) return
    yield* write(old === undefined ? yield* everything(old) : update(old, paths))
    for (const path of paths) touched.delete(path)
  })

  const pending = Effect.map(readFile, (index) => touched.size > 0 || due(index).length > 0)

  const canWrite = Effect.sync(() => {
    try {
      Fs.accessSync(tree.root, Fs.constants.W_OK)
      return true
    } catch {
      return false
    }
  })

  const flush: Effect.Effect<void, LockError | WriteRefused> = Effect.gen(function*() {
    if ((yield* pending) && (yield* canWrite)) yield* tryExclusively(bringUpToDate)
  })

  const laterOn = Effect.suspend(() => {
    if (timer !== undefined) return Effect.void
    const again: Effect.Effect<void> = Effect.sleep(interval).pipe(
      Effect.andThen(Effect.ignore(flush)),
      Effect.andThen(pending),
      Effect.flatMap((left) => left ? again : Effect.sync(() => timer = undefined))
    )
    return Effect.map(Effect.forkIn(again, scope), (fiber) => {
      timer = fiber
    })
  })

  const held = (lock: StoredLock): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const memory = remembered.get(lock.path)
      if (
        memory !== undefined && memory.lock.lockfile.chain_hash === lock.lockfile.chain_hash &&
        memory.lock.lockfile.generated_at === lock.lockfile.generated_at
      ) {
        memory.at = Math.max(memory.at, now)
        return memory.at - memory.written >= day ? laterOn : Effect.void
      }
      remembered.set(lock.path, { lock, at: now, written: -Infinity })
      return laterOn
    })

  const isSmall = Effect.sync(() => (statOf(indexPath)?.size ?? 0n) <= BigInt(smallBytes))

  const changed = Effect.fnUntraced(function*(paths: ReadonlyArray<string>) {
    for (const path of paths) touched.add(path)
    if (yield* isSmall) yield* Effect.ignore(bringUpToDate)
    if (touched.size > 0) yield* laterOn
  })

  const rebuild = Effect.gen(function*() {
    if (Fs.lstatSync(tree.root, { throwIfNoEntry: false }) === undefined) return
    yield* write(yield* everything(yield* readFile))
    touched.clear()
  })

  yield* Scope.addFinalizer(
    scope,
    Effect.ignore(Effect.retry(flush, {
      schedule: Schedule.spaced("10 millis"),
      times: 5,
      while: (error) => error._tag === "LockTimeout"
    }))
  )
  return { current, held, changed, rebuild } satisfies IndexFile
})
