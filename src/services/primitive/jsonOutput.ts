// Reads what a tool or a server says is JSON. Depth is bounded before parsing, since what is read here is walked by
// recursion later.
import { JsonPointer, Result, type Schema } from "effect"

const maxJsonDepth = 128

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

/** `/a/b/0` (RFC 6901), or `a.b.0` where no key has a dot in it. */
export const parsePath = (text: string): Result.Result<ReadonlyArray<string>, string> => {
  if (text === "") return Result.fail("is empty")
  if (!text.startsWith("/")) {
    const keys = text.split(".")
    return keys.includes("")
      ? Result.fail("has an empty name in it; a key with a dot is written /a.b")
      : Result.succeed(keys)
  }
  const keys = text.slice(1).split("/")
  return keys.some((key) => /~(?![01])/.test(key))
    ? Result.fail("has a ~ that is neither ~0 nor ~1")
    : Result.succeed(keys.map(JsonPointer.unescapeToken))
}

export interface PathMissing {
  /** What could be followed, as a pointer; "" is the whole value. */
  readonly at: string
  readonly found: string
}

const describe = (value: Schema.Json): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list of ${value.length}`
  if (typeof value !== "object") return typeof value === "string" ? "a text" : `a ${typeof value}`
  const keys = Object.keys(value)
  if (keys.length === 0) return "an empty object"
  const shown = keys.slice(0, 20).map((key) => key.slice(0, 60)).join(", ")
  return `an object with ${shown}${keys.length > 20 ? `, and ${keys.length - 20} more` : ""}`
}

/** What is at a path: own members and elements, and nothing that is computed. */
export const pick = (value: Schema.Json, keys: ReadonlyArray<string>): Result.Result<Schema.Json, PathMissing> => {
  let here = value
  for (const [depth, key] of keys.entries()) {
    const isPlace = typeof here === "object" && here !== null &&
      (Array.isArray(here) ? /^(?:0|[1-9][0-9]{0,9})$/.test(key) : true) && Object.hasOwn(here, key)
    const next: Schema.Json | undefined = isPlace ? Object(here)[key] : undefined
    if (next === undefined) {
      const at = keys.slice(0, depth).map((k) => `/${JsonPointer.escapeToken(k)}`).join("")
      return Result.fail({ at, found: describe(here) })
    }
    here = next
  }
  return Result.succeed(here)
}
