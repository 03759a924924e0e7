// Reads some lines of a text file, whatever its size: by pieces, and no further than needed.
import { Effect } from "effect"
import { isUtf8 } from "node:buffer"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { FileNotText, PathUnusable } from "../../services/filesystem/fileErrors.ts"
import { absent, type Place } from "./places.ts"

const piece = 1_048_576
/** The longest page, in bytes. */
export const longestPage = 262_144
/** How far a line is looked for, in bytes. */
const farthest = 268_435_456
/** Up to this size, all lines are counted. */
const counted = 16_777_216

export interface Page {
  readonly text: string
  /** Number of lines in `text`. */
  readonly lines: number
  /** Number of lines of the file. Undefined for a large file. */
  readonly total: number | undefined
  /** How many lines to skip for the next page. Undefined at the end. */
  readonly next: number | undefined
  /** Whether the text ends within a line that is longer than a page. */
  readonly cut: boolean
  /** Bytes of the file. */
  readonly size: number
}

/** Reads bytes, at most as many as the file had when it was first looked at. */
export const readBytes = Effect.fnUntraced(function*(place: Place, offset: number, length: number) {
  const files = yield* SafeFiles
  const range = yield* files.readRange(place.root, place.path, { offset, length })
  if (range === undefined) return yield* absent(place)
  const { bytes, stat } = range
  return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), stat }
})

/** Counts newlines from `offset` to `end`, and stops after `most`. `at`: the first byte that was not looked at. */
const countLines = Effect.fnUntraced(function*(place: Place, offset: number, end: number, most: number) {
  let [at, lines] = [offset, 0]
  while (at < end && lines < most) {
    const { bytes } = yield* readBytes(place, at, Math.min(piece, end - at))
    if (bytes.length === 0) {
      return yield* new PathUnusable({ path: place.shown, issue: "it became shorter meanwhile", hint: "Read it again" })
    }
    let from = 0
    for (let found = bytes.indexOf(10); found !== -1 && lines < most; found = bytes.indexOf(10, from)) {
      from = found + 1
      lines++
    }
    at += lines === most ? from : bytes.length
    yield* Effect.yieldNow
  }
  return { at, lines }
})

/** The length without an incomplete last character. */
const completeLength = (bytes: Buffer): number => {
  for (let length = bytes.length; length > bytes.length - 4 && length > 0; length--) {
    if (isUtf8(bytes.subarray(0, length))) return length
  }
  return bytes.length
}

/** The length of the first lines of a piece: at most `most`, and no part of a line unless it is the only one. */
const linesIn = (bytes: Buffer, most: number, isLast: boolean) => {
  let [length, lines] = [0, 0]
  for (let found = bytes.indexOf(10); found !== -1 && lines < most; found = bytes.indexOf(10, length)) {
    length = found + 1
    lines++
  }
  if (lines === most || length === bytes.length) return { length, lines, cut: false }
  if (isLast) return { length: bytes.length, lines: lines + 1, cut: false }
  return lines > 0 ? { length, lines, cut: false } : { length: completeLength(bytes), lines: 1, cut: true }
}

/** At most `most` lines after the first `skip`. */
export const readPage = Effect.fnUntraced(function*(place: Place, skip: number, most: number) {
  const { stat: { bytes: size } } = yield* readBytes(place, 0, 0)
  const start = yield* countLines(place, 0, Math.min(size, farthest), skip)
  if (start.lines < skip && size > farthest) {
    return yield* new PathUnusable({
      path: place.shown,
      issue: "that line is too far from its beginning",
      hint: "Use encoding base64, which reads at an offset in bytes"
    })
  }
  const { bytes } = yield* readBytes(place, start.at, Math.min(longestPage, size - start.at))
  const { cut, length, lines } = linesIn(bytes, most, start.at + bytes.length === size)
  const page = bytes.subarray(0, length)
  if (!isUtf8(page) || page.includes(0)) return yield* new FileNotText({ path: place.shown, bytes: size })
  const end = start.at + length
  const endsWithin = end === size && length > 0 && page.at(-1) !== 10
  const rest = size > counted ? undefined : yield* countLines(place, end, size, Infinity)
  const last = rest === undefined || rest.at === end ? undefined : yield* readBytes(place, size - 1, 1)
  const unended = last !== undefined && last.bytes[0] !== 10 ? 1 : 0
  // The rest of a cut line is no line of its own.
  const total = rest === undefined ? undefined : start.lines + lines + rest.lines + unended - (cut ? 1 : 0)
  const text = page.toString("utf8")
  return {
    text: start.at === 0 ? text.replace(/^\ufeff/, "") : text,
    lines,
    total,
    next: end === size || (cut && total === start.lines + lines) ? undefined : start.lines + lines,
    cut: cut && !endsWithin,
    size
  } satisfies Page as Page
})

/** The largest file that is edited, in bytes. */
const largestEdit = 16_777_216

/** A whole text file with its version. A byte order mark stays. */
export const readWhole = Effect.fnUntraced(function*(place: Place) {
  const { bytes, stat } = yield* readBytes(place, 0, largestEdit + 1)
  if (bytes.length > largestEdit) {
    return yield* new PathUnusable({
      path: place.shown,
      issue: `it is larger than ${largestEdit} bytes`,
      hint: "Change it with a program"
    })
  }
  if (bytes.length !== stat.bytes) {
    return yield* new PathUnusable({ path: place.shown, issue: "it changed while being read", hint: "Try again" })
  }
  if (!isUtf8(bytes) || bytes.includes(0)) return yield* new FileNotText({ path: place.shown, bytes: stat.bytes })
  return { text: bytes.toString("utf8"), version: stat.version }
})
