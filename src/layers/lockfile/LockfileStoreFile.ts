// Lockfiles on disk, `.ai/lockfiles` of the project and `lockfiles` of the user space. What was read is kept by the
// identity of its file, so that a call costs a look at each. Locks between processes lie in $KIWI_HOME and not beside
// the files, which may be a checkout that nobody can write to.
import { Clock, Effect, Layer, Option } from "effect"
import { join } from "node:path"
import { type FileWrite, SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { LockfileStore } from "../../services/lockfile/LockfileStore.ts"
import type { LockScope } from "../../services/lockfile/LockfileStore.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { Readings, statOf } from "../files/believe.ts"
import * as LockIndexFile from "./lockIndexFile.ts"
import type { Tree } from "./lockTree.ts"
import { findLeftovers, readLock, walkLocks } from "./lockTree.ts"
import type { Found } from "./makeLockfileStore.ts"
import * as MakeLockfileStore from "./makeLockfileStore.ts"

const folder = "lockfiles"
const lockName = "lockfiles.lock"

/** What the lockfiles in memory may take together, by the sizes of their files. */
const maxCached = 16 * 1024 * 1024

/** A write takes milliseconds. */
const leftoverAge = 10 * 60 * 1000

interface Place {
  /** What SafeFiles writes below. */
  readonly root: string
  /** Where the lock between processes lies. */
  readonly state: string
}

const makeScope = Effect.fnUntraced(function*(scope: LockScope, { root, state }: Place) {
  const files = yield* SafeFiles
  const locks = yield* ProcessLock
  const tree: Tree = { scope, root: join(root, folder) }
  const readings = new Readings<Found | undefined>({ most: maxCached, sizeOf: ({ size }) => Number(size) })

  const removeEmptyFolders = Effect.fnUntraced(function*(path: string) {
    const parts = path.split("/").slice(0, -1)
    while (parts.length > 0 && (yield* files.removeEmpty(root, [folder, ...parts].join("/")))) parts.pop()
  })

  const exclusively = locks.withLock(state, lockName)

  const remove = Effect.fnUntraced(function*(path: string) {
    if (statOf(join(tree.root, path))?.isDirectory() === true) {
      const detail = "a folder of that name is there"
      return yield* new WriteRefused({ path: `${folder}/${path}`, issue: "exists", detail })
    }
    yield* files.remove(root, `${folder}/${path}`)
    yield* Effect.ignore(removeEmptyFolders(path))
  })

  const sweep = Effect.gen(function*() {
    const before = (yield* Clock.currentTimeMillis) - leftoverAge
    const leftovers = yield* findLeftovers(tree, before)
    if (leftovers.length > 0) yield* exclusively(Effect.forEach(leftovers, remove, { discard: true }))
  })

  return {
    read: (path: string, now: number) => readings.get(join(tree.root, path), now, () => readLock(tree, path)),
    walk: (category: string | undefined) => walkLocks(tree, category),
    writeAll: (writes: ReadonlyArray<FileWrite>) =>
      files.writeAll(root, writes.map(({ data, path }) => ({ path: `${folder}/${path}`, data }))),
    remove,
    exclusively,
    sweep,
    index: yield* LockIndexFile.make({
      tree,
      files,
      root,
      folder,
      tryExclusively: (effect) => Effect.scoped(Effect.andThen(locks.tryHold(state, lockName), effect))
    })
  }
})

export const make = Effect.gen(function*() {
  const { home, userSpace } = yield* KiwiHome
  const workspace = yield* Workspace
  const user = yield* makeScope("user", { root: userSpace, state: join(home, "user") })
  const project = Option.isNone(workspace.project)
    ? undefined
    : yield* makeScope("project", { root: workspace.project.value.ai, state: workspace.state })
  // Without a project nothing asks for its files: the store above knows the scopes that there are.
  const of = (scope: LockScope) => scope === "user" || project === undefined ? user : project

  return LockfileStore.of(MakeLockfileStore.make({
    scopes: project === undefined ? ["user"] : ["project", "user"],
    read: (scope, path, now) => of(scope).read(path, now),
    walk: (scope, category) => of(scope).walk(category),
    writeAll: (scope, writes) => of(scope).writeAll(writes),
    remove: (scope, path) => of(scope).remove(path),
    exclusively: (scope) => of(scope).exclusively,
    index: (scope) => of(scope).index.current,
    held: (lock) => of(lock.scope).index.held(lock),
    changed: (scope, paths) => of(scope).index.changed(paths),
    sweep: (scope) => of(scope).sweep,
    rebuild: (scope) => of(scope).exclusively(of(scope).index.rebuild)
  }))
})

export const layer = Layer.effect(LockfileStore, make)
