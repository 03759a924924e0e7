// Constraints on a tool's parameters: `<param name="recipient" enum="ada,grace"/>`.
import { Result } from "effect"
import type { Schema } from "effect"
import * as Constraint from "../Constraint.ts"
import { attribute, listOf, onlyAttributes, onlyChildren, type Read, refuse } from "./element.ts"
import type { Element } from "./element.ts"

const name = /^(?!__proto__$)[A-Za-z_][\w.-]{0,63}$/

const numbers: ReadonlySet<string> = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength"
])

const parseJson = (text: string): Result.Result<Schema.Json, string> =>
  Result.try({ try: (): Schema.Json => JSON.parse(text), catch: () => "is not JSON" })

/** Texts, unless `type` says what they are. */
const valueOf = (type: string | undefined, text: string): Schema.Json =>
  type === undefined || type === "string" ? text : Result.getOrElse(parseJson(text), () => text)

const schemaOf = (element: Element): Result.Result<Schema.Json, string> => {
  const written = attribute(element, "schema")
  if (written !== undefined) return parseJson(written)
  const type = attribute(element, "type")
  const found: Array<readonly [string, Schema.Json]> = []
  for (const [keyword, text] of Object.entries(element.attributes)) {
    if (keyword === "name") continue
    if (keyword === "enum") {
      const values = text.trimStart().startsWith("[")
        ? parseJson(text)
        : Result.succeed(listOf(text).map((one) => valueOf(type, one)))
      if (Result.isFailure(values)) return values
      found.push([keyword, values.success])
    } else {
      found.push([
        keyword,
        numbers.has(keyword) ? valueOf("number", text) : keyword === "const" ? valueOf(type, text) : text
      ])
    }
  }
  return Result.succeed(Object.fromEntries(found))
}

/** Undefined if there are none. */
export const readParameters = (element: Element): Read<Constraint.Constraints | undefined> =>
  Result.gen(function*() {
    const found = new Map<string, Constraint.Constraint>()
    for (const child of element.children) {
      yield* onlyChildren(child, [])
      yield* onlyAttributes(child, ["name", "schema", ...Constraint.keywords])
      const parameter = attribute(child, "name") ?? ""
      const hint = `Write <param name="recipient" enum="ada,grace"/>`
      if (!name.test(parameter)) return yield* refuse(child, "the <param> has no usable name", hint)
      if (found.has(parameter)) {
        return yield* refuse(child, `there is a second <param> for ${parameter}`, "Put both into one")
      }
      if (attribute(child, "schema") !== undefined && Object.keys(child.attributes).length > 2) {
        return yield* refuse(child, "the <param> has a schema and other keywords", "Put all of them into the schema")
      }
      const constraint = Result.flatMap(schemaOf(child), Constraint.parse)
      if (Result.isFailure(constraint)) {
        return yield* refuse(child, `the <param> for ${parameter} ${constraint.failure}`, hint)
      }
      found.set(parameter, constraint.success)
    }
    return found.size === 0 ? undefined : Object.fromEntries(found)
  })
