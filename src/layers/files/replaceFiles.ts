// Replaces files in an open folder: each is written under a temporary name and then renamed, so that no reader sees
// half of one. Also removes files, and temporary files left by a killed process.
import { Result } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import { kill, pid } from "node:process"
import type { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { errorCode } from "../process/errorCode.ts"
import { type Folder, lstat, maxDepth, openFolder, syncFolder } from "./folders.ts"
import { readFolder } from "./listFolder.ts"
import { Refused } from "./refused.ts"
import { statOf } from "./statOf.ts"

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = fs.constants

/** A temporary file: the id of its process in 8 hex digits, then 16 random ones. */
export const leftover = /^\.kiwi-[0-9a-f]{24}\.tmp$/
/** In milliseconds. The writer may be on another machine that shares the disk, so its process id is not enough. */
const leftoverAge = 60_000
/** In milliseconds. After that, its process id may belong to another process. */
const writerAge = 3_600_000

const nameTemporary = (): string => `.kiwi-${pid.toString(16).padStart(8, "0")}${randomBytes(8).toString("hex")}.tmp`

const isWriterGone = (name: string): boolean =>
  Result.match(Result.try(() => kill(Number.parseInt(name.slice(6, 14), 16), 0)), {
    onSuccess: () => false,
    onFailure: (error) => errorCode(error) !== "EPERM"
  })

/**
 * Removes temporary files that killed processes left in this folder. Done again once what it left there is old enough, or
 * another process may have been killed. `swept`: by folder, when that is, in milliseconds.
 */
export const sweep = (folder: Folder, swept: BoundedMap<string, number>, now: number): void => {
  const { dev, ino } = fs.fstatSync(folder.fd, { bigint: true })
  const key = `${dev}:${ino}`
  const again = swept.get(key)
  if (again !== undefined && now < again && again - now <= writerAge) return
  let next = writerAge
  for (const { name } of readFolder(folder.at("."))) {
    if (!leftover.test(name)) continue
    const found = lstat(folder.at(name))
    if (found === undefined) continue
    const age = now - Number(found.mtimeMs)
    if (age > writerAge || (age > leftoverAge && isWriterGone(name))) fs.rmSync(folder.at(name), { force: true })
    else next = leftoverAge
  }
  swept.set(key, now + next)
}

/** The mode of the new file, and whether the umask still applies to it. */
const modeFor = (asked: number | undefined, old: fs.BigIntStats | undefined, secret: boolean) => {
  const allowed = secret ? 0o700 : 0o777
  if (old === undefined) return { mode: (asked ?? (secret ? 0o600 : 0o644)) & allowed, exact: asked !== undefined }
  const had = Number(old.mode) & 0o777
  if (asked === undefined) return { mode: had & allowed, exact: true }
  return { mode: (asked | (had & 0o111 & (asked >> 2))) & allowed, exact: true }
}

const writeWhole = (fd: number, data: Uint8Array): void => {
  for (let at = 0; at < data.length;) at += fs.writeSync(fd, data, at)
}

export interface WriteOptions {
  readonly mode?: number
  readonly exclusive?: boolean
  /** The file that is replaced must still have this version. */
  readonly version?: string
}

export interface NamedFile {
  readonly name: string
  readonly data: Uint8Array
}

const keepOwner = (fd: number, old: fs.BigIntStats | undefined): void => {
  const made = fs.fstatSync(fd, { bigint: true })
  if (old === undefined || (old.uid === made.uid && old.gid === made.gid)) return
  try {
    fs.fchownSync(fd, Number(old.uid), Number(old.gid))
  } catch (error) {
    if (errorCode(error) !== "EPERM") throw error
  }
}

const place = (folder: Folder, temporary: string, name: string, exclusive: boolean): void => {
  if (!exclusive) return fs.renameSync(folder.at(temporary), folder.at(name))
  try {
    fs.linkSync(folder.at(temporary), folder.at(name))
    fs.unlinkSync(folder.at(temporary))
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(errorCode(error))) throw error
    // A file system without hard links: creates an empty file to claim the name, then replaces it.
    fs.closeSync(fs.openSync(folder.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600))
    fs.renameSync(folder.at(temporary), folder.at(name))
  }
}

/** A file that is written under its temporary name and not renamed yet. */
interface Staged {
  readonly name: string
  readonly temporary: string
  readonly fd: number
}

const orRemove = <A>(folder: Folder, temporary: string, use: () => A): A => {
  try {
    return use()
  } catch (error) {
    fs.rmSync(folder.at(temporary), { force: true })
    throw error
  }
}

const checkVersion = (old: fs.BigIntStats | undefined, { version }: WriteOptions): void => {
  if (version === undefined || (old !== undefined && statOf(old).version === version)) return
  throw new Refused("changed", "it was changed meanwhile")
}

/** Only a regular file is replaced. */
const checkKind = (old: fs.BigIntStats | undefined): void => {
  if (old === undefined || old.isFile()) return
  if (old.isSymbolicLink()) throw new Refused("symlink", "it is a link")
  if (old.isDirectory()) throw new Refused("exists", "a folder of that name is there")
  throw new Refused("exists", "a pipe, a socket or a device of that name is there")
}

const stage = (folder: Folder, { data, name }: NamedFile, options: WriteOptions, secret: boolean): Staged => {
  const old = lstat(folder.at(name))
  checkKind(old)
  if (old !== undefined && options.exclusive === true) throw new Refused("exists", "it is already there")
  checkVersion(old, options)
  const { exact, mode } = modeFor(options.mode, old, secret)
  const temporary = nameTemporary()
  const fd = fs.openSync(folder.at(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  return orRemove(folder, temporary, () => {
    try {
      folder.at(temporary)
      if (!secret) keepOwner(fd, old)
      if (exact) fs.fchmodSync(fd, mode)
      writeWhole(fd, data)
    } catch (error) {
      fs.closeSync(fd)
      throw error
    }
    return { name, temporary, fd }
  })
}

const flush = (folder: Folder, staged: Staged): Staged =>
  orRemove(folder, staged.temporary, () => {
    try {
      fs.fsyncSync(staged.fd)
    } finally {
      fs.closeSync(staged.fd)
    }
    return staged
  })

/** Writes all files before the first flush: many files then take little longer than one. */
export const replaceFiles = (
  folder: Folder,
  files: ReadonlyArray<NamedFile>,
  options: WriteOptions,
  secret: boolean
): ReadonlyArray<Result.Result<void, unknown>> => {
  const staged = files.map((file) => Result.try(() => stage(folder, file, options, secret)))
  const flushed = staged.map(Result.flatMap((one) => Result.try(() => flush(folder, one))))
  const placed = flushed.map(
    Result.flatMap(({ name, temporary }) =>
      Result.try(() =>
        orRemove(folder, temporary, () => {
          const old = lstat(folder.at(name))
          checkVersion(old, options)
          checkKind(old)
          place(folder, temporary, name, options.exclusive === true)
        })
      )
    )
  )
  if (placed.some(Result.isSuccess)) syncFolder(folder)
  return placed
}

export const removeIn = (folder: Folder, name: string, real: string, depth: number): void => {
  const found = lstat(folder.at(name))
  if (found === undefined) return
  if (!found.isDirectory()) return fs.unlinkSync(folder.at(name))
  if (depth > maxDepth) throw new Refused("io", "it is nested too deeply")
  const inner = openFolder(folder.at(name), join(real, name), folder.naming)
  try {
    for (const child of readFolder(inner.at("."), Infinity)) removeIn(inner, child.name, join(real, name), depth + 1)
  } finally {
    fs.closeSync(inner.fd)
  }
  fs.rmdirSync(folder.at(name))
}

/** Returns whether the folder no longer exists. A folder with any content stays. */
export const removeEmptyIn = (folder: Folder, name: string): boolean => {
  try {
    fs.rmdirSync(folder.at(name))
    syncFolder(folder)
    return true
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errorCode(error))) return false
    throw error
  }
}
