// What a grant demands of one parameter of a tool, in keywords of JSON Schema. Stricter than a schema: a keyword about
// texts demands a text, one about numbers a number, and a parameter that is absent fits nothing.
import { Result, Schema } from "effect"
import { isJsonObject } from "../schema/json.ts"

/** Whether a text matches a pattern, on an engine with linear time. */
export type PatternMatch = (pattern: string, text: string) => boolean

/** For what must not depend on patterns: none ever matches. */
export const noPattern: PatternMatch = () => false

const Text = Schema.String.check(Schema.isMaxLength(1_000))
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Scalar = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])

export const Constraint = Schema.Struct({
  type: Schema.optionalKey(Schema.Literals(["string", "integer", "number", "boolean"])),
  enum: Schema.optionalKey(Schema.Array(Scalar).check(Schema.isMaxLength(200))),
  /** All of them must match somewhere in the text, as in JSON Schema: write `^` and `$`. */
  pattern: Schema.optionalKey(Schema.Array(Text).check(Schema.isMaxLength(20))),
  /** The text begins so. With a `/` in it, the text has no `..` between slashes either. */
  prefix: Schema.optionalKey(Text),
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
  exclusiveMinimum: Schema.optionalKey(Schema.Finite),
  exclusiveMaximum: Schema.optionalKey(Schema.Finite),
  /** In characters. */
  minLength: Schema.optionalKey(Count),
  maxLength: Schema.optionalKey(Count)
})
export type Constraint = typeof Constraint.Type

export type Constraints = Readonly<Record<string, Constraint>>

export const keywords = [...Object.keys(Constraint.fields), "const"]

const decode = Schema.decodeUnknownResult(Constraint, { onExcessProperty: "error" })

/**
 * Reads a JSON Schema for one parameter. `const` is an `enum` of one, and `pattern` may be one text. Fails with what is
 * wrong.
 */
export const parse = (schema: Schema.Json): Result.Result<Constraint, string> => {
  if (!isJsonObject(schema)) return Result.fail("is not a JSON Schema")
  const unknown = Object.keys(schema).find((key) => !keywords.includes(key))
  if (unknown !== undefined) {
    return Result.fail(`has the keyword ${unknown.slice(0, 40)}; a constraint may have ${keywords.join(", ")}`)
  }
  const { const: only, enum: values, pattern, ...rest } = schema
  const texts = pattern === undefined ? undefined : Array.isArray(pattern) ? pattern : [pattern]
  const allowed = only === undefined
    ? values
    : values === undefined || (Array.isArray(values) && values.includes(only))
    ? [only]
    : []
  return Result.mapError(
    Result.flatMap(
      decode({
        ...rest,
        ...(allowed === undefined ? {} : { enum: allowed }),
        ...(texts === undefined ? {} : { pattern: texts })
      }),
      (constraint) => Object.keys(constraint).length === 0 ? Result.fail("empty") : Result.succeed(tidy(constraint))
    ),
    (error) => error === "empty" ? "says nothing" : "has a value that its keyword cannot have"
  )
}

const about = {
  text: ["pattern", "prefix", "minLength", "maxLength"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
} as const

const isAbout = (what: keyof typeof about, constraint: Constraint): boolean =>
  about[what].some((keyword) => constraint[keyword] !== undefined)

/** A text that would leave the folder of its prefix again, spelt or percent-encoded. */
const climbs = (text: string): boolean => /(?:^|[/\\])(?:\.|%2e){2}(?:[/\\]|%2f|%5c|$)/i.test(text)

const lengthOf = (text: string): number => Array.from(text).length

const fitsText = (c: Constraint, value: string, matches: PatternMatch): boolean =>
  (c.prefix === undefined || (value.startsWith(c.prefix) && !(/[/\\]/.test(c.prefix) && climbs(value)))) &&
  (c.minLength === undefined || lengthOf(value) >= c.minLength) &&
  (c.maxLength === undefined || lengthOf(value) <= c.maxLength) &&
  (c.pattern ?? []).every((pattern) => matches(pattern, value))

const fitsNumber = (c: Constraint, value: number): boolean =>
  (c.minimum === undefined || value >= c.minimum) &&
  (c.maximum === undefined || value <= c.maximum) &&
  (c.exclusiveMinimum === undefined || value > c.exclusiveMinimum) &&
  (c.exclusiveMaximum === undefined || value < c.exclusiveMaximum)

const isOfType = (type: Constraint["type"], value: Schema.Json): boolean =>
  type === undefined || (type === "integer" ? Number.isInteger(value) : typeof value === type)

/** `value`: undefined if the parameter is absent. */
export const fits = (c: Constraint, value: Schema.Json | undefined, matches: PatternMatch): boolean =>
  value !== undefined &&
  isOfType(c.type, value) &&
  (c.enum === undefined || c.enum.some((one) => one === value)) &&
  (!isAbout("text", c) || (typeof value === "string" && fitsText(c, value, matches))) &&
  (!isAbout("number", c) || (typeof value === "number" && fitsNumber(c, value)))

/** Patterns are left to those who have an engine. */
const anyPattern: PatternMatch = () => true

/** In one form for one meaning, as far as that is cheap. */
const tidy = (c: Constraint): Constraint => ({
  ...c,
  ...(c.enum === undefined ? {} : { enum: [...new Set(c.enum)].filter((value) => fits(c, value, anyPattern)) }),
  ...(c.pattern === undefined ? {} : { pattern: [...new Set(c.pattern)].toSorted() })
})

/** Whether no value fits. `false`: unknown. */
const isEmpty = (c: Constraint): boolean =>
  c.enum?.length === 0 ||
  (isAbout("text", c) && (isAbout("number", c) || (c.type !== undefined && c.type !== "string"))) ||
  (isAbout("number", c) && (c.type === "string" || c.type === "boolean")) ||
  (c.minimum ?? -Infinity) > (c.maximum ?? Infinity) ||
  (c.minLength ?? 0) > (c.maxLength ?? Infinity)

const both = <A>(a: A | undefined, b: A | undefined, of: (a: A, b: A) => A): A | undefined =>
  a === undefined ? b : b === undefined ? a : of(a, b)

/** What both demand. Undefined if no value fits both. */
export const intersect = (a: Constraint, b: Constraint): Constraint | undefined => {
  const types = new Set([a.type, b.type].filter((type) => type !== undefined))
  if (types.has("integer")) types.delete("number")
  const prefix = both(a.prefix, b.prefix, (x, y) => x.length > y.length ? x : y)
  if (types.size > 1 || [a, b].some((c) => c.prefix !== undefined && !prefix!.startsWith(c.prefix))) return undefined
  const [type] = types
  const members = {
    type,
    enum: both(a.enum, b.enum, (x, y) => x.filter((value) => y.includes(value))),
    pattern: both(a.pattern, b.pattern, (x, y) => [...x, ...y]),
    prefix,
    minimum: both(a.minimum, b.minimum, Math.max),
    maximum: both(a.maximum, b.maximum, Math.min),
    exclusiveMinimum: both(a.exclusiveMinimum, b.exclusiveMinimum, Math.max),
    exclusiveMaximum: both(a.exclusiveMaximum, b.exclusiveMaximum, Math.min),
    minLength: both(a.minLength, b.minLength, Math.max),
    maxLength: both(a.maxLength, b.maxLength, Math.min)
  }
  const found = tidy(Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)))
  return isEmpty(found) ? undefined : found
}

const includesAll = <A>(all: ReadonlyArray<A>, some: ReadonlyArray<A>): boolean =>
  some.every((one) => all.includes(one))

/** Whether every value that fits `child` fits `parent`, as far as that can be proved. */
export const isWithin = (child: Constraint, parent: Constraint): boolean => {
  // Patterns of the parent that the child has too need no engine.
  const shared = new Set(child.pattern)
  const byPattern: PatternMatch = (pattern) => shared.has(pattern)
  if (child.enum !== undefined) {
    return child.enum.every((value) => !fits(child, value, anyPattern) || fits(parent, value, byPattern))
  }
  if (parent.enum !== undefined) return false
  if (isAbout("text", parent) && !isAbout("text", child) && child.type !== "string") return false
  if (isAbout("number", parent) && !isAbout("number", child)) return false
  const low = Math.max(child.minimum ?? -Infinity, child.exclusiveMinimum ?? -Infinity)
  const high = Math.min(child.maximum ?? Infinity, child.exclusiveMaximum ?? Infinity)
  return (parent.type === undefined || child.type === parent.type ||
    (parent.type === "number" && (child.type === "integer" || isAbout("number", child))) ||
    (parent.type === "string" && isAbout("text", child))) &&
    (parent.prefix === undefined || child.prefix?.startsWith(parent.prefix) === true) &&
    includesAll(child.pattern ?? [], parent.pattern ?? []) &&
    low >= (parent.minimum ?? -Infinity) &&
    high <= (parent.maximum ?? Infinity) &&
    (parent.exclusiveMinimum === undefined || (child.exclusiveMinimum ?? -Infinity) >= parent.exclusiveMinimum ||
      (child.minimum ?? -Infinity) > parent.exclusiveMinimum) &&
    (parent.exclusiveMaximum === undefined || (child.exclusiveMaximum ?? Infinity) <= parent.exclusiveMaximum ||
      (child.maximum ?? Infinity) < parent.exclusiveMaximum) &&
    (child.minLength ?? 0) >= (parent.minLength ?? 0) &&
    (child.maxLength ?? Infinity) <= (parent.maxLength ?? Infinity)
}

/** What all of both demand, by parameter. Undefined if no call fits both. */
export const intersectAll = (a: Constraints, b: Constraints): Constraints | undefined => {
  const found = new Map(Object.entries(a))
  for (const [name, constraint] of Object.entries(b)) {
    const before = found.get(name)
    const merged = before === undefined ? constraint : intersect(before, constraint)
    if (merged === undefined) return undefined
    found.set(name, merged)
  }
  return Object.fromEntries([...found].toSorted(([x], [y]) => x < y ? -1 : 1))
}

/** Whether the child constrains every parameter that the parent does, at least as much. */
export const areAllWithin = (child: Constraints, parent: Constraints): boolean =>
  Object.entries(parent).every(([name, constraint]) => {
    const own = Object.hasOwn(child, name) ? child[name] : undefined
    return own !== undefined && isWithin(own, constraint)
  })

export const fitAll = (constraints: Constraints, parameters: Schema.JsonObject, matches: PatternMatch): boolean =>
  Object.entries(constraints).every(([name, constraint]) =>
    fits(constraint, Object.hasOwn(parameters, name) ? parameters[name] : undefined, matches)
  )
