// Kinds of JSON values, told apart: for values that are known to be JSON, whose types are narrower than `unknown`.
import type { Schema } from "effect"

export const isJsonObject = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isJsonArray = (value: Schema.Json | undefined): value is Schema.JsonArray => Array.isArray(value)

/** A member by its name, and nothing that is inherited. */
export const own = (object: Schema.JsonObject, key: string): Schema.Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined
