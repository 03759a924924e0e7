// The only import of the interpreting validator. It has no limits of its own: it runs patterns on the built-in engine,
// and a small schema can make it work for years. So it gets a copy of the schema in which patterns are tests on a
// linear-time engine, formats are annotations, and every evaluated subschema is counted.
import { dereference, format, type OutputUnit, type Schema as ForeignSchema, validate } from "@cfworker/json-schema"
import { JsonPointer, Result, type Schema } from "effect"
import { isJsonObject, own, pointerKeys } from "../../services/schema/json.ts"
import type { SchemaFailure } from "../../services/schema/schemaIssues.ts"
import {
  atPointer,
  dataKeywords,
  makeResolve,
  mapKeywords,
  type PreparedSchema
} from "../../services/schema/schemaText.ts"
import { type LinearPattern, linearPattern } from "./linearPatterns.ts"

/** The limit of subschemas that one validation evaluates. */
const maxSteps = 200_000
/** The limit of names times patterns that one validation matches. */
const maxMatches = 100_000

const patternPrefix = "kiwi-pattern:"

/** Omitted from the copy: annotations that the interpreter would act on, and keywords of other drafts. */
const ignored: ReadonlySet<string> = new Set([
  "id",
  "format",
  "pattern",
  "patternProperties",
  "$recursiveRef",
  "$recursiveAnchor"
])

class Unbounded extends Error {}

interface Copy {
  readonly root: Schema.JsonObject
  readonly patterns: ReadonlyMap<string, LinearPattern>
  /** The schemas that replace `false`. */
  readonly never: ReadonlySet<Schema.Json>
  /** The original of each copied schema. */
  readonly originals: ReadonlyMap<Schema.Json, Schema.JsonObject>
}

type Mutable = Record<string, Schema.Json>

const bare = (): Mutable => Object.create(null)

/** The interpreter reads `$recursiveAnchor` of every subschema that it evaluates: the only place to count them. */
const countingPrototype = (): object => {
  let steps = 0
  return Object.defineProperty(Object.create(null), "$recursiveAnchor", {
    get: () => {
      if (++steps > maxSteps) throw new Unbounded("it takes more steps than are allowed for one value")
      return undefined
    }
  })
}

/** Copies without prototypes, so that an inherited name is never read as a key. Collects the names. */
const copyValue = (value: Schema.Json, names: Set<string>): Schema.Json => {
  if (Array.isArray(value)) return value.map((v: Schema.Json) => copyValue(v, names))
  if (!isJsonObject(value)) return value
  const copy = bare()
  for (const [key, inner] of Object.entries(value)) {
    names.add(key)
    copy[key] = copyValue(inner, names)
  }
  return copy
}

const copySchema = (schema: Schema.JsonObject, names: ReadonlySet<string>): Copy => {
  const prototype = countingPrototype()
  const patterns = new Map<string, LinearPattern>()
  const never = new Set<Schema.Json>()
  const originals = new Map<Schema.Json, Schema.JsonObject>()
  const shared = bare()
  let matches = 0

  const compile = (pattern: string): LinearPattern => {
    const test = patterns.get(pattern) ??
      Result.getOrThrowWith(linearPattern(pattern), (issue) => new Unbounded(issue))
    patterns.set(pattern, test)
    return test
  }

  const visit = (value: Schema.Json): Schema.Json => {
    if (value === false) {
      const copy = Object.assign(Object.create(prototype), { not: Object.create(prototype) })
      never.add(copy)
      return copy
    }
    if (Array.isArray(value)) return value.map(visit)
    if (!isJsonObject(value)) return value
    const copy: Mutable = Object.create(prototype)
    originals.set(copy, value)
    for (const [keyword, inner] of Object.entries(value)) {
      if (ignored.has(keyword)) continue
      if (dataKeywords.has(keyword) || !isContainer(inner, keyword)) copy[keyword] = inner
      else if (mapKeywords.has(keyword) && isJsonObject(inner)) copy[keyword] = map(inner)
      else copy[keyword] = visit(inner)
    }
    const pattern = own(value, "pattern")
    if (typeof pattern === "string") {
      compile(pattern)
      copy["format"] = patternPrefix + pattern
    }
    const byPattern = own(value, "patternProperties")
    if (isJsonObject(byPattern)) expand(byPattern, copy)
    return copy
  }

  const map = (value: Schema.JsonObject): Schema.JsonObject => {
    const copy = bare()
    // A list in `dependencies` is a list of names.
    for (const [name, inner] of Object.entries(value)) {
      copy[name] = isStrings(inner) ? inner : visit(inner)
    }
    return copy
  }

  /** Replaces patterns by those names in this value that match them. */
  const expand = (byPattern: Schema.JsonObject, copy: Mutable) => {
    const properties: Mutable = Object.assign(bare(), isJsonObject(copy["properties"]) ? copy["properties"] : {})
    for (const [pattern, inner] of Object.entries(byPattern)) {
      const test = compile(pattern)
      const name = `kiwi-${Object.keys(shared).length}`
      shared[name] = visit(inner)
      for (const key of names) {
        if (++matches > maxMatches) throw new Unbounded("it matches too many names against too many patterns")
        if (!test(key)) continue
        const before = properties[key]
        const reference = { $ref: `#/$defs/${name}` }
        properties[key] = Object.assign(Object.create(prototype), {
          allOf: before === undefined ? [reference] : [before, reference]
        })
      }
    }
    copy["properties"] = properties
  }

  const root = visit(schema)
  const copy: Mutable = isJsonObject(root) ? root as Mutable : bare()
  if (Object.keys(shared).length > 0) {
    copy["$defs"] = Object.assign(bare(), isJsonObject(copy["$defs"]) ? copy["$defs"] : {}, shared)
  }
  return { root: copy, patterns, never, originals }
}

const isContainer = (value: Schema.Json, keyword: string) =>
  (typeof value === "object" && value !== null) || (value === false && schemaKeywords.has(keyword))

const schemaKeywords: ReadonlySet<string> = new Set([
  "additionalItems",
  "unevaluatedItems",
  "items",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "not",
  "if",
  "then",
  "else"
])

const isStrings = (value: Schema.Json) => Array.isArray(value) && value.every((v) => typeof v === "string")

/** Whether a value fits, and why not. Fails if the schema cannot be used for this value. */
export const interpret = (
  prepared: PreparedSchema,
  value: Schema.Json
): Result.Result<ReadonlyArray<SchemaFailure>, string> =>
  Result.try({
    try: () => {
      if (usesDynamicRef(prepared.schema)) throw new Unbounded("$dynamicRef is not understood here")
      const names = new Set<string>()
      const instance = copyValue(value, names)
      const copy = copySchema(prepared.schema, names)
      // Its types for schemas are narrower than JSON, but it checks every member itself.
      const root = copy.root as unknown as ForeignSchema
      for (const [pattern, test] of copy.patterns) format[patternPrefix + pattern] = test
      try {
        const lookup = dereference(root)
        const { errors } = validate(instance, root, prepared.draft === "draft-07" ? "7" : "2020-12", lookup, false)
        return collect(errors, copy)
      } finally {
        for (const pattern of copy.patterns.keys()) delete format[patternPrefix + pattern]
      }
    },
    catch: (e) => e instanceof Unbounded ? e.message : "a keyword in it has an invalid value"
  })

const usesDynamicRef = (value: Schema.Json): boolean =>
  isJsonObject(value)
    ? Object.hasOwn(value, "$dynamicRef") || Object.values(value).some(usesDynamicRef)
    : Array.isArray(value) && value.some(usesDynamicRef)

const wrappers: ReadonlySet<string> = new Set([
  "properties",
  "additionalProperties",
  "unevaluatedProperties",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "allOf",
  "$ref",
  "if",
  "dependentSchemas"
])

const decode = (location: string) =>
  Result.getOrElse(Result.try(() => decodeURI(location.slice(1))), () => location.slice(1))

interface SchemaLocation {
  readonly constraint: Schema.Json | undefined
  readonly parent: Schema.JsonObject | undefined
  /** The keyword whose value is the parent schema itself, and the schema around that keyword. */
  readonly holder: { readonly keyword: string; readonly schema: Schema.JsonObject | undefined }
  readonly inContains: boolean
}

/** Follows an evaluation path through references. */
const follow = (
  location: string,
  root: Schema.JsonObject,
  resolve: (ref: string) => Schema.Json | undefined
): SchemaLocation => {
  let constraint: Schema.Json | undefined = root
  let parent: Schema.JsonObject | undefined
  let holder: SchemaLocation["holder"] = { keyword: "", schema: undefined }
  let inContains = false
  let schemaNext = true
  let keyword = ""
  for (const segment of pointerKeys(location)) {
    const current: Schema.Json | undefined = constraint
    if (schemaNext) {
      holder = { keyword, schema: parent }
      parent = isJsonObject(current) ? current : undefined
      keyword = segment
      const ref: Schema.Json | undefined = segment === "$ref" && parent !== undefined ? own(parent, "$ref") : undefined
      constraint = typeof ref === "string"
        ? resolve(ref)
        : atPointer(current ?? null, `/${JsonPointer.escapeToken(segment)}`)
      inContains ||= segment === "contains" && location.endsWith("/contains") === false
      schemaNext = !(Array.isArray(constraint) || mapKeywords.has(segment))
    } else {
      constraint = atPointer(current ?? null, `/${JsonPointer.escapeToken(segment)}`)
      schemaNext = true
    }
  }
  return { constraint, parent, holder, inContains }
}

const collect = (errors: ReadonlyArray<OutputUnit>, copy: Copy): ReadonlyArray<SchemaFailure> => {
  const resolve = makeResolve(copy.root)
  const original = (schema: Schema.JsonObject | undefined) => schema && (copy.originals.get(schema) ?? schema)
  const build = (units: ReadonlyArray<OutputUnit>): ReadonlyArray<SchemaFailure> => {
    const failures: Array<SchemaFailure> = []
    let i = 0
    /** Removes and returns the following units that are below its keyword. */
    const takeBelow = (location: string): ReadonlyArray<OutputUnit> => {
      const start = i
      while (units[i]?.keywordLocation.startsWith(`${location}/`) === true) i++
      return units.slice(start, i)
    }
    while (i < units.length) {
      const unit = units[i++]
      if (unit === undefined || wrappers.has(unit.keyword)) continue
      const { constraint, holder, inContains, parent } = follow(decode(unit.keywordLocation), copy.root, resolve)
      const pointer = decode(unit.instanceLocation)
      // Some of its locations spell the keyword differently.
      const stated = constraint ?? (parent === undefined ? undefined : own(parent, unit.keyword))
      const base = { keyword: unit.keyword, pointer, constraint: stated, parent }
      if (unit.keyword === "anyOf" || unit.keyword === "oneOf") {
        const below = takeBelow(unit.keywordLocation)
        const count = Array.isArray(constraint) ? constraint.length : 0
        const branches = Array.from({ length: count }, (_, branch) => {
          const location = `${unit.keywordLocation}/${branch}/`
          return build(below.filter((u) => u.keywordLocation.startsWith(location)))
        })
        if (!inContains) failures.push({ ...base, branches })
      } else if (unit.keyword === "propertyNames") {
        const name = takeBelow(unit.keywordLocation)[0]
        failures.push({ ...base, pointer: name === undefined ? pointer : decode(name.instanceLocation) })
      } else if (inContains) {
        continue
      } else if (unit.keyword === "format") {
        const pattern = String(constraint).slice(patternPrefix.length)
        failures.push({ ...base, keyword: "pattern", constraint: pattern })
      } else if (unit.keyword === "not" && parent !== undefined && copy.never.has(parent)) {
        failures.push({ ...base, keyword: neverKeyword(holder.keyword), parent: original(holder.schema) })
      } else failures.push(base)
    }
    return failures
  }
  return build(errors)
}

/** The meaning of `false` depends on its place. */
const neverKeyword = (holder: string): string => {
  switch (holder) {
    case "additionalProperties":
    case "unevaluatedProperties":
      return holder
    case "items":
    case "additionalItems":
    case "unevaluatedItems":
      return "additionalItems"
    default:
      return "false"
  }
}
