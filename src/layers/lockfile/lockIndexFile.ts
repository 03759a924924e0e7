// `.index.json` beside the lockfiles of one scope. When a lock held is kept in memory and written in the background, at
// most once a day for a lock: no call waits for it, and a checkout that cannot be written loses
// nothing but these times.
import { Clock, DateTime, Effect, Result, Schedule, Scope } from "effect"
import * as Fs from "node:fs"
import { join } from "node:path"
import type { SafeFiles } from "../../services/files/SafeFiles.ts"
import type { LockWriteError, StoredLock } from "../../services/lockfile/LockfileStore.ts"
import { indexEntry, instantOf, later, printIndex, readIndex, validatedAt } from "../../services/lockfile/LockIndex.ts"
import type { LockIndex } from "../../services/lockfile/LockIndex.ts"
import type { LockError } from "../../services/workspace/ProcessLock.ts"
import { attempt } from "../files/attempt.ts"
import { Readings, statOf } from "../files/believe.ts"
import type { Tree } from "./lockTree.ts"
import { readLock, walkLocks } from "./lockTree.ts"
import type { ScopeBackend } from "./makeLockfileStore.ts"

const file = ".index.json"
const maxBytes = 64 * 1024 * 1024

/** An index up to this size is written with every change of a lockfile, a larger one in the background. */
const smallBytes = 64 * 1024
const day = 24 * 60 * 60 * 1000
const interval = "5 minutes"

const iso = (milliseconds: number): string => DateTime.formatIso(DateTime.makeUnsafe(milliseconds))

export const make = Effect.fnUntraced(function*(options: {
  readonly tree: Tree
  readonly files: SafeFiles["Service"]
  /** The folder that SafeFiles writes below, and the lockfiles folder in it. */
  readonly root: string
  readonly folder: string
  /** Fails at once if another process holds the scope's lock. */
  readonly tryExclusively: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | LockError>
}): Effect.fn.Return<
  Pick<ScopeBackend, "lastValidated" | "markValidated" | "changed" | "rebuild">,
  never,
  Scope.Scope
> {
  const { files, folder, root, tree, tryExclusively } = options
  const scope = yield* Effect.scope
  const indexPath = join(tree.root, file)
  const readings = new Readings<LockIndex | undefined>()

  /** What the file does not say yet, by path: when a lock held, and which lockfiles were written or removed. */
  const validated = new Map<string, { readonly lock: StoredLock; readonly at: number }>()
  const touched = new Set<string>()
  let isWaiting = false

  const read = readings.getEffect(
    indexPath,
    files.read(root, `${folder}/${file}`, { maxBytes }).pipe(
      Effect.map((bytes) => bytes === undefined ? undefined : readIndex(new TextDecoder().decode(bytes))),
      Effect.orElseSucceed(() => undefined)
    )
  )

  const lastValidatedIn = (index: LockIndex | undefined, lock: StoredLock): string | undefined => {
    const known = validated.get(lock.path)
    const inMemory = known === undefined ? undefined : indexEntry(known.lock, iso(known.at))
    return later(validatedAt(index?.get(lock.path), lock), validatedAt(inMemory, lock))
  }

  /** Locks whose time in the file is a day behind. */
  const behindIn = (index: LockIndex | undefined) =>
    [...validated.values()].filter(({ at, lock }) =>
      at - (instantOf(validatedAt(index?.get(lock.path), lock) ?? "") ?? -Infinity) >= day
    )

  /** Writes what changed and what is behind; `anew`: from all lockfiles. The caller holds the scope's lock. */
  const write = Effect.fnUntraced(function*(anew: boolean) {
    const old = yield* read
    const behind = behindIn(old)
    const paths = new Set([...touched, ...behind.map(({ lock }) => lock.path)])
    const entries = new Map(anew ? undefined : old)
    const locks = anew || old === undefined
      ? yield* walkLocks(tree, undefined)
      : Array.from(paths, (path) => readLock(tree, path))
    for (const path of paths) entries.delete(path)
    for (const found of locks) {
      if (found === undefined || Result.isFailure(found)) continue
      entries.set(found.success.path, indexEntry(found.success, lastValidatedIn(old, found.success)))
    }
    const now = yield* Clock.currentTimeMillis
    yield* files.write(root, `${folder}/${file}`, printIndex(entries, iso(now)))
    for (const path of paths) touched.delete(path)
    for (const time of behind) if (validated.get(time.lock.path) === time) validated.delete(time.lock.path)
  })

  const isDue = Effect.map(read, (index) => touched.size > 0 || behindIn(index).length > 0)

  const writeIfDue = Effect.flatMap(isDue, (due) => due ? write(false) : Effect.void)

  const isWritable = () =>
    attempt(() => {
      Fs.accessSync(tree.root, Fs.constants.W_OK)
      return true
    }) === true

  const flush = Effect.flatMap(isDue, (due) => due && isWritable() ? tryExclusively(writeIfDue) : Effect.void)

  /** Writes every few minutes, until nothing is due. */
  const writeLater = Effect.suspend(() => {
    if (isWaiting) return Effect.void
    isWaiting = true
    return Effect.sleep(interval).pipe(
      Effect.andThen(Effect.ignore(flush)),
      Effect.andThen(isDue),
      Effect.repeat({ while: (due) => due }),
      Effect.ensuring(Effect.sync(() => {
        isWaiting = false
      })),
      Effect.forkIn(scope),
      Effect.asVoid
    )
  })

  yield* Scope.addFinalizer(
    scope,
    Effect.ignore(Effect.retry(flush, {
      schedule: Schedule.spaced("10 millis"),
      times: 5,
      while: (error) => error._tag === "LockTimeout"
    }))
  )

  return {
    lastValidated: Effect.map(read, (index) => (lock: StoredLock) => lastValidatedIn(index, lock)),
    markValidated: (lock) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        validated.set(lock.path, { lock, at })
        return writeLater
      }),
    changed: Effect.fnUntraced(function*(paths) {
      for (const path of paths) touched.add(path)
      if (touched.size === 0) return
      if ((statOf(indexPath)?.size ?? 0n) <= BigInt(smallBytes)) yield* Effect.ignore(write(false))
      if (touched.size > 0) yield* writeLater
    }),
    // A folder that cannot be looked at is not absent: the write says why it is refused.
    rebuild: Effect.suspend((): Effect.Effect<void, LockWriteError> =>
      attempt(() => Fs.lstatSync(tree.root, { throwIfNoEntry: false }) === undefined) === true
        ? Effect.void
        : write(true)
    )
  }
})
