// Parses the JSON output of a tool or server. Depth is limited before parsing, since later code walks the value
// recursively.
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

/** `JSON.parse` reads 1e999 as Infinity, which is not a JSON value. */
const allFinite = (value: Schema.Json): boolean =>
  typeof value === "number"
    ? Number.isFinite(value)
    : typeof value !== "object" || value === null || Object.values(value).every(allFinite)

/** The parser's message without its quotes from the text: a part of a secret could not be redacted later. */
const complaint = (cause: unknown): string => {
  const said = cause instanceof Error ? cause.message : ""
  const [own = ""] = said.split(/(?:^|, )(?:\.\.\.)?"/, 1)
  return own === "" ? "" : ` (${own})`
}

/**
 * Parses a text that is exactly one JSON value, or says what is wrong. A byte order mark and surrounding whitespace are
 * allowed.
 */
export const parseJsonOutput = (text: string): Result.Result<Schema.Json, string> => {
  const body = (text.startsWith("\uFEFF") ? text.slice(1) : text).trim()
  if (body === "") return Result.fail("there is none")
  if (tooDeep(body)) return Result.fail(`it nests deeper than ${maxJsonDepth} levels`)
  return Result.flatMap(
    Result.try({
      try: (): Schema.Json => JSON.parse(body),
      catch: (cause) => `it is not one JSON value${complaint(cause)}`
    }),
    (value) => allFinite(value) ? Result.succeed(value) : Result.fail("it contains a number that is out of range")
  )
}

/** `/a/b/0` (RFC 6901), or `a.b.0` if no key contains a dot. */
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
  /** The part of the path that exists, as a pointer; "" is the whole value. */
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

/** The value at a path: own members and elements only. */
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
