// Replaces one piece of a text. Line ends, a byte order mark and the end of the file stay as they are.
import { Result } from "effect"

export interface Edited {
  readonly text: string
  /** Where the replaced text began. */
  readonly line: number
}

export interface EditProblem {
  /** How often the old text is there. */
  readonly found: number
  /** Where it is, or lines that are like its first one. */
  readonly lines: ReadonlyArray<number>
}

const mostLines = 10

/** Places at which `piece` begins, overlapping ones too. */
const placesOf = (text: string, piece: string): ReadonlyArray<number> => {
  const places: Array<number> = []
  for (let at = text.indexOf(piece); at !== -1; at = text.indexOf(piece, at + 1)) places.push(at)
  return places
}

const linesAt = (text: string, places: ReadonlyArray<number>): ReadonlyArray<number> => {
  let [line, from] = [1, 0]
  return places.map((place) => {
    for (let at = text.indexOf("\n", from); at !== -1 && at < place; at = text.indexOf("\n", from)) {
      line++
      from = at + 1
    }
    return line
  })
}

/** Lines that have the same words as the first line of `old` that has any. */
const similar = (text: string, old: string): ReadonlyArray<number> => {
  const words = (line: string) => line.trim().replace(/\s+/g, " ")
  const first = old.split("\n").map(words).find((line) => line !== "")
  return first === undefined ? [] : text.split("\n").flatMap((line, at) => words(line) === first ? [at + 1] : [])
}

const withCrlf = (text: string) => text.replace(/\r?\n/g, "\r\n")

/** The text with its only `old` replaced by `next`. In a text whose lines end with CRLF, both may be given with LF. */
export const editText = (text: string, old: string, next: string): Result.Result<Edited, EditProblem> => {
  const ends = text.match(/\r?\n/g) ?? []
  const isCrlf = ends.length > 0 && ends.every((end) => end === "\r\n")
  const [piece, replacement] = isCrlf ? [withCrlf(old), withCrlf(next)] : [old, next]
  const places = placesOf(text, piece)
  const [place] = places
  if (place !== undefined && places.length === 1) {
    return Result.succeed({
      text: text.slice(0, place) + replacement + text.slice(place + piece.length),
      line: linesAt(text, places)[0]!
    })
  }
  const lines = place === undefined ? similar(text, old) : linesAt(text, places)
  return Result.fail({ found: places.length, lines: [...new Set(lines)].slice(0, mostLines) })
}
