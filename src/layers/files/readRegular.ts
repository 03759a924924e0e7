// Reads a file that somebody else may have put there: it can be a pipe that nobody writes to, a device that never ends,
// or larger than the memory. What is not a regular file of a known size at most is not read, and nothing is waited for.
import { Result } from "effect"
import * as Fs from "node:fs"
import { errorCode } from "../process/errorCode.ts"

export type Unread = "absent" | "not-a-file" | "too-large" | "unreadable"

export interface Bounds {
  readonly maxBytes: number
  /** Whether a link may lead to it. */
  readonly follow: boolean
}

/** Windows has none of these flags but the first; there the look before the open has to do. */
const { O_NOCTTY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = Fs.constants

/** To open for reading: it follows no link, waits for nobody and becomes nobody's terminal. */
export const withoutFollowing = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW

/** Reads until the buffer is full or the file ends; the part of the buffer that was filled. */
export const fill = (descriptor: number, buffer: Buffer): Buffer => {
  let length = 0
  while (length < buffer.length) {
    const count = Fs.readSync(descriptor, buffer, length, buffer.length - length, null)
    if (count === 0) break
    length += count
  }
  return buffer.subarray(0, length)
}

const whyNot = (cause: unknown): Unread => {
  switch (errorCode(cause)) {
    case "ENOENT":
    case "ENOTDIR":
      return "absent"
    // A link where none may be, a socket, a device without a driver.
    case "ELOOP":
    case "ENXIO":
    case "ENODEV":
    case "EISDIR":
      return "not-a-file"
    default:
      return "unreadable"
  }
}

const readOpened = (descriptor: number, maxBytes: number): Result.Result<Buffer, Unread> => {
  const stat = Fs.fstatSync(descriptor)
  if (!stat.isFile()) return Result.fail("not-a-file")
  if (stat.size > maxBytes) return Result.fail("too-large")
  return Result.succeed(fill(descriptor, Buffer.allocUnsafe(stat.size)))
}

export const readRegular = (path: string, { follow, maxBytes }: Bounds): Result.Result<Buffer, Unread> => {
  try {
    // To open some devices does something: a look comes first.
    const found = follow ? Fs.statSync(path) : Fs.lstatSync(path)
    if (!found.isFile()) return Result.fail("not-a-file")
    const descriptor = Fs.openSync(path, follow ? withoutFollowing & ~O_NOFOLLOW : withoutFollowing)
    try {
      return readOpened(descriptor, maxBytes)
    } finally {
      Fs.closeSync(descriptor)
    }
  } catch (cause) {
    return Result.fail(whyNot(cause))
  }
}

/** The same as text; `undefined` where it cannot be read. */
export const readText = (path: string, bounds: Bounds): string | undefined =>
  Result.getOrUndefined(Result.map(readRegular(path, bounds), (bytes) => bytes.toString("utf8")))
