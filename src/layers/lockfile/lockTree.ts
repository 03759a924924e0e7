// Lockfiles as they lie on disk: one file by its path, or all of them. No link is followed, nothing is waited on, and
// what stands in a file's place without being one is told as invalid.
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import { join } from "node:path"
import { LockInvalid } from "../../services/lockfile/LockfileStore.ts"
import type { LockScope } from "../../services/lockfile/LockfileStore.ts"
import { lockSuffix } from "../../services/lockfile/lockName.ts"
import { fill, withoutFollowing } from "../files/readRegular.ts"
import { errorCode } from "../process/errorCode.ts"
import { leftover } from "../workspace/SafeFilesNode.ts"
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

export interface ReadFile {
  readonly found: Found
  /** Undefined where nothing was opened. */
  readonly stat: Fs.BigIntStats | undefined
}

const refusal = (cause: unknown): string => {
  const code = errorCode(cause)
  switch (code) {
    case "ELOOP":
      return "it is a link"
    case "EACCES":
    case "EPERM":
      return "you may not read it"
    case "ENXIO":
    case "ENODEV":
      return "it is no regular file"
    default:
      return `the file system answered ${code}`
  }
}

/** Absent also where a folder on the way is none: then there is no lockfile. */
const isAbsent = (cause: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(errorCode(cause))

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

const readOpened = (
  { root, scope }: Tree,
  path: string,
  descriptor: number,
  isRealFolder: boolean
): ReadFile => {
  const stat = Fs.fstatSync(descriptor, { bigint: true })
  const invalid = (issue: string): ReadFile => ({ found: Result.fail(lockInvalid(scope, path, issue)), stat })
  if (!stat.isFile()) return invalid("it is no regular file")
  if (stat.size > BigInt(maxBytes)) return invalid(`it is larger than ${maxBytes} bytes`)
  if (!isRealFolder) {
    const file = join(root, path)
    if (Fs.realpathSync.native(file) !== file) return invalid("a folder on the way to it is a link")
  }
  // One byte more than there should be: a file that grows is not as long as it was.
  const size = Number(stat.size) + 1
  const bytes = fill(descriptor, size <= scratch.length ? scratch.subarray(0, size) : Buffer.allocUnsafeSlow(size))
  if (BigInt(bytes.length) !== stat.size) return invalid("it changed while it was read")
  const text = decodeText(bytes)
  return text === undefined ? invalid("it is not UTF-8") : { found: readStored(scope, path, text), stat }
}

/** One lockfile; undefined where there is none. `isRealFolder`: its folder is known to be reached without links. */
export const readLock = (tree: Tree, path: string, isRealFolder = false): ReadFile | undefined => {
  let descriptor: number
  try {
    descriptor = Fs.openSync(`${tree.root}/${path}`, withoutFollowing)
  } catch (cause) {
    return isAbsent(cause)
      ? undefined
      : { found: Result.fail(lockInvalid(tree.scope, path, refusal(cause))), stat: undefined }
  }
  try {
    return readOpened(tree, path, descriptor, isRealFolder)
  } catch (cause) {
    // Removed since it was opened.
    if (isAbsent(cause)) return undefined
    return { found: Result.fail(lockInvalid(tree.scope, path, refusal(cause))), stat: undefined }
  } finally {
    Fs.closeSync(descriptor)
  }
}

/** What tells whether a file is still the one that was read; undefined where there is none, null where nobody may look. */
export const lookAt = (tree: Tree, path: string): Fs.BigIntStats | undefined | null => {
  try {
    return Fs.lstatSync(`${tree.root}/${path}`, { bigint: true, throwIfNoEntry: false })
  } catch {
    return null
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
    return Result.succeed({ path, entries: Fs.readdirSync(folder, { withFileTypes: true }) })
  } catch (cause) {
    return isAbsent(cause) ? undefined : Result.fail(refusal(cause))
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
      const read = readLock(tree, folder.path === "" ? name : `${folder.path}/${name}`, true)
      if (read !== undefined) all.push(read.found)
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
        const stat = lookAt(tree, path)
        if (stat && Number(stat.mtimeMs) < before) found.push(path)
      }
    })
  yield* walkFolders(tree, "", visit, () => undefined)
  return found
})
