// Lockfiles as texts in maps, kept for as long as the layer lives. Whoever made the maps may write into them.
import { Clock, DateTime, Effect, Layer, Option, Result, Semaphore } from "effect"
import { LockfileStore } from "../../services/lockfile/LockfileStore.ts"
import type { LockScope } from "../../services/lockfile/LockfileStore.ts"
import { indexEntry, validatedAt } from "../../services/lockfile/LockIndex.ts"
import type { IndexEntry } from "../../services/lockfile/LockIndex.ts"
import { lockSuffix } from "../../services/lockfile/lockName.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import * as MakeLockfileStore from "./makeLockfileStore.ts"

/** Texts by path below the lockfiles folder: "math/add@1.0.0.lock.json". */
export type MemoryLockfiles = Readonly<Record<LockScope, Map<string, string>>>

const makeBackend = (
  scope: LockScope,
  texts: Map<string, string>,
  exclusively: MakeLockfileStore.ScopeBackend["exclusively"]
): MakeLockfileStore.ScopeBackend => {
  const index = new Map<string, IndexEntry>()
  const isLockfile = (path: string, category: string | undefined): boolean =>
    path.endsWith(lockSuffix) && (category === undefined || path.startsWith(`${category}/`))
  return {
    scope,
    read: (path) => {
      const text = texts.get(path)
      return text === undefined ? undefined : MakeLockfileStore.readStored(scope, path, text)
    },
    walk: (category) =>
      Effect.sync(() =>
        [...texts]
          .filter(([path]) => isLockfile(path, category))
          .map(([path, text]) => MakeLockfileStore.readStored(scope, path, text))
      ),
    paths: () => [...texts.keys()].filter((path) => isLockfile(path, undefined)),
    writeAll: (writes) =>
      Effect.sync(() =>
        writes.map(({ data, path }) => {
          texts.set(path, typeof data === "string" ? data : new TextDecoder().decode(data))
          return Result.void
        })
      ),
    remove: (path) => Effect.sync(() => void texts.delete(path)),
    exclusively,
    lastValidated: Effect.succeed((lock) => validatedAt(index.get(lock.path), lock)),
    markValidated: (lock) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        index.set(lock.path, indexEntry(lock, DateTime.formatIso(DateTime.makeUnsafe(now))))
      }),
    changed: (paths) =>
      Effect.sync(() => {
        for (const path of paths) if (!texts.has(path)) index.delete(path)
      }),
    sweep: Effect.void,
    rebuild: Effect.void
  }
}

export const make = Effect.fnUntraced(function*(files: MemoryLockfiles) {
  const { project } = yield* Workspace
  const one = yield* Semaphore.make(1)
  const scopes: ReadonlyArray<LockScope> = Option.isSome(project) ? ["project", "user"] : ["user"]
  return LockfileStore.of(
    MakeLockfileStore.make(scopes.map((scope) => makeBackend(scope, files[scope], one.withPermits(1))))
  )
})

export const layerWith = (files: MemoryLockfiles) => Layer.effect(LockfileStore, make(files))

export const layer = Layer.effect(
  LockfileStore,
  Effect.suspend(() => make({ project: new Map(), user: new Map() }))
)
