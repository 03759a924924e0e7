// Reads the lockfiles of one scope from disk: one by its path, or all of them. No link is followed and no pipe is waited
// for; a link, pipe or folder with the name of a lockfile is an invalid lock.
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import { join } from "node:path"
import type { LockScope } from "../../services/lockfile/LockfileStore.ts"
import { lockSuffix } from "../../services/lockfile/lockName.ts"
import { attempt } from "../files/attempt.ts"
import { isUnchanged, statOf } from "../files/believe.ts"
import { readFolder } from "../files/listFolder.ts"
import { readAll, withRegular } from "../files/readRegular.ts"
import { asRead, isAbsent } from "../files/refused.ts"
import { leftover } from "../files/replaceFiles.ts"
import { lockInvalid, readStored } from "./makeLockfileStore.ts"
import type { Found } from "./makeLockfileStore.ts"

/** The lockfiles folder of a scope. The path to it has no links; it may be one itself. */
export interface Tree {
  readonly scope: LockScope
  readonly root: string
}

const maxBytes = 4 * 1024 * 1024
const maxDepth = 32

/** Lockfiles that are read before other fibers get a turn. */
const batch = 256

/** Most lockfiles fit. A read is decoded before the next one starts. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024)

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Undefined if it is not UTF-8. */
const decodeText = (bytes: Uint8Array): string | undefined => attempt(() => utf8.decode(bytes))

/** One lockfile; undefined if there is no such file. */
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

const openFolder = (tree: Tree, path: string): Result.Result<ReadonlyArray<Fs.Dirent>, string> => {
  const folder = path === "" ? tree.root : join(tree.root, path)
  try {
    if (Fs.realpathSync.native(folder) !== folder) return Result.fail("it is a link, or lies behind one")
    return Result.succeed(readFolder(folder))
  } catch (cause) {
    return isAbsent(cause) ? Result.succeed([]) : Result.fail(asRead(path)(cause).detail)
  }
}

/**
 * What lies in a folder and in those below it, each with its path; `issue`: why a folder is not entered. `enter` is told
 * of each folder before it is read.
 */
function* walkFolders(tree: Tree, start: string, enter: (path: string) => void = () => {}): Generator<
  { readonly path: string; readonly entry: Fs.Dirent } | { readonly path: string; readonly issue: string }
> {
  const waiting = [start]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    enter(folder)
    const entries = openFolder(tree, folder)
    if (Result.isFailure(entries)) {
      yield { path: folder, issue: entries.failure }
      continue
    }
    for (const entry of entries.success) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      yield { path, entry }
      if (entry.name.startsWith(".") || entry.name.endsWith(lockSuffix)) continue
      if (entry.isSymbolicLink()) yield { path, issue: "it is a link" }
      else if (!entry.isDirectory()) continue
      else if (path.split("/").length > maxDepth) yield { path, issue: "it is nested too deeply" }
      else waiting.push(path)
    }
  }
}

const isCalledLock = ({ name }: Fs.Dirent): boolean => name.endsWith(lockSuffix) && !name.startsWith(".")

/**
 * A function for the paths of all lockfiles, valid or not, and of what is not entered. While no folder has changed,
 * that is the same array as before, and costs one stat for each folder. `now`: milliseconds, taken before the call.
 */
export const makeLockPaths = (tree: Tree) => {
  let known: {
    readonly paths: ReadonlyArray<string>
    readonly folders: ReadonlyArray<readonly [folder: string, stat: Fs.BigIntStats | undefined]>
    readonly at: number
  } | undefined
  return (now: number): ReadonlyArray<string> => {
    if (known?.folders.every(([folder, stat]) => isUnchanged(stat, statOf(folder), known!.at)) === true) {
      return known.paths
    }
    const paths: Array<string> = []
    const folders: Array<readonly [string, Fs.BigIntStats | undefined]> = []
    const enter = (path: string) => {
      const folder = join(tree.root, path)
      folders.push([folder, statOf(folder)])
    }
    for (const found of walkFolders(tree, "", enter)) {
      if ("issue" in found || isCalledLock(found.entry)) paths.push(found.path)
    }
    known = { paths, folders, at: now }
    return paths
  }
}

/** Every lockfile of a category and those below it, or of all. Files with other names are ignored. */
export const walkLocks = Effect.fnUntraced(function*(tree: Tree, category: string | undefined) {
  const all: Array<Found> = []
  for (const found of walkFolders(tree, category ?? "")) {
    if ("issue" in found) {
      all.push(Result.fail(lockInvalid(tree.scope, found.path, found.issue)))
      continue
    }
    if (!isCalledLock(found.entry)) continue
    const lock = readLock(tree, found.path)
    if (lock !== undefined) all.push(lock)
    if (all.length % batch === 0) yield* Effect.yieldNow
  }
  return all
})

/** Paths of unfinished files of killed writers, last written before `before` (in milliseconds). */
export const findLeftovers = (tree: Tree, before: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const file of walkFolders(tree, "")) {
    if ("issue" in file || !leftover.test(file.entry.name) || !file.entry.isFile()) continue
    const stat = statOf(join(tree.root, file.path))
    if (stat !== undefined && Number(stat.mtimeMs) < before) found.push(file.path)
  }
  return found
}
