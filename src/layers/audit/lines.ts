// Lines of a file of any size, in little memory: a line too long to be one of ours is hashed and not kept.
import { Data, Effect } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { sha256 } from "../identity/sha256.ts"

export interface Line {
  /** From 1. */
  readonly number: number
  /** Where its first byte stands. */
  readonly start: number
  /** Where the next line begins. */
  readonly next: number
  /** `undefined` when the line is too long. */
  readonly text: string | undefined
  readonly hash: string
  /** Whether it has its line end. */
  readonly whole: boolean
}

const chunkBytes = 262_144
/** Four times the longest entry. */
const maxBytes = 262_144

/** Hash of `bytes` bytes from `start`, and of what is to follow them. */
export const hashRange = (fd: number, start: number, bytes: number, followed = ""): string => {
  const running = createHash("sha256")
  const chunk = Buffer.allocUnsafe(chunkBytes)
  for (let at = start; at < start + bytes;) {
    const count = fs.readSync(fd, chunk, 0, Math.min(chunk.length, start + bytes - at), at)
    if (count === 0) break
    running.update(chunk.subarray(0, count))
    at += count
  }
  return running.update(followed).digest("hex")
}

/** The lines from `from` up to where the file ends now. */
export function* linesOf(fd: number, from = 0): Generator<Line> {
  const chunk = Buffer.allocUnsafe(chunkBytes)
  let parts: Array<Buffer> = []
  let length = 0
  let overlong: ReturnType<typeof createHash> | undefined
  let number = 0
  let start = from
  const keep = (piece: Buffer): void => {
    length += piece.length
    if (overlong === undefined && length > maxBytes) {
      overlong = createHash("sha256")
      for (const part of parts) overlong.update(part)
      parts = []
    }
    if (overlong === undefined) parts.push(Buffer.from(piece))
    else overlong.update(piece)
  }
  const take = (whole: boolean): Line => {
    const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    const line = {
      number: ++number,
      start,
      next: start + length + (whole ? 1 : 0),
      text: overlong === undefined ? bytes.toString("utf8") : undefined,
      hash: overlong === undefined ? sha256(bytes) : overlong.digest("hex"),
      whole
    }
    start = line.next
    parts = []
    length = 0
    overlong = undefined
    return line
  }
  for (let at = from;;) {
    const count = fs.readSync(fd, chunk, 0, chunk.length, at)
    if (count === 0) break
    at += count
    const read = chunk.subarray(0, count)
    let begin = 0
    for (let end = read.indexOf(10); end !== -1; end = read.indexOf(10, begin)) {
      keep(read.subarray(begin, end))
      yield take(true)
      begin = end + 1
    }
    if (begin < count) keep(read.subarray(begin))
  }
  if (length > 0) yield take(false)
}

export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{}> {}

/** Lines between two pauses, in which other fibers run. */
const batch = 500

/** The lines that end at `to` at the latest. */
export const forEachLine = Effect.fnUntraced(function*(fd: number, use: (line: Line) => void, to = Infinity) {
  const lines = linesOf(fd)
  const some = Effect.try({
    try: () => {
      for (let i = 0; i < batch; i++) {
        const line = lines.next()
        if (line.done === true || line.value.next > to) return true
        use(line.value)
      }
      return false
    },
    catch: () => new FileUnreadable()
  })
  while (!(yield* some)) yield* Effect.yieldNow
})

/** Opens, uses and closes; `undefined` when there is no such file. */
export const withFile = <A>(
  open: () => number | undefined,
  use: (fd: number) => Effect.Effect<A, FileUnreadable>
): Effect.Effect<A | undefined, FileUnreadable> =>
  Effect.acquireUseRelease(
    Effect.try({ try: open, catch: () => new FileUnreadable() }),
    (fd) => fd === undefined ? Effect.undefined : use(fd),
    (fd) => Effect.sync(() => fd === undefined ? undefined : fs.closeSync(fd))
  )
