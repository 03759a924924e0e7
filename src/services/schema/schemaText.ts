// Checks that both validators need before they use a schema: that it is bounded, local, and of a known draft. A schema
// is data from a file, so nothing here assumes its structure.
import { Result, type Schema } from "effect"
import { isJsonArray, isJsonObject, own, pointerKeys } from "./json.ts"
import { SchemaUnusable } from "./SchemaValidator.ts"

export type Draft = "2020-12" | "draft-07"

export interface PreparedSchema {
  /** Without `$schema` and `$id` at its root. */
  readonly schema: Schema.JsonObject
  readonly draft: Draft
  readonly uniqueItems: boolean
  readonly hasDefaults: boolean
  /** Resolves a local `$ref`. Undefined if there is nothing there. */
  readonly resolve: (ref: string) => Schema.Json | undefined
  /** Names of properties whose values must not be shown. */
  readonly secrets: ReadonlySet<string>
}

const schemaLimits = { characters: 256 * 1024, depth: 64, nodes: 10_000 } as const
export const valueLimits = { characters: 8 * 1024 * 1024, depth: 64, nodes: 100_000, comparedNodes: 10_000 } as const

interface Limits {
  readonly characters: number
  readonly depth: number
  readonly nodes: number
}

/** The first limit that a value exceeds, or a key `__proto__` in it. Stops at the limits. */
export const tooMuch = (value: Schema.Json, limits: Limits): string | undefined => {
  let nodes = 0
  let characters = 0
  const visit = (v: Schema.Json, depth: number): string | undefined => {
    if (++nodes > limits.nodes) return `it has more than ${limits.nodes} values`
    if (typeof v === "string") characters += v.length
    if (characters > limits.characters) return `it has more than ${limits.characters} characters`
    if (typeof v !== "object" || v === null) return undefined
    if (depth === limits.depth) return `it is nested more than ${limits.depth} levels deep`
    for (const [key, child] of Object.entries<Schema.Json>(v)) {
      if (key === "__proto__") return "a key cannot be called __proto__"
      if (!Array.isArray(v)) characters += key.length
      const issue = visit(child, depth + 1)
      if (issue !== undefined) return issue
    }
    return undefined
  }
  return visit(value, 0)
}

const dialects: Readonly<Record<string, Draft>> = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "http://json-schema.org/draft-07/schema": "draft-07",
  "https://json-schema.org/draft-07/schema": "draft-07"
}

/** Keywords whose values are data, not schemas. */
export const dataKeywords: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "required"])
/** Keywords whose values are maps from names to schemas. */
export const mapKeywords: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies"
])

/** Visits every object that may be a schema, the root first. Stops at the first result. */
const walkSchemas = (
  root: Schema.Json,
  visit: (schema: Schema.JsonObject, isRoot: boolean) => string | undefined
): string | undefined => {
  const schema = (value: Schema.Json, isRoot: boolean): string | undefined => {
    if (Array.isArray(value)) return first(value, (v) => schema(v, false))
    if (!isJsonObject(value)) return undefined
    return visit(value, isRoot) ?? first(Object.entries(value), ([keyword, inner]) => {
      if (dataKeywords.has(keyword)) return undefined
      if (mapKeywords.has(keyword) && isJsonObject(inner)) return first(Object.values(inner), (v) => schema(v, false))
      return schema(inner, false)
    })
  }
  return schema(root, true)
}

const first = <A>(items: ReadonlyArray<A>, of: (item: A) => string | undefined): string | undefined => {
  for (const item of items) {
    const found = of(item)
    if (found !== undefined) return found
  }
  return undefined
}

const decode = (text: string): string => Result.getOrElse(Result.try(() => decodeURIComponent(text)), () => text)

/** The value at a JSON pointer without its `#`. */
export const atPointer = (root: Schema.Json, pointer: string): Schema.Json | undefined => {
  let current: Schema.Json | undefined = root
  for (const segment of pointerKeys(pointer)) {
    if (Array.isArray(current)) current = current[Number(segment)]
    else if (isJsonObject(current)) current = own(current, segment)
    else return undefined
  }
  return current
}

const refKeywords = ["$ref", "$dynamicRef", "$recursiveRef"] as const

const localOnly = (schema: Schema.JsonObject, isRoot: boolean): string | undefined => {
  for (const keyword of refKeywords) {
    const ref = own(schema, keyword)
    if (typeof ref === "string" && !ref.startsWith("#")) return `${keyword} "${ref}" refers outside of it`
  }
  if (!isRoot && typeof own(schema, "$id") === "string") return "a schema inside it has an $id of its own"
  if (typeof own(schema, "$async") === "boolean") return "$async is not a keyword of JSON Schema"
  return undefined
}

/** Whether a schema marks its value as secret: `writeOnly`, `format: password`, `x-secret`. */
const marksSecret = (schema: Schema.JsonObject): boolean =>
  own(schema, "writeOnly") === true || own(schema, "format") === "password" || own(schema, "x-secret") === true

export const makeResolve = (root: Schema.JsonObject) => {
  const anchors = new Map<string, Schema.JsonObject>()
  walkSchemas(root, (schema) => {
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const name = own(schema, keyword)
      if (typeof name === "string") anchors.set(name, schema)
    }
    return undefined
  })
  return (ref: string): Schema.Json | undefined => {
    if (ref === "#") return root
    if (ref.startsWith("#/")) return atPointer(root, decode(ref.slice(1)))
    return anchors.get(ref.slice(1))
  }
}

/** Names of properties, at any depth, that the schema marks as secret, directly or by their items. */
const findSecrets = (root: Schema.JsonObject, resolve: (ref: string) => Schema.Json | undefined): Set<string> => {
  const secrets = new Set<string>()
  const isSecret = (schema: Schema.Json | undefined, depth: number): boolean => {
    if (!isJsonObject(schema) || depth > 16) return false
    if (marksSecret(schema)) return true
    const ref = own(schema, "$ref")
    if (typeof ref === "string" && isSecret(resolve(ref), depth + 1)) return true
    return ["items", "prefixItems", "allOf", "anyOf", "oneOf"].some((keyword) => {
      const inner = own(schema, keyword)
      return Array.isArray(inner)
        ? inner.some((s: Schema.Json) => isSecret(s, depth + 1))
        : isSecret(inner, depth + 1)
    })
  }
  walkSchemas(root, (schema) => {
    const properties = own(schema, "properties")
    if (isJsonObject(properties)) {
      for (const [name, property] of Object.entries(properties)) if (isSecret(property, 0)) secrets.add(name)
    }
    return undefined
  })
  return secrets
}

export const prepareSchema = (
  schema: Schema.JsonObject,
  what: string
): Result.Result<PreparedSchema, SchemaUnusable> => {
  const unusable = (issue: string) => Result.fail(new SchemaUnusable({ what, issue }))
  const excess = tooMuch(schema, schemaLimits)
  if (excess !== undefined) return unusable(excess)
  const dialect = own(schema, "$schema") ?? "https://json-schema.org/draft/2020-12/schema"
  const draft = typeof dialect === "string"
    ? dialects[dialect.endsWith("#") ? dialect.slice(0, -1) : dialect]
    : undefined
  if (draft === undefined) {
    return unusable(`$schema ${JSON.stringify(dialect)} is not known; 2020-12 and draft-07 are`)
  }
  const outside = walkSchemas(schema, localOnly)
  if (outside !== undefined) return unusable(outside)
  const bare = Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "$id"))
  const resolve = makeResolve(bare)
  let uniqueItems = false
  let hasDefaults = false
  walkSchemas(bare, (s) => {
    uniqueItems ||= own(s, "uniqueItems") === true
    hasDefaults ||= Object.hasOwn(s, "default")
    return undefined
  })
  return Result.succeed({ schema: bare, draft, uniqueItems, hasDefaults, resolve, secrets: findSecrets(bare, resolve) })
}

/**
 * The keys that a schema mentions at its top level, including compositions. `open`: it says something about other keys.
 */
export const knownKeys = (prepared: PreparedSchema) => {
  const keys = new Set<string>()
  const patterns = new Set<string>()
  const seen = new Set<Schema.Json>()
  let open = false
  const visit = (schema: Schema.Json | undefined): void => {
    if (!isJsonObject(schema) || seen.has(schema)) return
    seen.add(schema)
    open ||= Object.hasOwn(schema, "additionalProperties") || Object.hasOwn(schema, "unevaluatedProperties")
    const properties = own(schema, "properties")
    if (isJsonObject(properties)) { for (const key of Object.keys(properties)) keys.add(key) }
    const patternProperties = own(schema, "patternProperties")
    if (isJsonObject(patternProperties)) { for (const pattern of Object.keys(patternProperties)) patterns.add(pattern) }
    const ref = own(schema, "$ref")
    if (typeof ref === "string") visit(prepared.resolve(ref))
    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      const inner = own(schema, keyword)
      if (Array.isArray(inner)) inner.forEach(visit)
    }
    for (const keyword of ["if", "then", "else"]) visit(own(schema, keyword))
    for (const keyword of ["dependentSchemas", "dependencies"]) {
      const dependent = own(schema, keyword)
      if (isJsonObject(dependent)) Object.values(dependent).forEach(visit)
    }
  }
  visit(prepared.schema)
  return { keys, patterns, open }
}

/**
 * Applies the schema's defaults, at any depth reachable by `properties`, `items`, `allOf` or a local `$ref`, but not
 * inside alternatives. Unchanged parts stay the same objects. Undefined if the defaults never end.
 */
export const applyDefaults = (prepared: PreparedSchema, value: Schema.Json): Schema.Json | undefined => {
  if (!prepared.hasDefaults) return value
  // A schema may be its own default; without a limit that would never end.
  const maxVisits = 3 * valueLimits.nodes
  let visits = 0
  const visit = (schema: Schema.Json | undefined, v: Schema.Json, depth: number): Schema.Json => {
    if (!isJsonObject(schema) || depth > schemaLimits.depth || ++visits > maxVisits) return v
    let out = v
    const ref = own(schema, "$ref")
    if (typeof ref === "string") out = visit(prepared.resolve(ref), out, depth + 1)
    const allOf = own(schema, "allOf")
    if (Array.isArray(allOf)) { for (const s of allOf) out = visit(s, out, depth + 1) }
    const properties = own(schema, "properties")
    if (isJsonObject(out) && isJsonObject(properties)) return object(properties, out, depth)
    if (isJsonArray(out)) return array(schema, out, depth)
    return out
  }
  const object = (properties: Schema.JsonObject, v: Schema.JsonObject, depth: number): Schema.JsonObject => {
    const changed = new Map<string, Schema.Json>()
    for (const [key, property] of Object.entries(properties)) {
      const before = Object.hasOwn(v, key) ? v[key] : defaultOf(property, 0)
      if (before === undefined) continue
      const after = visit(property, before, depth + 1)
      if (!Object.hasOwn(v, key) || after !== before) changed.set(key, after)
    }
    return changed.size === 0 ? v : { ...v, ...Object.fromEntries(changed) }
  }
  const array = (schema: Schema.JsonObject, v: Schema.JsonArray, depth: number): Schema.JsonArray => {
    const items = own(schema, "items")
    const prefix = own(schema, "prefixItems") ?? (Array.isArray(items) ? items : undefined)
    const schemaOf = (i: number) => Array.isArray(prefix) && i < prefix.length ? prefix[i] : items
    const next = v.map((item, i) => visit(schemaOf(i), item, depth + 1))
    return next.every((item, i) => item === v[i]) ? v : next
  }
  const defaultOf = (schema: Schema.Json | undefined, depth: number): Schema.Json | undefined => {
    if (!isJsonObject(schema) || depth > 16) return undefined
    if (Object.hasOwn(schema, "default")) return schema["default"]
    const ref = own(schema, "$ref")
    return typeof ref === "string" ? defaultOf(prepared.resolve(ref), depth + 1) : undefined
  }
  const complete = visit(prepared.schema, value, 0)
  return visits > maxVisits ? undefined : complete
}
