// Reads what a tool or a server says is JSON. Depth is bounded before parsing, since what is read here is walked by
// recursion later.
import { Result, type Schema } from "effect"

export const maxJsonDepth = 128

/** Whether brackets nest deeper than the limit, strings skipped. */
const tooDeep = (text: string): boolean => {
  let depth = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (quoted) {
      if (c === 0x5c) i++
      else if (c === 0x22) quoted = false
    } else if (c === 0x22) quoted = true
    else if (c === 0x5b || c === 0x7b) {
      depth++
      if (depth > maxJsonDepth) return true
    } else if (c === 0x5d || c === 0x7d) depth--
  }
  return false
}

/** `JSON.parse` reads 1e999 as Infinity, which is no JSON value. */
const allFinite = (value: Schema.Json): boolean =>
  typeof value === "number"
    ? Number.isFinite(value)
    : typeof value !== "object" || value === null || Object.values(value).every(allFinite)

/** What the parser says, without what it quotes: a piece of a secret is not found again to be taken out. */
const complaint = (cause: unknown): string => {
  const said = cause instanceof Error ? cause.message : ""
  const [own = ""] = said.split(/(?:^|, )(?:\.\.\.)?"/, 1)
  return own === "" ? "" : ` (${own})`
}

/** The one JSON value that `text` is, or what is wrong with it. A byte order mark and white space around are no harm. */
export const parseJsonOutput = (text: string): Result.Result<Schema.Json, string> => {
  const body = (text.startsWith("\uFEFF") ? text.slice(1) : text).trim()
  if (body === "") return Result.fail("there is none")
  if (tooDeep(body)) return Result.fail(`it nests deeper than ${maxJsonDepth} levels`)
  return Result.flatMap(
    Result.try({
      try: (): Schema.Json => JSON.parse(body),
      catch: (cause) => `it is not one JSON value${complaint(cause)}`
    }),
    (value) => allFinite(value) ? Result.succeed(value) : Result.fail("it holds a number that is out of range")
  )
}
