// Takes secrets out of text and JSON: by value, also where the value was encoded on its way, and by key. Values under
// eight characters are left: replacing every "1" would destroy the record and hide nothing.
import { Redacted } from "effect"
import type { Schema } from "effect"
import * as Base64 from "effect/encoding/Base64"
import { isJsonArray } from "../schema/json.ts"
import { isSecretKey } from "./secretNames.ts"

export const mark = "‹redacted›"

/** Deeper values are cut: nobody reads them, and walking them would end in a stack overflow. */
const maxDepth = 64
const tooDeep = "‹cut: nested too deeply›"

const minLength = 8

type Secrets = ReadonlyArray<Redacted.Redacted<string>>

/** As it stands in JSON that a program wrote, with and without characters beyond ASCII. */
const jsonForms = (value: string): ReadonlyArray<string> => {
  const escaped = JSON.stringify(value).slice(1, -1)
  const ascii = escaped.replace(
    /[\u0080-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
  return [escaped, ascii, escaped.replaceAll("/", "\\/")]
}

/**
 * The part of a Base64 text that only these bytes decide, wherever they begin in a group of three: `user:password` in
 * a Basic header has the password at any of them.
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

const percentForms = (value: string): ReadonlyArray<string> => {
  const component = encodeURIComponent(value.toWellFormed())
  const strict = component.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  return [component, strict].flatMap((text) => [
    text,
    text.replaceAll("%20", "+"),
    text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
  ])
}

const remembered = new WeakMap<Redacted.Redacted<string>, ReadonlyArray<string>>()

const formsOf = (secret: Redacted.Redacted<string>): ReadonlyArray<string> => {
  const known = remembered.get(secret)
  if (known !== undefined) return known
  const value = Redacted.value(secret)
  const forms = value.length < minLength
    ? []
    : [...new Set([value, ...jsonForms(value), ...base64Forms(value), ...percentForms(value)])]
  remembered.set(secret, forms)
  return forms
}

/** Every form that is looked for, longest first, so that none leaves a remainder of another. */
export const patternsOf = (secrets: Secrets): ReadonlyArray<string> =>
  secrets.flatMap(formsOf).toSorted((a, b) => b.length - a.length)

const replaceAll = (text: string, patterns: ReadonlyArray<string>): string => {
  let redacted = text
  for (const pattern of patterns) {
    if (pattern.length <= redacted.length) redacted = redacted.replaceAll(pattern, mark)
  }
  return redacted
}

/** `{ name: "Authorization", value: … }`: a header or a variable as an object. */
const namesSecret = (value: Schema.JsonObject): boolean =>
  [value["name"], value["key"]].some((name) => typeof name === "string" && isSecretKey(name))

const walk = (value: Schema.Json, patterns: ReadonlyArray<string>, byKey: boolean, depth: number): Schema.Json => {
  if (typeof value === "string") return replaceAll(value, patterns)
  if (typeof value !== "object" || value === null) return value
  if (depth >= maxDepth) return tooDeep
  if (isJsonArray(value)) return value.map((item) => walk(item, patterns, byKey, depth + 1))
  const pair = byKey && namesSecret(value)
  // fromEntries defines each key, `__proto__` included, and never assigns.
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      replaceAll(key, patterns),
      byKey && holdsSecret(inner) && (isSecretKey(key) || (pair && key === "value"))
        ? mark
        : walk(inner, patterns, byKey, depth + 1)
    ])
  )
}

/** `secret: true` and `token: null` say nothing that has to be hidden. */
const holdsSecret = (value: Schema.Json): boolean => value !== null && typeof value !== "boolean" && value !== ""

export const redactText = (text: string, secrets: Secrets): string =>
  secrets.length === 0 ? text : replaceAll(text, patternsOf(secrets))

/** Every string in a JSON value, keys included, by value. */
export const redactValue = (value: Schema.Json, secrets: Secrets): Schema.Json =>
  secrets.length === 0 ? value : walk(value, patternsOf(secrets), false, 0)

/** By value, and whole under a key that names a secret. */
export const redactParameters = (value: Schema.Json, secrets: Secrets): Schema.Json =>
  walk(value, patternsOf(secrets), true, 0)
