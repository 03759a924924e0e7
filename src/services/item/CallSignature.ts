// How a tool or directive is called, in one line: `add(a: number, b?: number = 2)`. For search hits, where a model
// decides from it alone; the whole schema is what `load` shows.
import type { Schema } from "effect"
import type { Directive, Tool } from "./Item.ts"

const longest = 200

const isRecord = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const literal = (value: Schema.Json): string => {
  const text = JSON.stringify(value)
  return text.length <= 24 ? text : `${text.slice(0, 23)}…`
}

const typeOf = (schema: Schema.Json | undefined, depth: number): string => {
  if (!isRecord(schema)) return "any"
  const options = schema["enum"]
  if (Array.isArray(options)) {
    return options.slice(0, 4).map(literal).join("|") + (options.length > 4 ? "|…" : "")
  }
  if (schema["const"] !== undefined) return literal(schema["const"])
  const type = schema["type"]
  if (Array.isArray(type)) return type.filter((t) => typeof t === "string").join("|")
  if (type === "array") return depth > 1 ? "array" : `${typeOf(schema["items"], depth + 1)}[]`
  if (type === "object") return isRecord(schema["properties"]) ? "{…}" : "object"
  return typeof type === "string" ? type : "any"
}

const identifier = /^[A-Za-z_][A-Za-z0-9_-]*$/

const parametersOf = (schema: Schema.JsonObject): ReadonlyArray<string> => {
  const properties = schema["properties"]
  if (!isRecord(properties)) return []
  const listed = schema["required"]
  const required = new Set<Schema.Json>(Array.isArray(listed) ? listed : [])
  return Object.entries(properties)
    .map(([name, property]) => {
      const fallback = isRecord(property) ? property["default"] : undefined
      const optional = !required.has(name) || fallback !== undefined
      const shown = identifier.test(name) ? name : literal(name)
      const text = `${shown}${optional ? "?" : ""}: ${typeOf(property, 0)}${
        fallback === undefined ? "" : ` = ${literal(fallback)}`
      }`
      return { optional, text }
    })
    .toSorted((a, b) => Number(a.optional) - Number(b.optional))
    .map(({ text }) => text)
}

/** At most 200 characters; parameters that do not fit are an ellipsis. Required ones come first. */
export const callSignature = (item: Directive | Tool): string => {
  const parameters = item._tag === "tool"
    ? parametersOf(item.parameters)
    : item.inputSchema === undefined
    ? item.inputs.map((input) =>
      `${input.name}${input.required && input.default === undefined ? "" : "?"}: ${input.type}${
        input.default === undefined ? "" : ` = ${literal(input.default)}`
      }`
    )
    : parametersOf(item.inputSchema)
  let text = `${item.location.id}(`
  for (const [index, parameter] of parameters.entries()) {
    const next = index === 0 ? parameter : `, ${parameter}`
    if (text.length + next.length > longest - 4) return `${text}${index === 0 ? "" : ", "}…)`
    text += next
  }
  return `${text})`
}
