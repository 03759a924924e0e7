// Lockfiles that are texts in a map, held for as long as the layer lives. Whoever made the maps may write into them.
import { Clock, DateTime, Effect, Layer, Option, Result, Semaphore } from "effect"
import { LockfileStore } from "../../services/lockfile/LockfileStore.ts"
import type { LockScope, StoredLock } from "../../services/lockfile/LockfileStore.ts"
import { indexEntry } from "../../services/lockfile/LockIndex.ts"
import type { IndexEntry } from "../../services/lockfile/LockIndex.ts"
import { lockSuffix } from "../../services/lockfile/lockName.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import * as MakeLockfileStore from "./makeLockfileStore.ts"

/** Texts by path below the lockfiles folder: "math/add@1.0.0.lock.json". */
export type MemoryLockfiles = Readonly<Record<LockScope, Map<string, string>>>

export const make = Effect.fnUntraced(function*(files: MemoryLockfiles) {
  const { project } = yield* Workspace
  const one = yield* Semaphore.make(1)
  const indexes: Readonly<Record<LockScope, Map<string, IndexEntry>>> = { project: new Map(), user: new Map() }

  const read: MakeLockfileStore.Backend["read"] = (scope, path) => {
    const text = files[scope].get(path)
    return text === undefined ? undefined : MakeLockfileStore.readStored(scope, path, text)
  }

  const isLockfile = (path: string, category: string | undefined): boolean =>
    path.endsWith(lockSuffix) && (category === undefined || path.startsWith(`${category}/`))

  const held = Effect.fnUntraced(function*(lock: StoredLock) {
    const now = DateTime.formatIso(DateTime.makeUnsafe(yield* Clock.currentTimeMillis))
    indexes[lock.scope].set(lock.path, indexEntry(lock, now))
  })

  return LockfileStore.of(MakeLockfileStore.make({
    scopes: Option.isSome(project) ? ["project", "user"] : ["user"],
    read,
    walk: (scope, category) =>
      Effect.sync(() =>
        [...files[scope]]
          .filter(([path]) => isLockfile(path, category))
          .map(([path, text]) => MakeLockfileStore.readStored(scope, path, text))
      ),
    writeAll: (scope, writes) =>
      Effect.sync(() =>
        writes.map(({ data, path }) => {
          files[scope].set(path, typeof data === "string" ? data : new TextDecoder().decode(data))
          return Result.void
        })
      ),
    remove: (scope, path) => Effect.sync(() => void files[scope].delete(path)),
    exclusively: () => one.withPermits(1),
    index: (scope) => Effect.sync(() => indexes[scope]),
    held,
    changed: (scope, paths) =>
      Effect.sync(() => {
        for (const path of paths) if (!files[scope].has(path)) indexes[scope].delete(path)
      }),
    sweep: () => Effect.void,
    rebuild: () => Effect.void
  }))
})

export const layerWith = (files: MemoryLockfiles) => Layer.effect(LockfileStore, make(files))

export const layer = Layer.effect(
  LockfileStore,
  Effect.suspend(() => make({ project: new Map(), user: new Map() }))
)
