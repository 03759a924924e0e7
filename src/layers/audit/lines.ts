// Reads the lines of a file of any size in little memory: a line longer than any entry is hashed but not kept.
import { Data, Effect } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { Refused } from "../files/refused.ts"
import { sha256 } from "../identity/sha256.ts"

export interface Line {
  /** 1-based. */
  readonly number: number
  /** Offset of its first byte. */
  readonly start: number
  /** Offset of the next line. */
  readonly next: number
  /** Undefined if the line is too long. */
  readonly text: string | undefined
  readonly hash: string
  /** Whether it ends with a newline. */
  readonly whole: boolean
}

const chunkBytes = 262_144
/** The size of the longest entry, in bytes. */
export const longestEntry = 65_536
const maxBytes = 4 * longestEntry

/** Hash of `bytes` bytes from offset `start`, followed by the text `followed`. */
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

/**
 * The lines from offset `from` to the current end of the file. Yields `undefined` after each chunk in which no line
 * ended.
 */
function* piecesOf(fd: number, from = 0): Generator<Line | undefined> {
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
    if (begin === 0) yield undefined
  }
  if (length > 0) yield take(false)
}

export function* linesOf(fd: number, from = 0): Generator<Line> {
  for (const piece of piecesOf(fd, from)) if (piece !== undefined) yield piece
}

/** `why`: a few words for people. */
export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{ readonly why: string }> {}

const unreadable = (cause: unknown) =>
  new FileUnreadable({ why: cause instanceof Refused ? cause.message : "it cannot be read" })

/** The number of lines (or chunks of a line without an end) after which other fibers run and signals arrive. */
const lineBatch = 500
const chunkBatch = 64

/** Calls `use` for each line that ends at or before offset `to`. */
export const forEachLine = Effect.fnUntraced(function*(
  fd: number,
  use: (line: Line) => void,
  to = Infinity,
  batch = lineBatch
) {
  const pieces = piecesOf(fd)
  const some = Effect.try({
    try: () => {
      for (let i = 0, chunks = 0; i < batch && chunks < chunkBatch; i++) {
        const piece = pieces.next()
        if (piece.done === true) return true
        if (piece.value === undefined) chunks++
        else if (piece.value.next > to) return true
        else use(piece.value)
      }
      return false
    },
    catch: unreadable
  })
  while (!(yield* some)) yield* Effect.yieldNow
})

/** Opens the file, calls `use` and closes it. Undefined if there is no such file. */
export const withFile = <A>(
  open: () => number | undefined,
  use: (fd: number) => Effect.Effect<A, FileUnreadable>
): Effect.Effect<A | undefined, FileUnreadable> =>
  Effect.acquireUseRelease(
    Effect.try({ try: open, catch: unreadable }),
    (fd) => fd === undefined ? Effect.undefined : use(fd),
    (fd) => Effect.sync(() => fd === undefined ? undefined : fs.closeSync(fd))
  )
