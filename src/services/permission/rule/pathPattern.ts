// Patterns of paths: `*` and `?` within a name, `**` for any number of folders. Nothing else is special, and a pattern
// that looks as if it were meant otherwise (braces, brackets, extglobs, `..`) is refused. Matching goes back only to the
// last star, so that no pattern is slow.
import { Result } from "effect"

export interface PathPattern {
  /** Absolute patterns match real absolute paths, relative ones match paths below the project's root. */
  readonly absolute: boolean
  readonly segments: ReadonlyArray<string>
  /** The segments in the form in which patterns that restrict are compared. */
  readonly folded: ReadonlyArray<string>
  /** What a pattern that restricts reaches, folded: whatever has a name that it names is a folder of what is below. */
  readonly reach: ReadonlyArray<string>
}

export const maxPatternLength = 256

/** Characters that are drawn as nothing, and that some file systems ignore in names. */
const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu

/**
 * A name as the most tolerant file system would read it: any case, any form of the same letter, without characters that
 * are drawn as nothing, and without what Windows drops at the end.
 */
export const foldName = (name: string): string => {
  // Most names need nothing of this.
  if (/^[a-z0-9_.*?-]*[a-z0-9_*?-]$/.test(name)) return name
  const folded = name.normalize("NFKC").replace(ignorable, "").toLowerCase().normalize("NFC")
  const bare = folded.replace(/:.*$/su, "").replace(/[. ]+$/u, "")
  return bare === "" ? folded : bare
}

/** "src//a" has the same segments as "src/a"; "." and "/" have none. */
export const segmentsOf = (path: string): ReadonlyArray<string> =>
  path === "." ? [] : path.split("/").filter((segment) => segment !== "")

/** Whether the name says nothing but how many characters there are. */
export const isOpen = (segment: string): boolean => /^[*?]+$/.test(segment)

/** A pattern of whole names. */
export const patternOf = (segments: ReadonlyArray<string>, absolute: boolean): PathPattern => {
  const folded = segments.map(foldName)
  return { absolute, segments, folded, reach: isOpen(folded.at(-1) ?? "") ? folded : [...folded, "**"] }
}

/**
 * `home`: for a pattern that begins with `~/`. A slash at the end means everything in that folder. Fails with the issue.
 */
export const parsePathPattern = (text: string, home?: string): Result.Result<PathPattern, string> => {
  if (text === "") return Result.fail("is empty")
  if (text.length > maxPatternLength) return Result.fail(`is longer than ${maxPatternLength} characters`)
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) return Result.fail("contains a control character")
  if (/[{}[\]\\]|[@!+?*]\(/.test(text)) {
    return Result.fail("may contain only the wildcards *, ** and ?, and no braces, brackets or backslashes")
  }
  const atHome = text === "~" || text.startsWith("~/")
  if (!atHome && text.startsWith("~")) return Result.fail("must name your own home folder as ~/")
  const whole = atHome && home !== undefined ? home + text.slice(1) : text
  const written = segmentsOf(whole.replace(/^\.\//, ""))
  const segments = whole.endsWith("/") && written.length > 0 ? [...written, "**"] : written
  if (segments.some((segment) => segment === ".." || segment === ".")) {
    return Result.fail("must not contain . or .. as a name")
  }
  if (segments.some((segment) => segment.includes("**") && segment !== "**")) {
    return Result.fail("must have ** as a whole name between slashes, as in src/**")
  }
  return Result.succeed(patternOf(segments, atHome || text.startsWith("/")))
}

/** How many units the character at `index` has. */
const widthAt = (text: string, index: number): number => text.codePointAt(index)! > 0xffff ? 2 : 1

/** Whether a name in a rule is a pattern. */
export const isWild = (name: string): boolean => /[*?]/.test(name)

/** `*`: any characters. `?`: one character. */
export const matchesName = (pattern: string, name: string): boolean => {
  if (pattern === name || pattern === "*") return true
  let [p, n, star, mark] = [0, 0, -1, 0]
  while (n < name.length) {
    if (pattern[p] === "*") {
      star = p++
      mark = n
    } else if (pattern[p] === "?") {
      n += widthAt(name, n)
      p++
    } else if (p < pattern.length && pattern[p] === name[n]) {
      p++
      n++
    } else if (star >= 0) {
      p = star + 1
      n = ++mark
    } else {
      return false
    }
  }
  while (pattern[p] === "*") p++
  return p === pattern.length
}

/** `src/**` matches `src` too. */
export const matchesSegments = (pattern: ReadonlyArray<string>, path: ReadonlyArray<string>): boolean => {
  let [p, n, star, mark] = [0, 0, -1, 0]
  while (n < path.length) {
    const wanted = pattern[p]
    if (wanted === "**") {
      star = p++
      mark = n
    } else if (wanted !== undefined && matchesName(wanted, path[n]!)) {
      p++
      n++
    } else if (star >= 0) {
      p = star + 1
      n = ++mark
    } else {
      return false
    }
  }
  while (pattern[p] === "**") p++
  return p === pattern.length
}

/** The names before the first wildcard, folded: a pattern can only match below them. */
export const literalPrefix = ({ folded }: PathPattern): ReadonlyArray<string> => {
  const wild = folded.findIndex((segment) => /[*?]/.test(segment))
  return wild < 0 ? folded : folded.slice(0, wild)
}

/** A path as a pattern that matches it alone, or undefined if patterns cannot express it. */
export const asPattern = (path: string): string | undefined =>
  /[*?]/.test(path) || Result.isFailure(parsePathPattern(path)) ? undefined : path
