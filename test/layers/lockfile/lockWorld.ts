// A project, a user space and a home on a real disk, and stores of lockfiles over them.
import { Effect, Exit, Layer, Scope } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as LockfileStoreFile from "../../../src/layers/lockfile/LockfileStoreFile.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import * as WorkspaceNode from "../../../src/layers/workspace/WorkspaceNode.ts"
import { LockfileStore } from "../../../src/services/lockfile/LockfileStore.ts"
import type { LockScope } from "../../../src/services/lockfile/LockfileStore.ts"
import { keyOf } from "../../../src/services/lockfile/lockName.ts"
import { temporary } from "../../support/temporary.ts"
import { frozen } from "./locks.ts"
import type { Made } from "./locks.ts"

export const worldIn = (folder: string) => {
  const [root, home, userSpace] = [join(folder, "project"), join(folder, "home"), join(folder, "user")]
  const over = (project: string | undefined, locks: typeof ProcessLockMemory.layer) =>
    Layer.fresh(LockfileStoreFile.layer.pipe(
      Layer.provide(WorkspaceNode.layer(project)),
      Layer.provide(SafeFilesNode.layer),
      Layer.provide(locks),
      Layer.provide(KiwiHomeNode.layerWith({ home, userSpace, userHome: folder })),
      Layer.orDie
    ))
  const folders: Readonly<Record<LockScope, string>> = {
    project: join(root, ".ai/lockfiles"),
    user: join(userSpace, "lockfiles")
  }
  const layer = over(root, ProcessLockMemory.layer)
  return {
    folder,
    root,
    home,
    userSpace,
    folders,
    layer,
    alone: over(undefined, ProcessLockMemory.layer),
    /** With locks between processes. */
    layerProcess: over(root, ProcessLockSqlite.layer),
    put: (scope: LockScope, path: string, text: string): void => {
      const file = join(folders[scope], path)
      fs.mkdirSync(dirname(file), { recursive: true })
      fs.writeFileSync(file, text)
    },
    get: (scope: LockScope, path: string): string | undefined => {
      const file = join(folders[scope], path)
      return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined
    }
  }
}
export type World = ReturnType<typeof worldIn>

/** A project with an `.ai` and nothing in it. */
export const world = Effect.map(temporary, (folder) => {
  const made = worldIn(folder)
  fs.mkdirSync(join(made.root, ".ai"), { recursive: true })
  fs.mkdirSync(made.userSpace, { recursive: true })
  return made
})

/** A store and what ends it. */
export const open = Effect.fnUntraced(function*(made: World) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (opened) => Scope.close(opened, Exit.void))
  const store = yield* Effect.provide(LockfileStore, yield* Layer.buildWithScope(made.layer, scope))
  return { store, end: Scope.close(scope, Exit.void) }
})

/** What a call of a tool that was made up asks for. */
export const locksFor = (store: LockfileStore["Service"], made?: Made) => {
  const now = frozen(made)
  return store.locksFor(keyOf(now), now.chain_hash)
}
