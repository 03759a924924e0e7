// The schema for a tool's call parameters: input_schema, else config_schema, else one made from parameters[], else an
// object without members. Always an object schema.
import type { Schema } from "effect"
import { Result } from "effect"
import { isJsonObject } from "../schema/json.ts"
import { cut, fieldProblem } from "./Metadata.ts"
import type { Field, Metadata, Problem } from "./Metadata.ts"

/** JSON Schema's types, and the names that people use for them. */
export const typeNames: ReadonlyMap<string, string> = new Map([
  ["string", "string"],
  ["str", "string"],
  ["text", "string"],
  ["number", "number"],
  ["float", "number"],
  ["integer", "integer"],
  ["int", "integer"],
  ["boolean", "boolean"],
  ["bool", "boolean"],
  ["array", "array"],
  ["list", "array"],
  ["object", "object"],
  ["dict", "object"]
])

const empty: Schema.JsonObject = { type: "object", properties: {} }

const objectSchema = (field: Field, schema: Schema.JsonObject): Result.Result<Schema.JsonObject, Problem> => {
  if (schema.type === "object") return Result.succeed(schema)
  return schema.type === undefined
    ? Result.succeed({ type: "object", ...schema })
    : Result.fail(
      fieldProblem(
        field,
        `${field.spelling} is not an object schema`,
        `Write "type": "object" with "properties"`
      )
    )
}

const fromList = (field: Field): Result.Result<Schema.JsonObject, Problem> =>
  Result.gen(function*() {
    const list = field.value
    const refuse = (issue: string, value: Schema.Json, hint: string) =>
      Result.fail({ ...fieldProblem(field, issue, hint), found: cut(JSON.stringify(value)) })
    if (!Array.isArray(list)) {
      return yield* refuse(
        "parameters is not a list",
        field.value,
        "Write one entry per parameter: - {name: a, type: number}"
      )
    }
    const properties: Record<string, Schema.Json> = {}
    const required: Array<string> = []
    for (const entry of list as ReadonlyArray<Schema.Json>) {
      if (!isJsonObject(entry) || typeof entry.name !== "string" || entry.name === "") {
        return yield* refuse("a parameter has no name", entry, "Write - {name: a, type: number, required: true}")
      }
      const { name: _name, required: isRequired, type, ...rest } = entry
      if (Object.hasOwn(properties, entry.name) || entry.name === "__proto__") {
        return yield* refuse(
          `the parameter "${cut(entry.name, 40)}" is duplicated or not allowed`,
          entry,
          "Rename one of them"
        )
      }
      const typeName = typeof type === "string" ? typeNames.get(type) : type === undefined ? "string" : undefined
      if (typeName === undefined) {
        return yield* refuse(
          `the type of the parameter "${cut(entry.name, 40)}" is unknown`,
          entry,
          "Types are string, number, integer, boolean, array and object"
        )
      }
      if (isRequired !== undefined && typeof isRequired !== "boolean") {
        return yield* refuse("required is neither true nor false", entry, "Write required: true, or leave it out")
      }
      properties[entry.name] = { type: typeName, ...rest }
      if (isRequired === true && !Object.hasOwn(rest, "default")) required.push(entry.name)
    }
    return { type: "object", properties, required }
  })

export const parametersSchema = (
  metadata: Metadata,
  inputSchema: Schema.JsonObject | undefined,
  configSchema: Schema.JsonObject | undefined
): Result.Result<Schema.JsonObject, Problem> => {
  if (inputSchema !== undefined) return objectSchema(metadata.get("input_schema")!, inputSchema)
  if (configSchema !== undefined) return objectSchema(metadata.get("config_schema")!, configSchema)
  const list = metadata.get("parameters")
  return list === undefined || list.value === null ? Result.succeed(empty) : fromList(list)
}
