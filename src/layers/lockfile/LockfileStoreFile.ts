// Lockfiles on disk: `.ai/lockfiles` of the project and `lockfiles` of the user space. A call costs a stat of each file,
// since what was read is kept until the file changes. The locks between processes lie in $KIWI_HOME, since the files may
// be a checkout that nobody can write to.
import { Clock, Effect, Layer, Option } from "effect"
import { join } from "node:path"
import { SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { LockfileStore } from "../../services/lockfile/LockfileStore.ts"
import type { LockScope } from "../../services/lockfile/LockfileStore.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { Readings, statOf } from "../files/believe.ts"
import * as LockIndexFile from "./lockIndexFile.ts"
import type { Tree } from "./lockTree.ts"
import { findLeftovers, makeLockPaths, readLock, walkLocks } from "./lockTree.ts"
import type { Found, ScopeBackend } from "./makeLockfileStore.ts"
import * as MakeLockfileStore from "./makeLockfileStore.ts"

const folder = "lockfiles"
const lockName = "lockfiles.lock"

/** What the lockfiles in memory may take together, by the sizes of their files. */
const maxCached = 16 * 1024 * 1024

/** A write takes milliseconds. */
const leftoverAge = 10 * 60 * 1000

/** `root`: what SafeFiles writes below. `state`: the folder of the lock between processes. */
const makeBackend = Effect.fnUntraced(function*(scope: LockScope, root: string, state: string) {
  const files = yield* SafeFiles
  const locks = yield* ProcessLock
  const tree: Tree = { scope, root: join(root, folder) }
  const readings = new Readings<Found | undefined>({ most: maxCached, sizeOf: ({ size }) => Number(size) })
  const exclusively = locks.withLock(state, lockName)

  const removeEmptyFolders = Effect.fnUntraced(function*(path: string) {
    const parts = path.split("/").slice(0, -1)
    while (parts.length > 0 && (yield* files.removeEmpty(root, [folder, ...parts].join("/")))) parts.pop()
  })

  const remove = Effect.fnUntraced(function*(path: string) {
    if (statOf(join(tree.root, path))?.isDirectory() === true) {
      const detail = "a folder of that name is there"
      return yield* new WriteRefused({ path: `${folder}/${path}`, issue: "exists", detail })
    }
    yield* files.remove(root, `${folder}/${path}`)
    yield* Effect.ignore(removeEmptyFolders(path))
  })

  const index = yield* LockIndexFile.make({
    tree,
    files,
    root,
    folder,
    tryExclusively: (effect) => Effect.scoped(Effect.andThen(locks.tryHold(state, lockName), effect))
  })
  const backend: ScopeBackend = {
    ...index,
    scope,
    read: (path, now) => readings.get(join(tree.root, path), now, () => readLock(tree, path)),
    walk: (category) => walkLocks(tree, category),
    paths: makeLockPaths(tree),
    writeAll: (writes) => files.writeAll(root, writes.map(({ data, path }) => ({ path: `${folder}/${path}`, data }))),
    remove,
    exclusively,
    sweep: Effect.gen(function*() {
      const leftovers = findLeftovers(tree, (yield* Clock.currentTimeMillis) - leftoverAge)
      if (leftovers.length > 0) yield* exclusively(Effect.forEach(leftovers, remove, { discard: true }))
    }),
    rebuild: exclusively(index.rebuild)
  }
  return backend
})

export const make = Effect.gen(function*() {
  const { home, userSpace } = yield* KiwiHome
  const { project, state } = yield* Workspace
  const user = yield* makeBackend("user", userSpace, join(home, "user"))
  return LockfileStore.of(MakeLockfileStore.make(
    Option.isNone(project) ? [user] : [yield* makeBackend("project", project.value.ai, state), user]
  ))
})

export const layer = Layer.effect(LockfileStore, make)
