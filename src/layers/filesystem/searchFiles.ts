// Searches the text of files below a folder. Bounded in every way: entries, bytes, matches, the length of a line. A
// file that may not be read is left out and counted.
import { Effect, Glob, Result } from "effect"
import { isUtf8 } from "node:buffer"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { PatternUnusable } from "../../services/filesystem/fileErrors.ts"
import type { PrimitiveInput } from "../../services/primitive/Primitive.ts"
import { joined, mayRead, type Place } from "./places.ts"

const mostEntries = 50_000
const mostInFolder = 10_000
const largestFile = 4_194_304
const mostBytes = 268_435_456
const longestLine = 300
/** How many files are looked at before other fibers may run. */
const stride = 16

/** Folders that are searched only if the path leads into them. */
export const passedOver: ReadonlySet<string> = new Set([".ai", ".git", "node_modules"])

export interface SearchQuery {
  readonly pattern: string
  readonly regex: boolean
  readonly ignoreCase: boolean
  readonly glob: string | undefined
  readonly limit: number
}

export interface Match {
  readonly path: string
  readonly line: number
  readonly text: string
}

export type PathFilter = (path: string) => boolean

/** A glob over paths below the folder if it has a slash, otherwise over names. */
export const globFilter = (glob: string | undefined): Effect.Effect<PathFilter, PatternUnusable> => {
  if (glob === undefined) return Effect.succeed(() => true)
  const compiled = glob.length > 256
    ? Result.fail("")
    : Result.try(() => Glob.make(glob, { dot: true }))
  if (Result.isFailure(compiled)) {
    return Effect.fail(new PatternUnusable({ pattern: glob.slice(0, 256), issue: "the glob is not valid" }))
  }
  const matches = (path: string) => Glob.match(compiled.success, path)
  return Effect.succeed(glob.includes("/") ? matches : (path) => matches(path.slice(path.lastIndexOf("/") + 1)))
}

type LineTest = (line: string) => boolean

const lineTest = Effect.fnUntraced(function*({ ignoreCase, pattern, regex }: SearchQuery) {
  if (!regex && !ignoreCase) return ((line) => line.includes(pattern)) satisfies LineTest as LineTest
  const { linearPattern } = yield* Effect.promise(() => import("../schema/linearPatterns.ts"))
  const source = regex ? pattern : pattern.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
  const compiled = linearPattern(ignoreCase ? `(?i)${source}` : source)
  if (Result.isSuccess(compiled)) return compiled.success
  return yield* new PatternUnusable({ pattern: pattern.slice(0, 200), issue: compiled.failure })
})

const shownLine = (line: string, at: number): string => {
  const text = line.replace(/\r$/, "")
  if (text.length <= longestLine) return text
  const from = Math.max(0, Math.min(at - longestLine / 4, text.length - longestLine))
  return `${from > 0 ? "…" : ""}${text.slice(from, from + longestLine).toWellFormed()}…`
}

export const searchFiles = Effect.fnUntraced(function*(input: PrimitiveInput, place: Place, query: SearchQuery) {
  const files = yield* SafeFiles
  const isWanted = yield* globFilter(query.glob)
  const test = yield* lineTest(query)
  const matches: Array<Match> = []
  const skipped = { denied: 0, binary: 0, large: 0 }
  let [entries, bytes, searched, more] = [0, 0, 0, false]

  const shown = (path: string) => place.root === "/" ? `/${path}` : path
  const below = (path: string) => place.path === "." ? path : path.slice(place.path.length + 1)

  const searchFile = Effect.fnUntraced(function*(path: string) {
    if (!(yield* mayRead(input, shown(path)))) {
      skipped.denied++
      return
    }
    const range = yield* Effect.orElseSucceed(
      files.readRange(place.root, path, { offset: 0, length: largestFile + 1 }),
      () => undefined
    )
    if (range === undefined) return
    bytes += range.bytes.length
    if (range.bytes.length > largestFile) {
      skipped.large++
      return
    }
    if (range.bytes.includes(0) || !isUtf8(range.bytes)) {
      skipped.binary++
      return
    }
    searched++
    const lines = new TextDecoder().decode(range.bytes).split("\n")
    for (const [index, line] of lines.entries()) {
      if (!test(line)) continue
      if (matches.length === query.limit) {
        more = true
        return
      }
      matches.push({ path: shown(path), line: index + 1, text: shownLine(line, line.indexOf(query.pattern)) })
    }
  })

  const own = yield* files.stat(place.root, place.path)
  if (own?.kind === "file") yield* searchFile(place.path)
  const waiting = own?.kind === "folder" ? [place.path] : []
  for (let folder = waiting.shift(); folder !== undefined && !more; folder = waiting.shift()) {
    const listed = yield* Effect.orElseSucceed(files.list(place.root, folder, mostInFolder), () => undefined)
    for (const { kind, name } of listed ?? []) {
      if (++entries > mostEntries || bytes > mostBytes) more = true
      if (more) break
      const path = joined(folder, name)
      if (kind === "folder" && !passedOver.has(name)) waiting.push(path)
      if (kind !== "file" || !isWanted(below(path))) continue
      yield* searchFile(path)
      if (entries % stride === 0) yield* Effect.yieldNow
    }
  }
  return { matches, searched, skipped, more }
})
