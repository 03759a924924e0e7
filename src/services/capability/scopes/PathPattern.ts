// Patterns of paths, in rules and in grants: `*` and `?` within a name, `**` for any number of whole names, also none. A
// `*` matches names that begin with a dot too. Nothing else is special, and a pattern that looks as if it were meant
// otherwise (braces, brackets, extglobs, `..`) is refused.
import { Result } from "effect"
import { foldName } from "../../files/foldName.ts"
import * as Compare from "./comparePaths.ts"

export interface PathPattern {
  /** Its only spelling: "src/**" for "./src/". */
  readonly text: string
  /** Absolute patterns match real absolute paths, relative ones match paths below the project's root. */
  readonly absolute: boolean
  readonly segments: ReadonlyArray<string>
  /** The segments in the form in which patterns that restrict are compared. */
  readonly folded: ReadonlyArray<string>
  /** What a pattern that restricts reaches, folded: whatever has a name that it names is a folder of what is below. */
  readonly reach: ReadonlyArray<string>
}

const maxLength = 256

/** "src//a" has the same segments as "src/a"; "." and "/" have none. */
export const segmentsOf = (path: string): ReadonlyArray<string> =>
  path === "." ? [] : path.split("/").filter((segment) => segment !== "")

/** Whether the name says nothing but how many characters there are. */
export const isOpen = (segment: string): boolean => /^[*?]+$/.test(segment)

/** Whether a name in a rule is a pattern. */
export const isWild = (name: string): boolean => /[*?]/.test(name)

/** A pattern of whole names. */
export const patternOf = (segments: ReadonlyArray<string>, absolute: boolean): PathPattern => {
  const folded = segments.map(foldName)
  return {
    text: `${absolute ? "/" : ""}${segments.join("/") || (absolute ? "" : ".")}`,
    absolute,
    segments,
    folded,
    reach: isOpen(folded.at(-1) ?? "") ? folded : [...folded, "**"]
  }
}

/**
 * `home`: what `~` stands for; without it, a pattern that begins with `~/` matches nothing. A slash at the end means
 * everything in that folder. Fails with what is wrong, as a sentence without a subject: "is empty".
 */
export const parse = (written: string, home?: string): Result.Result<PathPattern, string> => {
  if (written === "") return Result.fail("is empty")
  if (written.length > maxLength) return Result.fail(`is longer than ${maxLength} characters`)
  if (written.trim() !== written) return Result.fail("must not begin or end with a blank")
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(written)) return Result.fail("must not have control characters")
  const odd = /[{}[\]\\]|[@!+?*]\(|^!/.exec(written)?.[0]
  if (odd !== undefined) {
    return Result.fail(`has "${odd}": only *, ** and ? are wildcards, and braces, brackets and backslashes are none`)
  }
  if (/^[A-Za-z]:/.test(written)) return Result.fail("must be a path with slashes, without a drive")
  const atHome = written === "~" || written.startsWith("~/")
  if (!atHome && written.startsWith("~")) return Result.fail("must name your own home folder as ~/")
  const whole = atHome && home !== undefined ? home + written.slice(1) : written
  const absolute = atHome || whole.startsWith("/")
  const inner = whole.replace(/^\/|^(?:\.\/)+/, "")
  const names = inner === "" || inner === "." ? [] : inner.replace(/\/$/, "/**").split("/")
  const dots = names.find((name) => name === ".." || name === ".")
  if (dots !== undefined) return Result.fail(`has \`${dots}\`: write the path that it leads to`)
  if (names.includes("")) return Result.fail("must have a name between two slashes")
  if (names.some((name) => name.includes("**") && name !== "**")) {
    return Result.fail("must have ** as a whole name between slashes, as in src/**")
  }
  return Result.succeed(patternOf(names.filter((name, i) => name !== "**" || names[i - 1] !== "**"), absolute))
}

/**
 * Matches from left to right, and goes back only to the last `star`, so that no pattern is slow. `step`: how many units
 * of `text` the unit of the pattern matches at `at`. 0: it does not match.
 */
const matchesUnits = (
  pattern: string | ReadonlyArray<string>,
  text: string | ReadonlyArray<string>,
  star: string,
  step: (unit: string, at: number) => number
): boolean => {
  let [p, n, afterStar, mark] = [0, 0, -1, 0]
  while (n < text.length) {
    const unit = pattern[p]
    const width = unit === undefined || unit === star ? 0 : step(unit, n)
    if (unit === star) {
      afterStar = ++p
      mark = n
    } else if (width > 0) {
      n += width
      p++
    } else if (afterStar >= 0) {
      p = afterStar
      n = ++mark
    } else {
      return false
    }
  }
  while (pattern[p] === star) p++
  return p === pattern.length
}

/** How many units the character at `index` has. */
const widthAt = (text: string, index: number): number => text.codePointAt(index)! > 0xffff ? 2 : 1

/** `*`: any characters. `?`: one character. */
export const matchesName = (pattern: string, name: string): boolean =>
  pattern === name || pattern === "*" ||
  matchesUnits(pattern, name, "*", (unit, at) => unit === "?" ? widthAt(name, at) : unit === name[at] ? 1 : 0)

/** `src/**` matches `src` too. */
export const matchesSegments = (pattern: ReadonlyArray<string>, path: ReadonlyArray<string>): boolean =>
  matchesUnits(pattern, path, "**", (name, at) => matchesName(name, path[at]!) ? 1 : 0)

/** Whether it is a path as accesses have it: no empty name, `.` or `..`. */
const isReal = (path: string): boolean =>
  path === "." || path === "/" || path.replace(/^\//, "").split("/").every((name) => !["", ".", ".."].includes(name))

/** `path`: real, relative to the project if it is inside. Another path never matches. */
export const matches = ({ absolute, segments }: PathPattern, path: string): boolean =>
  /^\/|^[A-Za-z]:(?:\/|$)/.test(path) === absolute && isReal(path) && matchesSegments(segments, segmentsOf(path))

/** A path that the pattern matches. */
const sampleOf = (pattern: ReadonlyArray<string>): ReadonlyArray<string> =>
  pattern.filter((name) => name !== "**").map((name) => name.replace(/\*+|\?/g, "\0"))

/** Whether it is proved that `parent` matches whatever `child` matches, by their segments. */
export const areSegmentsWithin = (child: ReadonlyArray<string>, parent: ReadonlyArray<string>): boolean =>
  matchesSegments(parent, sampleOf(child)) && Compare.isWithin([child], parent)

/** Whether it is proved that whatever all of `patterns` match, `parent` matches too. */
export const isWithin = (patterns: ReadonlyArray<PathPattern>, parent: PathPattern): boolean =>
  patterns.some(({ text }) => text === parent.text) ||
  (patterns.every(({ absolute }) => absolute === parent.absolute)
    ? Compare.isWithin(patterns.map(({ segments }) => segments), parent.segments)
    : isEmpty(patterns))

/** Whether it is proved that no path matches all of `patterns`. */
export const isEmpty = (patterns: ReadonlyArray<PathPattern>): boolean =>
  patterns.some((one) => one.absolute !== patterns[0]?.absolute) ||
  Compare.areApart(patterns.map(({ segments }) => segments))

/** Whether it matches the real path and everything below it. */
export const matchesBelow = ({ absolute, segments }: PathPattern, path: string): boolean =>
  absolute === path.startsWith("/") && Compare.matchesBelow(segments, segmentsOf(path))

/** Whether it may match the real path or something below it. */
export const reachesBelow = ({ absolute, segments }: PathPattern, path: string): boolean =>
  absolute === path.startsWith("/") && Compare.reachesBelow(segments, segmentsOf(path))

/** The names before the first wildcard, folded: a pattern can only match below them. */
export const literalPrefix = ({ folded }: PathPattern): ReadonlyArray<string> => {
  const wild = folded.findIndex(isWild)
  return wild < 0 ? folded : folded.slice(0, wild)
}

/** A path as a pattern that matches it alone, or undefined if patterns cannot express it. */
export const asPattern = (path: string): string | undefined =>
  isWild(path) || Result.isFailure(parse(path)) ? undefined : path
