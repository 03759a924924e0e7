// How to call a tool or directive, on one line: `add(a: number, b?: number = 1)`. For search hits, where a model
// decides from this line alone; `load` shows the whole schema.
import type { Schema } from "effect"
import { isJsonObject, own } from "../schema/json.ts"
import type { Directive, Tool } from "./Item.ts"

/** The maximum length. */
export const maxSignature = 200

/** Members and choices to print before `…`. */
const maxChoices = 4
const maxDepth = 3

const word = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

const short = (value: Schema.Json): string => {
  const text = JSON.stringify(value)
  return text.length <= 24 ? text : `${text.slice(0, 23)}…`
}

const choices = (values: ReadonlyArray<Schema.Json>): string => {
  const shown = values.slice(0, maxChoices).map(short).join("|")
  return values.length > maxChoices ? `${shown}|…` : shown
}

const typeOf = (schema: Schema.Json | undefined, depth: number): string => {
  if (!isJsonObject(schema)) return "any"
  const [options, constant, type] = [own(schema, "enum"), own(schema, "const"), own(schema, "type")]
  if (Array.isArray(options) && options.length > 0) return choices(options as ReadonlyArray<Schema.Json>)
  if (constant !== undefined) return short(constant)
  const union = own(schema, "anyOf") ?? own(schema, "oneOf")
  if (type === undefined && Array.isArray(union) && union.length > 0 && depth < maxDepth) {
    const types = new Set((union as ReadonlyArray<Schema.Json>).slice(0, maxChoices).map((s) => typeOf(s, depth + 1)))
    return `${Array.from(types).join("|")}${union.length > maxChoices ? "|…" : ""}`
  }
  if (Array.isArray(type)) {
    return (type as ReadonlyArray<Schema.Json>).slice(0, maxChoices).map((t) => typeOf({ ...schema, type: t }, depth))
      .join("|")
  }
  if (type === "array") {
    const items = depth < maxDepth ? typeOf(own(schema, "items"), depth + 1) : "any"
    return items.includes("|") ? `(${items})[]` : `${items}[]`
  }
  if (type === "object" || (type === undefined && isJsonObject(own(schema, "properties")))) {
    const properties = own(schema, "properties")
    return isJsonObject(properties) && Object.keys(properties).length > 0 ? "{…}" : "object"
  }
  return typeof type === "string" && word.test(type) ? type : "any"
}

const parameter = (name: string, schema: Schema.Json | undefined, required: boolean): string => {
  const fallback = isJsonObject(schema) ? own(schema, "default") : undefined
  const value = fallback === undefined ? "" : ` = ${short(fallback)}`
  return `${word.test(name) ? name : short(name)}${required ? "" : "?"}: ${typeOf(schema, 0)}${value}`
}

/** Required parameters first, as many as fit. */
const join = (id: string, parameters: ReadonlyArray<string>, open: boolean): string => {
  const all = open ? [...parameters, "…"] : parameters
  const whole = `${id}(${all.join(", ")})`
  if (whole.length <= maxSignature) return whole
  let text = `${id}(`
  for (const one of parameters) {
    if (text.length + one.length + 4 > maxSignature) break
    text += `${one}, `
  }
  return `${text}…)`
}

/** The call signature of an object schema. */
export const schemaSignature = (id: string, schema: Schema.JsonObject): string => {
  const properties = own(schema, "properties")
  const known = isJsonObject(properties) ? properties : {}
  const names = own(schema, "required")
  const required = new Set<Schema.Json>(Array.isArray(names) ? names : [])
  const parameters = Object.entries(known).map(([name, property]) => {
    const isRequired = required.has(name) && !(isJsonObject(property) && Object.hasOwn(property, "default"))
    return { isRequired, text: parameter(name, property, isRequired) }
  })
  const further = own(schema, "additionalProperties")
  return join(
    id,
    parameters.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired)).map(({ text }) => text),
    parameters.length === 0 && further !== undefined && further !== false
  )
}

/** The schema for validating a directive's inputs: its own, or one made from its inputs. */
export const inputsSchema = ({ inputSchema, inputs }: Pick<Directive, "inputs" | "inputSchema">): Schema.JsonObject =>
  inputSchema ?? {
    type: "object",
    properties: Object.fromEntries(inputs.map((input) => [input.name, {
      type: input.type,
      ...(input.description === "" ? {} : { description: input.description }),
      ...(input.default === undefined ? {} : { default: input.default })
    }])),
    required: inputs.filter((input) => input.required).map((input) => input.name)
  }

export const callSignature = (item: Directive | Tool): string =>
  schemaSignature(item.location.id, item._tag === "tool" ? item.parameters : inputsSchema(item))
