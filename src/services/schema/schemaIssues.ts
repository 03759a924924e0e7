// Turns a validator's failures into sentences for people: what was expected, what was given, and what was probably
// meant. Failures of both validators have one form, so that both say the same about the same mistake.
import { JsonPointer, type Schema } from "effect"
import { editDistance } from "../error/editDistance.ts"
import type { ValidationIssue } from "../error/KiwiError.ts"
import { isJsonObject, pointerKeys } from "./json.ts"
import { atPointer } from "./schemaText.ts"

export interface SchemaFailure {
  readonly keyword: string
  /** JSON pointer into the value; "" for the whole. */
  readonly pointer: string
  /** The keyword's value in the schema. */
  readonly constraint: Schema.Json | undefined
  /** The schema that the keyword is in. */
  readonly parent: Schema.JsonObject | undefined
  /** anyOf, oneOf: the failures of each alternative. */
  readonly branches?: ReadonlyArray<ReadonlyArray<SchemaFailure>> | undefined
}

const maxIssues = 20
const maxShown = 60
const maxListed = 12

/** "a.b[0]" for a JSON pointer, using the type of each container on the path. */
export const fieldOf = (root: Schema.Json, pointer: string): string => {
  let field = ""
  let current: Schema.Json | undefined = root
  for (const segment of pointerKeys(pointer)) {
    if (Array.isArray(current)) {
      field += `[${segment}]`
      current = current[Number(segment)]
    } else {
      const simple = /^[A-Za-z_$][A-Za-z0-9_$-]*$/.test(segment)
      field += simple ? (field === "" ? segment : `.${segment}`) : `[${JSON.stringify(segment)}]`
      current = isJsonObject(current) && Object.hasOwn(current, segment) ? current[segment] : undefined
    }
  }
  return field
}

const words: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null"
}

const typeOf = (value: Schema.Json | undefined): string => {
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  if (Array.isArray(value)) return "a list"
  return typeof value === "boolean" ? "a boolean" : words[typeof value] ?? "something else"
}

const isSmall = (value: Schema.Json | undefined): value is string | number | boolean | null =>
  value === null || typeof value === "number" || typeof value === "boolean" ||
  (typeof value === "string" && value.length <= maxShown)

const or = (options: ReadonlyArray<string>): string =>
  options.length < 2 ? options.join("") : `${options.slice(0, -1).join(", ")} or ${options.at(-1)}`

const list = (values: ReadonlyArray<Schema.Json>): string => {
  const shown = values.slice(0, maxListed).map((v) => JSON.stringify(v).slice(0, maxShown))
  return values.length > maxListed ? `${shown.join(", ")} … (${values.length} in all)` : or(shown)
}

/** The known word that was probably meant, if one is similar enough. */
export const nearest = (word: string, known: Iterable<string>): string | undefined => {
  let best: string | undefined
  let bestDistance = Math.min(3, Math.floor(word.length / 2)) + 1
  if (word.length > 64) return undefined
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance || candidate.length > 64) continue
    const d = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance - 1)
    if (d < bestDistance) {
      best = candidate
      bestDistance = d
    }
  }
  return best
}

/** "there is no such key; did you mean …" for a key that a schema does not have. */
export const unknownKey = (key: string, known: ReadonlyArray<string>): string => {
  const near = nearest(key, known)
  if (near !== undefined) return `there is no such key; did you mean "${near}"?`
  return known.length === 0
    ? "there is no such key: none is allowed here"
    : `there is no such key; allowed: ${known.slice(0, maxListed).join(", ")}${known.length > maxListed ? " …" : ""}`
}

const atLeast: Readonly<Record<string, (limit: string) => string>> = {
  minimum: (n) => `expected at least ${n}`,
  maximum: (n) => `expected at most ${n}`,
  exclusiveMinimum: (n) => `expected more than ${n}`,
  exclusiveMaximum: (n) => `expected less than ${n}`,
  multipleOf: (n) => `expected a multiple of ${n}`,
  minLength: (n) => `expected at least ${n} characters`,
  maxLength: (n) => `expected at most ${n} characters`,
  minItems: (n) => `expected at least ${n} items`,
  maxItems: (n) => `expected at most ${n} items`,
  minProperties: (n) => `expected at least ${n} keys`,
  maxProperties: (n) => `expected at most ${n} keys`,
  minContains: (n) => `expected at least ${n} of the items that the schema describes`,
  maxContains: (n) => `expected at most ${n} of the items that the schema describes`
}

interface Explaining {
  readonly root: Schema.Json
  readonly secrets: ReadonlySet<string>
}

const isSecret = (pointer: string, { secrets }: Explaining): boolean =>
  secrets.size > 0 &&
  pointerKeys(pointer).some((key) => secrets.has(key))

const issue = (pointer: string, error: string, context: Explaining): ValidationIssue => {
  const value = atPointer(context.root, pointer)
  return {
    field: fieldOf(context.root, pointer),
    error,
    ...(isSmall(value) && !isSecret(pointer, context) ? { value } : {})
  }
}

const got = (pointer: string, context: Explaining): string => {
  const value = atPointer(context.root, pointer)
  if (isSecret(pointer, context)) return typeOf(value)
  if (typeof value === "string") {
    return value.length <= maxShown ? JSON.stringify(value) : `a string of ${value.length} characters`
  }
  if (Array.isArray(value)) return `a list of ${value.length}`
  return isSmall(value) ? JSON.stringify(value) : typeOf(value)
}

const keysOf = (schema: Schema.JsonObject | undefined): ReadonlyArray<string> => {
  const properties = schema !== undefined && Object.hasOwn(schema, "properties") ? schema["properties"] : undefined
  return isJsonObject(properties) ? Object.keys(properties) : []
}

const below = (pointer: string, key: string) => `${pointer}/${JsonPointer.escapeToken(key)}`

const strings = (value: Schema.Json | undefined): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((v: Schema.Json): v is string => typeof v === "string") : []

/** What is allowed, in words, if the failure is only about that: a type, a constant, a list of constants. */
const allowed = (failure: SchemaFailure): ReadonlyArray<string> | undefined => {
  const { constraint, keyword } = failure
  if (keyword === "type") {
    return (typeof constraint === "string" ? [constraint] : strings(constraint)).map((t) => words[t] ?? t)
  }
  if (keyword === "const") return [list([constraint ?? null])]
  if (keyword === "enum" && Array.isArray(constraint)) return [list(constraint)]
  return undefined
}

const expected = (failure: SchemaFailure, context: Explaining): string | undefined => {
  const options = allowed(failure)
  if (options === undefined) return undefined
  const value = atPointer(context.root, failure.pointer)
  const near = failure.keyword === "enum" && typeof value === "string" && !isSecret(failure.pointer, context)
    ? nearest(value, strings(failure.constraint))
    : undefined
  return `expected ${or(options)}, got ${got(failure.pointer, context)}${
    near === undefined ? "" : `; did you mean "${near}"?`
  }`
}

/**
 * Alternatives: their types in one sentence, or the failures of the alternative with the right type, or that none fits.
 */
const alternatives = (failure: SchemaFailure, context: Explaining): ReadonlyArray<ValidationIssue> => {
  const branches = failure.branches ?? []
  const plain = (f: SchemaFailure) => f.pointer === failure.pointer && allowed(f) !== undefined
  const failed = branches.filter((b) => b.length > 0)
  if (failure.keyword === "oneOf" && failed.length < branches.length) {
    return [issue(failure.pointer, "fits more than one of the alternatives, and only one is allowed", context)]
  }
  if (failed.length > 0 && failed.every((b) => b.some(plain))) {
    const options = [...new Set(failed.flatMap((b) => b.filter(plain).flatMap((f) => allowed(f) ?? [])))]
    return [issue(failure.pointer, `expected ${or(options)}, got ${got(failure.pointer, context)}`, context)]
  }
  const inKind = failed.filter((b) => !b.some(plain)).toSorted((a, b) => a.length - b.length)
  const closest = inKind[0]
  if (closest !== undefined && (inKind.length === 1 || closest.length < (inKind[1]?.length ?? 0))) {
    return explainAll(closest, context)
  }
  const first = closest === undefined ? undefined : explainAll(closest, context)[0]
  const nearestWord = first === undefined
    ? ""
    : `; the first that is near: ${first.field === "" ? "" : `${first.field}: `}${first.error}`
  return [issue(failure.pointer, `fits none of the ${branches.length} alternatives${nearestWord}`, context)]
}

const explain = (failure: SchemaFailure, context: Explaining): ReadonlyArray<ValidationIssue> => {
  const { constraint, keyword, parent, pointer } = failure
  const value = atPointer(context.root, pointer)
  const one = (error: string) => [issue(pointer, error, context)]
  const missing = (keys: ReadonlyArray<string>, error: string) =>
    keys.filter((key) => !isJsonObject(value) || !Object.hasOwn(value, key))
      .map((key) => issue(below(pointer, key), error, context))
  const limit = atLeast[keyword]
  if (limit !== undefined && typeof constraint === "number") {
    const size = keyword.endsWith("Length") && typeof value === "string"
      ? String([...value].length)
      : keyword.endsWith("Items") && Array.isArray(value)
      ? String(value.length)
      : keyword.endsWith("Properties") && isJsonObject(value)
      ? String(Object.keys(value).length)
      : got(pointer, context)
    return one(`${limit(String(constraint))}, got ${size}`)
  }
  switch (keyword) {
    case "type":
    case "enum":
    case "const":
      return one(expected(failure, context) ?? "is not allowed")
    case "required":
      return missing(strings(constraint), "is missing")
    case "dependentRequired":
    case "dependencies":
      return isJsonObject(constraint)
        ? Object.entries(constraint).flatMap(([key, needed]) =>
          isJsonObject(value) && Object.hasOwn(value, key)
            ? missing(strings(needed), `is missing, and "${key}" needs it`)
            : []
        )
        : one("lacks a key that another key requires")
    case "additionalProperties":
    case "unevaluatedProperties": {
      const key = pointerKeys(pointer).at(-1) ?? ""
      return one(unknownKey(key, keysOf(parent)))
    }
    case "additionalItems":
    case "unevaluatedItems":
      return one("is one item more than the schema allows")
    case "pattern":
      return one(`expected text that matches ${String(constraint).slice(0, 200)}, got ${got(pointer, context)}`)
    case "uniqueItems":
      return one("contains the same item twice")
    case "contains":
      return one("contains none of the items that the schema requires")
    case "propertyNames":
      return one("has a key whose name is not allowed")
    case "not":
      return one(`is forbidden by the schema, got ${got(pointer, context)}`)
    case "false":
      return one("is not allowed here")
    case "anyOf":
    case "oneOf":
      return alternatives(failure, context)
    default:
      return one(`does not fit the schema's ${keyword}`)
  }
}

const explainAll = (failures: ReadonlyArray<SchemaFailure>, context: Explaining): ReadonlyArray<ValidationIssue> => {
  const seen = new Set<string>()
  return failures.flatMap((f) => explain(f, context)).filter((i) => {
    const key = `${i.field}\n${i.error}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** At most twenty issues, and one more with the number of those left out. */
export const explainFailures = (
  failures: ReadonlyArray<SchemaFailure>,
  root: Schema.Json,
  secrets: ReadonlySet<string>
): ReadonlyArray<ValidationIssue> => {
  const issues = explainAll(failures, { root, secrets })
  return issues.length <= maxIssues
    ? issues
    : [...issues.slice(0, maxIssues), { field: "", error: `and ${issues.length - maxIssues} more` }]
}
