// Type guards for JSON values, whose types are narrower than `unknown`, and a check whether a value is JSON at all.
import { JsonPointer, type Schema } from "effect"

export const isJsonObject = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isJsonArray = (value: Schema.Json | undefined): value is Schema.JsonArray => Array.isArray(value)

/** The properties of a JSON Schema for an object. */
export const propertiesIn = ({ properties }: Schema.JsonObject): Schema.JsonObject =>
  isJsonObject(properties) ? properties : {}

/** A member by name, without inherited ones. */
export const own = (object: Schema.JsonObject, key: string): Schema.Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Every text in a value, at any depth; keys are none. */
export const textsIn = (value: Schema.Json | undefined): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
    ? Object.values(value).flatMap(textsIn)
    : []

/** The keys of a JSON pointer: `a/b` and `0` of `/a~1b/0`. */
export const pointerKeys = (pointer: string): ReadonlyArray<string> =>
  pointer.split("/").slice(1).map(JsonPointer.unescapeToken)

const mostLevels = 128

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/**
 * Why a value is not JSON, as a sentence: "data.items.3 is a bigint". Undefined if it is JSON. Undefined members count
 * as absent. A cyclic value is nested too deeply.
 */
export const unlikeJson = (value: unknown, at: string, levels: number = mostLevels): string | undefined => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${at} is ${value}`
  if (typeof value !== "object") return `${at} is ${value === undefined ? "undefined" : `a ${typeof value}`}`
  if (levels === 0) return `${at.slice(0, 40)}… nests more than ${mostLevels} levels deep`
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) {
      const issue = unlikeJson(one, `${at}.${index}`, levels - 1)
      if (issue !== undefined) return issue
    }
    return undefined
  }
  if (!isPlain(value)) return `${at} is an instance of a class`
  for (const [key, one] of Object.entries(value)) {
    const issue = one === undefined ? undefined : unlikeJson(one, `${at}.${key.slice(0, 40)}`, levels - 1)
    if (issue !== undefined) return issue
  }
  return undefined
}
