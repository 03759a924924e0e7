// Opens and reads files that somebody else may have put there: a pipe without a writer, an endless device, a link, a
// file larger than the memory. Reads only a regular file up to a size limit, and never blocks.
import { Result } from "effect"
import * as Fs from "node:fs"
import { getgid, getuid } from "node:process"
import { errorCode } from "../process/errorCode.ts"
import { attempt } from "./attempt.ts"
import { isAbsent, refusalOf, Refused } from "./refused.ts"

export type Unread = "absent" | "not-a-file" | "too-large" | "unreadable"

interface Bounds {
  readonly maxBytes: number
  /**
   * Whether links are followed. If not, the path must be the file's real path: no folder on the way may be a link
   * either.
   */
  readonly follow: boolean
  /** Refuse as `foreign` a file that another user owns or can write. For files that Kiwi's decisions depend on. */
  readonly own?: boolean
}

interface OpenFile {
  readonly descriptor: number
  /** From when the file was opened. */
  readonly stat: Fs.BigIntStats
}

/** On Windows only O_RDONLY exists. */
const { O_NOCTTY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = Fs.constants

/** Whether an open file has a path by its descriptor, as on Linux. */
export const hasDescriptorNames = Fs.existsSync("/proc/self/fd")

type Rights = Pick<Fs.Stats | Fs.BigIntStats, "gid" | "mode" | "uid">

/**
 * Whether a user other than this one and root can change a file, or what is in a folder. `own`: root's do not count
 * either. With umask 002 a user's files are writable by the group of their own, which has nobody else in it.
 */
export const isOpenToOthers = (stat: Rights, own?: "own"): boolean => {
  const uid = getuid?.()
  if (uid === undefined) return false
  const [owner, group, mode] = [Number(stat.uid), Number(stat.gid), Number(stat.mode)]
  return (owner !== uid && (own === "own" || owner !== 0)) || (mode & 0o002) !== 0 ||
    ((mode & 0o020) !== 0 && group !== getgid?.())
}

/** Whether the path is the real path of the open file. */
const isRealPath = (descriptor: number, path: string): boolean =>
  (hasDescriptorNames && attempt(() => Fs.readlinkSync(`/proc/self/fd/${descriptor}`)) === path) ||
  Fs.realpathSync.native(path) === path

const openOrRefuse = (path: string, flags: number): number => {
  try {
    return Fs.openSync(path, flags, 0o600)
  } catch (error) {
    throw errorCode(error) === "ELOOP" ? new Refused("symlink", "it is a link") : error
  }
}

const openChecked = (path: string, flags: number, check: (file: OpenFile) => void): OpenFile => {
  const descriptor = openOrRefuse(path, flags | O_NONBLOCK | O_NOCTTY)
  try {
    const file = { descriptor, stat: Fs.fstatSync(descriptor, { bigint: true }) }
    check(file)
    return file
  } catch (error) {
    Fs.closeSync(descriptor)
    throw error
  }
}

const notAFile = () => new Refused("not-a-file", "it is not a regular file")

const checkFile = ({ stat }: OpenFile, { maxBytes, own }: Omit<Bounds, "follow">): void => {
  if (!stat.isFile()) throw notAFile()
  if (stat.size > maxBytes) throw new Refused("too-large", `it is larger than ${maxBytes} bytes`)
  if (own === true && isOpenToOthers(stat, "own")) throw new Refused("foreign", "another user owns it or can write it")
}

/** Opens an entry of a folder that was checked already. Throws `Refused` or the system's error. */
export const openInFolder = (path: string, bounds: Omit<Bounds, "follow">): OpenFile =>
  openChecked(path, O_RDONLY | O_NOFOLLOW, (file) => checkFile(file, bounds))

/** The caller closes the file. `flags`: to open for writing too. Throws `Refused` or the system's error. */
export const openRegular = (path: string, bounds: Bounds, flags = O_RDONLY): OpenFile => {
  // Opening some devices has effects: if a link may lead to one, its type is checked first.
  if (bounds.follow && !Fs.statSync(path).isFile()) throw notAFile()
  return openChecked(path, bounds.follow ? flags : flags | O_NOFOLLOW, (file) => {
    checkFile(file, bounds)
    if (!bounds.follow && !isRealPath(file.descriptor, path)) {
      throw new Refused("symlink", "a folder in its path is a link")
    }
  })
}

/** Opens the file, calls `use` and closes it. Throws `Refused` or the system's error. */
export const withRegular = <A>(path: string, bounds: Bounds, use: (file: OpenFile) => A): A => {
  const file = openRegular(path, bounds)
  try {
    return use(file)
  } finally {
    Fs.closeSync(file.descriptor)
  }
}

/** Reads from `position`, or on from the last read, until the buffer is full or the file ends. */
export const fill = (descriptor: number, buffer: Buffer, position: number | null = null): Buffer => {
  let length = 0
  while (length < buffer.length) {
    const at = position === null ? null : position + length
    const count = Fs.readSync(descriptor, buffer, length, buffer.length - length, at)
    if (count === 0) break
    length += count
  }
  return buffer.subarray(0, length)
}

/**
 * Reads the whole file. `scratch`: a buffer to use if the file fits. Throws `Refused` if the length changed meanwhile.
 */
export const readAll = ({ descriptor, stat }: OpenFile, scratch?: Buffer): Buffer => {
  const size = Number(stat.size)
  // Asks for one byte more than the size, to notice a file that has grown.
  const bytes = fill(
    descriptor,
    scratch !== undefined && size < scratch.length ? scratch : Buffer.allocUnsafeSlow(size + 1)
  )
  if (bytes.length !== size) throw new Refused("io", "it changed while being read")
  return bytes
}

const whyNot = (error: unknown): Unread => {
  if (isAbsent(error)) return "absent"
  switch (refusalOf(error).issue) {
    case "too-large":
      return "too-large"
    case "symlink":
    case "not-a-file":
    case "exists":
      return "not-a-file"
    default:
      return "unreadable"
  }
}

export const readRegular = (path: string, bounds: Bounds): Result.Result<Buffer, Unread> =>
  Result.try({ try: () => withRegular(path, bounds, (file) => readAll(file)), catch: whyNot })

/** The same as text. Undefined if it cannot be read. */
export const readText = (path: string, bounds: Bounds): string | undefined =>
  Result.getOrUndefined(Result.map(readRegular(path, bounds), (bytes) => bytes.toString("utf8")))
