// Opens and reads files that somebody else may have put there: a pipe that nobody writes to, a device that never ends, a
// link, a file larger than the memory. Only a regular file of a known size at most is read, and nothing is waited for.
import { Result } from "effect"
import * as Fs from "node:fs"
import { getuid } from "node:process"
import { errorCode } from "../process/errorCode.ts"
import { attempt } from "./attempt.ts"
import { isAbsent, refusalOf, Refused } from "./refused.ts"

export type Unread = "absent" | "not-a-file" | "too-large" | "unreadable"

interface Bounds {
  readonly maxBytes: number
  /** Whether links may lead to it. If not, the path has to be its real one: no folder on the way is a link either. */
  readonly follow: boolean
  /** Refuse as `foreign` what another user owns or everybody can write: for what Kiwi decides by. */
  readonly own?: boolean
}

interface OpenFile {
  readonly descriptor: number
  /** From when it was opened. */
  readonly stat: Fs.BigIntStats
}

/** Windows has none of these flags but the first. */
const { O_NOCTTY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = Fs.constants

/** Whether an open file can be named by its descriptor, as on Linux. */
export const hasDescriptorNames = Fs.existsSync("/proc/self/fd")

const isForeign = (stat: Fs.BigIntStats): boolean => {
  const uid = getuid?.()
  return uid !== undefined && (stat.uid !== BigInt(uid) || (stat.mode & 0o002n) !== 0n)
}

/** Whether the path is the real one of the open file. */
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

const notAFile = () => new Refused("not-a-file", "it is no regular file")

const checkFile = ({ stat }: OpenFile, { maxBytes, own }: Omit<Bounds, "follow">): void => {
  if (!stat.isFile()) throw notAFile()
  if (stat.size > maxBytes) throw new Refused("too-large", `it is larger than ${maxBytes} bytes`)
  if (own === true && isForeign(stat)) throw new Refused("foreign", "another user owns it or can write it")
}

/** Opens what lies directly in a folder that is known to be the right one. Throws `Refused`, or what the system says. */
export const openInFolder = (path: string, bounds: Omit<Bounds, "follow">): OpenFile =>
  openChecked(path, O_RDONLY | O_NOFOLLOW, (file) => checkFile(file, bounds))

/** To close by the caller. `flags`: to write as well. Throws `Refused`, or what the system says. */
export const openRegular = (path: string, bounds: Bounds, flags = O_RDONLY): OpenFile => {
  // To open some devices does something: where a link may lead to one, a look comes first.
  if (bounds.follow && !Fs.statSync(path).isFile()) throw notAFile()
  return openChecked(path, bounds.follow ? flags : flags | O_NOFOLLOW, (file) => {
    checkFile(file, bounds)
    if (!bounds.follow && !isRealPath(file.descriptor, path)) {
      throw new Refused("symlink", "a folder on the way to it is a link")
    }
  })
}

/** Opens, uses and closes. Throws `Refused`, or what the system says. */
export const withRegular = <A>(path: string, bounds: Bounds, use: (file: OpenFile) => A): A => {
  const file = openRegular(path, bounds)
  try {
    return use(file)
  } finally {
    Fs.closeSync(file.descriptor)
  }
}

/** Reads from a position, else from where the last read ended, until the buffer is full or the file ends. */
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

/** All of a file. `scratch`: memory to read it into if it fits. Throws `Refused` if its length changed meanwhile. */
export const readAll = ({ descriptor, stat }: OpenFile, scratch?: Buffer): Buffer => {
  const size = Number(stat.size)
  // One byte more than there should be: a file that grows is not as long as it was.
  const bytes = fill(
    descriptor,
    scratch !== undefined && size < scratch.length ? scratch : Buffer.allocUnsafeSlow(size + 1)
  )
  if (bytes.length !== size) throw new Refused("io", "it changed while it was read")
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

/** The same as text; `undefined` where it cannot be read. */
export const readText = (path: string, bounds: Bounds): string | undefined =>
  Result.getOrUndefined(Result.map(readRegular(path, bounds), (bytes) => bytes.toString("utf8")))
