// Lockfiles as they lie on disk: one file by its path, or all of them. No link is followed, nothing is waited on, and
// what stands in a file's place without being one is told as invalid.
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import { join } from "node:path"
import { LockInvalid } from "../../services/lockfile/LockfileStore.ts"
import type { LockScope } from "../../services/lockfile/LockfileStore.ts"
import { lockSuffix } from "../../services/lockfile/lockName.ts"
import { statOf } from "../files/believe.ts"
import { readFolder } from "../files/listFolder.ts"
import { readAll, withRegular } from "../files/readRegular.ts"
import { asRead, isAbsent } from "../files/refused.ts"
import { leftover } from "../files/replaceFiles.ts"
import { lockInvalid, readStored, showLockfile } from "./makeLockfileStore.ts"
import type { Found } from "./makeLockfileStore.ts"

/** The folder of a scope's lockfiles; all but the last part is real. */
export interface Tree {
  readonly scope: LockScope
  readonly root: string
}

const maxBytes = 4 * 1024 * 1024
const maxDepth = 32

/** Files read between two chances for other fibers. */
const batch = 256

/** Most lockfiles fit; used up before anything else runs. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024)

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const decodeText = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** One lockfile; undefined where there is none. */
export const readLock = ({ root, scope }: Tree, path: string): Found | undefined => {
  try {
    const text = withRegular(
      join(root, path),
      { maxBytes, follow: false },
      (file) => decodeText(readAll(file, scratch))
    )
    return text === undefined ? Result.fail(lockInvalid(scope, path, "it is not UTF-8")) : readStored(scope, path, text)
  } catch (cause) {
    return isAbsent(cause) ? undefined : Result.fail(lockInvalid(scope, path, asRead(path)(cause).detail))
  }
}

interface Folder {
  /** Below the lockfiles folder; "" for itself. */
  readonly path: string
  readonly entries: ReadonlyArray<Fs.Dirent>
}

const folderInvalid = (scope: LockScope, path: string, issue: string): Found =>
  Result.fail(new LockInvalid({ lockfile: showLockfile(scope, path), issue, tool: "" }))

const openFolder = (tree: Tree, path: string): Result.Result<Folder, string> | undefined => {
  const folder = path === "" ? tree.root : join(tree.root, path)
  try {
    if (Fs.realpathSync.native(folder) !== folder) return Result.fail("it is a link, or lies behind one")
    return Result.succeed({ path, entries: readFolder(folder) })
  } catch (cause) {
    return isAbsent(cause) ? undefined : Result.fail(asRead(path)(cause).detail)
  }
}

/** Every folder from `start` on, as long as it can be entered; what cannot goes to `refuse`. */
const walkFolders = Effect.fnUntraced(function*(
  tree: Tree,
  start: string,
  visit: (folder: Folder) => Effect.Effect<void>,
  refuse: (path: string, issue: string) => void
) {
  const waiting = [start]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const opened = openFolder(tree, path)
    if (opened === undefined) continue
    if (Result.isFailure(opened)) {
      refuse(path, opened.failure)
      continue
    }
    yield* visit(opened.success)
    for (const entry of opened.success.entries) {
      const below = path === "" ? entry.name : `${path}/${entry.name}`
      if (entry.name.startsWith(".") || entry.name.endsWith(lockSuffix)) continue
      if (entry.isSymbolicLink()) refuse(below, "it is a link")
      else if (entry.isDirectory() && below.split("/").length > maxDepth) refuse(below, "it is nested too deeply")
      else if (entry.isDirectory()) waiting.push(below)
    }
  }
})

/** Every lockfile from a category on; names that do not end as theirs do are nobody's concern. */
export const walkLocks = Effect.fnUntraced(function*(tree: Tree, category: string | undefined) {
  const all: Array<Found> = []
  let count = 0
  const visit = Effect.fnUntraced(function*(folder: Folder) {
    for (const { name } of folder.entries) {
      if (!name.endsWith(lockSuffix) || name.startsWith(".")) continue
      const found = readLock(tree, folder.path === "" ? name : `${folder.path}/${name}`)
      if (found !== undefined) all.push(found)
      if (++count % batch === 0) yield* Effect.yieldNow
    }
  })
  yield* walkFolders(tree, category ?? "", visit, (path, issue) => {
    all.push(folderInvalid(tree.scope, path, issue))
  })
  return all
})

/** What killed writers left, by path: unfinished files that nobody has written to since `before` (milliseconds). */
export const findLeftovers = Effect.fnUntraced(function*(tree: Tree, before: number) {
  const found: Array<string> = []
  const visit = (folder: Folder) =>
    Effect.sync(() => {
      for (const entry of folder.entries) {
        if (!leftover.test(entry.name) || !entry.isFile()) continue
        const path = folder.path === "" ? entry.name : `${folder.path}/${entry.name}`
        const stat = statOf(join(tree.root, path))
        if (stat !== undefined && Number(stat.mtimeMs) < before) found.push(path)
      }
    })
  yield* walkFolders(tree, "", visit, () => undefined)
  return found
})
