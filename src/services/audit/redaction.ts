// Removes secrets from text and JSON: by value, also if the value was encoded, and by key. Values under eight
// characters stay: replacing every "1" would destroy the record and hide nothing. Where two matches overlap, both are
// removed, so the order of the search does not matter.
import { Redacted } from "effect"
import type { Schema } from "effect"
import * as Base64 from "effect/encoding/Base64"
import { isJsonArray } from "../schema/json.ts"
import { isSecretKey } from "./secretNames.ts"
import { mark, redactUrls, redactWholeUrl } from "./urlSecrets.ts"

export { mark } from "./urlSecrets.ts"

/** Deeper values are cut off: nobody reads them, and a recursive walk would overflow the stack. */
const maxDepth = 64
const tooDeep = "‹cut: nested too deeply›"

const minLength = 8

type Secrets = ReadonlyArray<Redacted.Redacted<string>>

/** The value as it appears in JSON written by a program, with non-ASCII characters escaped and not. */
const jsonForms = (value: string): ReadonlyArray<string> => {
  const escaped = JSON.stringify(value).slice(1, -1)
  const ascii = escaped.replace(
    /[\u0080-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
  return [escaped, ascii, escaped.replaceAll("/", "\\/")]
}

/**
 * The part of a Base64 text that these bytes alone determine, for each of the three possible alignments: in a Basic
 * header, the password of `user:password` can start at any of them.
 */
const base64Forms = (value: string): ReadonlyArray<string> => {
  const bytes = new TextEncoder().encode(value)
  return [0, 1, 2].flatMap((offset) => {
    const shifted = new Uint8Array(offset + bytes.length)
    shifted.set(bytes, offset)
    const text = Base64.encode(shifted).replace(/=+$/, "")
    const core = text.slice(offset === 0 ? 0 : offset + 1, shifted.length % 3 === 0 ? text.length : -1)
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")]
  })
}

/** As `encodeURIComponent`, RFC 3986 and HTML's forms have it. */
const percentForms = (value: string): ReadonlyArray<string> => {
  const component = encodeURIComponent(value.toWellFormed())
  const encode = (c: string) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`
  return [component, component.replace(/[!'()*]/g, encode), component.replace(/[!'()~]/g, encode)].flatMap((text) => [
    text,
    text.replaceAll("%20", "+"),
    text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
  ])
}

/** The value, and that in JSON, in a URL, in JSON within JSON or a URL, and in the Base64 of each. */
const encodedForms = (value: string): ReadonlyArray<string> => {
  const json = jsonForms(value)
  const texts = [value, ...json, ...percentForms(value), ...json.flatMap(jsonForms), ...json.flatMap(percentForms)]
  const base64 = [value, json[0]!, encodeURIComponent(value.toWellFormed())].flatMap(base64Forms)
  return [...new Set([...texts, ...base64, ...base64.flatMap(percentForms)])]
}

const remembered = new WeakMap<Redacted.Redacted<string>, ReadonlyArray<string>>()

const formsOf = (secret: Redacted.Redacted<string>): ReadonlyArray<string> => {
  const known = remembered.get(secret)
  if (known !== undefined) return known
  const value = Redacted.value(secret)
  const forms = value.length < minLength ? [] : encodedForms(value)
  remembered.set(secret, forms)
  return forms
}

/** Every form of each secret to search for. */
export const patternsOf = (secrets: Secrets): ReadonlyArray<string> => secrets.flatMap(formsOf)

interface Interval {
  readonly from: number
  /** The end, exclusive. */
  readonly to: number
}

const merged = (intervals: ReadonlyArray<Interval>): ReadonlyArray<Interval> => {
  const all: Array<Interval> = []
  for (const next of intervals.toSorted((a, b) => a.from - b.from)) {
    const last = all.at(-1)
    if (last === undefined || next.from >= last.to) all.push(next)
    else if (next.to > last.to) all[all.length - 1] = { from: last.from, to: next.to }
  }
  return all
}

/** Where patterns occur in a text, in order; overlapping ones are merged. */
const occurrences = (text: string, patterns: ReadonlyArray<string>): ReadonlyArray<Interval> => {
  const found: Array<Interval> = []
  for (const pattern of patterns) {
    let from = text.indexOf(pattern)
    while (from !== -1) {
      let to = from + pattern.length
      let next = text.indexOf(pattern, from + 1)
      for (; next !== -1 && next < to; next = text.indexOf(pattern, next + 1)) to = next + pattern.length
      found.push({ from, to })
      from = next
    }
  }
  return found.length < 2 ? found : merged(found)
}

const replaceAll = (text: string, patterns: ReadonlyArray<string>): string => {
  if (patterns.length === 0) return text
  const found = occurrences(text, patterns)
  if (found.length === 0) return text
  let redacted = ""
  let at = 0
  for (const { from, to } of found) {
    redacted += text.slice(at, from) + mark
    at = to
  }
  return redacted + text.slice(at)
}

/** Where the first pattern begins that the end of the text cuts off. The text's length if there is none. */
const openFrom = (text: string, patterns: ReadonlyArray<string>): number => {
  let open = text.length
  for (const pattern of patterns) {
    const first = pattern.charAt(0)
    const earliest = Math.max(0, text.length - pattern.length + 1)
    for (let at = text.indexOf(first, earliest); at !== -1 && at < open; at = text.indexOf(first, at + 1)) {
      if (pattern.startsWith(text.slice(at))) open = at
    }
  }
  return open
}

const isHighSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xd800

/** Redacts a text that arrives in pieces. The concatenated output equals the redacted whole text. */
export interface Redactor {
  /** Takes a piece and returns the text that is decided. Text that may still become a pattern is held back. */
  readonly push: (piece: string) => string
  /** Returns the text held back, at the end of the input. */
  readonly rest: () => string
  /** Marks a gap in the input: drops the text held back, and the next piece may begin within a pattern. */
  readonly skip: () => void
}

/** The text held back, and how much of it is covered by a mark that was returned already. */
interface Held {
  readonly text: string
  readonly covered: number
}

const nothingHeld: Held = { text: "", covered: 0 }

/** `instead`: the replacement mark, in the encoding of the pieces. Never splits a character. */
export const makeRedactor = (patterns: ReadonlyArray<string>, instead: string = mark): Redactor => {
  const longest = Math.max(1, ...patterns.map((pattern) => pattern.length))
  let held = nothingHeld
  /**
   * Number of characters not to return, since the omitted text before them may have been the beginning of a pattern.
   */
  let skipping = 0

  /** Splits a text at `end` into what is decided and what is left. */
  const decide = ({ covered, text }: Held, end: number): readonly [decided: string, left: Held] => {
    if (end === 0) return ["", { text, covered }]
    const found = occurrences(text, patterns)
    let decided = ""
    let at = 0
    for (const { from, to } of covered > 0 ? merged([{ from: 0, to: covered }, ...found]) : found) {
      if (from >= end) break
      decided += text.slice(at, from) + (from < covered ? "" : instead)
      at = to
    }
    return [decided + text.slice(at, end), { text: text.slice(end), covered: Math.max(0, at - end) }]
  }

  return {
    push: (piece) => {
      const skipped = Math.min(skipping, piece.length)
      skipping -= skipped
      const text = held.text + piece.slice(skipped)
      const open = openFrom(text, patterns)
      const [decided, left] = decide({ ...held, text }, isHighSurrogate(text, open - 1) ? open - 1 : open)
      held = left
      return decided
    },
    rest: () => decide(held, held.text.length)[0],
    skip: () => {
      held = nothingHeld
      skipping = longest - 1
    }
  }
}

/** `{ name: "Authorization", value: … }`: a header or a variable as an object. */
const namesSecret = (value: Schema.JsonObject): boolean =>
  [value["name"], value["key"]].some((name) => typeof name === "string" && isSecretKey(name))

/** `byKey`: redact by key too, and by this in every text. */
const walk = (
  value: Schema.Json,
  patterns: ReadonlyArray<string>,
  byKey: ((text: string) => string) | undefined,
  depth: number
): Schema.Json => {
  const redact = (text: string) => {
    const known = replaceAll(text, patterns)
    return byKey === undefined ? known : byKey(known)
  }
  if (typeof value === "string") return redact(value)
  if (typeof value !== "object" || value === null) return value
  if (depth >= maxDepth) return tooDeep
  if (isJsonArray(value)) return value.map((item) => walk(item, patterns, byKey, depth + 1))
  const pair = byKey !== undefined && namesSecret(value)
  // fromEntries defines each key, `__proto__` included, and never assigns.
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      redact(key),
      byKey !== undefined && holdsSecret(inner) && (isSecretKey(key) || (pair && key === "value"))
        ? mark
        : walk(inner, patterns, byKey, depth + 1)
    ])
  )
}

/** `secret: true` and `token: null` reveal nothing. */
const holdsSecret = (value: Schema.Json): boolean => value !== null && typeof value !== "boolean" && value !== ""

export const redactText = (text: string, secrets: Secrets): string =>
  secrets.length === 0 ? text : replaceAll(text, patternsOf(secrets))

/** Redacts by value every string in a JSON value, keys included. */
export const redactValue = (value: Schema.Json, secrets: Secrets): Schema.Json =>
  secrets.length === 0 ? value : walk(value, patternsOf(secrets), undefined, 0)

/** Redacts by value, the whole value under a key that names a secret, and what URLs carry. */
export const redactParameters = (value: Schema.Json, secrets: Secrets): Schema.Json =>
  walk(value, patternsOf(secrets), redactUrls, 0)

/**
 * For a person who has to agree to what is run or written: redacts by value, the whole value under a key that names a
 * secret, and what a text carries that is one URL. Nothing is hidden because it only looks like a secret.
 */
export const redactShown = (value: Schema.Json, secrets: Secrets): Schema.Json =>
  walk(value, patternsOf(secrets), redactWholeUrl, 0)

/** `password=…`, `Authorization: Bearer …`, `--token …`: a name at the start of a word, and the value after it. */
const namedValue =
  /(?<![\w.-])((?:--([\w.-]{1,64})\s+|([\w.-]{1,64})["']?\s*[=:]\s*(?:(?:basic|bearer)\s+)?))("[^"]*"|'[^']*'|\S+)/gi

/** Redacts by value, what URLs carry, and what follows a secret's name in text that a person or program wrote. */
export const redactWords = (text: string, secrets: Secrets): string =>
  redactUrls(redactText(text, secrets)).replace(
    namedValue,
    (whole: string, before: string, option: string | undefined, name: string | undefined) =>
      isSecretKey(option ?? name ?? "") ? before + mark : whole
  )
