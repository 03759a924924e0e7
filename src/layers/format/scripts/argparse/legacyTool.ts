// Makes a tool from a Python script without metadata, and adds argparse's argument forms to one with metadata.
import { Result } from "effect"
import type { Schema } from "effect"
import { cut, fieldProblem, isVersion } from "../../../../services/format/Metadata.ts"
import type { Field, Problem } from "../../../../services/format/Metadata.ts"
import { toTool } from "../../../../services/format/ToolMetadata.ts"
import type { ItemSnapshot, Tool } from "../../../../services/item/Item.ts"
import { SubprocessConfig } from "../../../../services/primitive/SubprocessConfig.ts"
import { isJsonObject, propertiesIn } from "../../../../services/schema/json.ts"
import type { PythonModule } from "../../readPython.ts"
import { hasRightKinds } from "../config/checkValues.ts"
import { argparseOptions, declaredArguments, optionsFor } from "./argumentForms.ts"
import { type Argparse, readArgparse } from "./readArgparse.ts"

/** For a script that does not use argparse: one that reads arguments in another way is not signed. */
const noParameters: Schema.JsonObject = { type: "object", properties: {} }

const withOptions = (config: Schema.JsonObject, options: Schema.JsonObject): Schema.JsonObject =>
  Object.keys(options).length === 0 || (config["input"] ?? "args") !== "args"
    ? config
    : { ...config, options: { ...options, ...(isJsonObject(config["options"]) ? config["options"] : {}) } }

/** Adds to a schema that positional arguments, which argparse fills from the left, require those before them. */
const withDependent = (schema: Schema.JsonObject, argparse: Argparse): Schema.JsonObject => {
  const flexible = declaredArguments(argparse, propertiesIn(schema)).flatMap(([argument, name]) =>
    argument.flexible === "no" || name === undefined ? [] : [name]
  )
  if (argparse.problem !== undefined || flexible.length < 2) return schema
  const own = isJsonObject(schema["dependentRequired"]) ? schema["dependentRequired"] : {}
  const needed = flexible.slice(1).map((name, at) => {
    const more = own[name]
    return [name, [...new Set([...flexible.slice(0, at + 1), ...(Array.isArray(more) ? more : [])])]] as const
  })
  return { ...schema, dependentRequired: { ...own, ...Object.fromEntries(needed) } }
}

/**
 * The tool with the argument forms from its own argparse calls, and with their parameters if it declares none. The
 * tool's own config takes precedence.
 */
export const withArgparse = (tool: Tool, argparse: Argparse): Tool => ({
  ...tool,
  ...(argparse.problem === undefined ? { positionals: "argparse" } : {}),
  ...(tool.undeclared === true
    ? { parameters: argparse.schema, config: withOptions(tool.config, argparseOptions(argparse)) }
    : {
      parameters: withDependent(tool.parameters, argparse),
      config: withOptions(tool.config, optionsFor(argparse, propertiesIn(tool.parameters)))
    })
})

const says = new Set(["args", "runtime_args", "options", "limits", "input_data"])

/** Whether a CONFIG is Kiwi's. A script without marks may have settings of its own under that name. */
const readConfig = (field: Field): boolean | Problem => {
  const { value } = field
  if (!isJsonObject(value)) return false
  const keys = Object.keys(value)
  const unknown = keys.find((key) => !Object.hasOwn(SubprocessConfig.fields, key))
  const ours = keys.find((key) => says.has(key))
  if (unknown === undefined) return ours !== undefined || (keys.length > 0 && hasRightKinds(value, "subprocess"))
  return ours === undefined ? false : fieldProblem(
    field,
    `CONFIG has ${ours}, which says how the script is run, and ${cut(unknown, 40)}, which nothing reads`,
    `Give the script's own settings another name, or write at the left margin __executor_id__ = "python_runtime"`
  )
}

/** Constants that are metadata without any mark: nothing else has such a value under such a name. */
const counts: Readonly<Record<string, (field: Field) => boolean | Problem>> = {
  version: ({ value }) => typeof value === "string" && isVersion(value),
  input_schema: ({ value }) => isJsonObject(value) && value["type"] === "object",
  dependencies: () => true,
  requires: ({ value }) =>
    isJsonObject(value) && Object.keys(value).some((key) => /^(?:commands|environment|capabilities)$/.test(key)),
  config: readConfig
}

/** A Python script that names no executor: `python_runtime` runs it. */
export const toLegacyTool = (
  snapshot: ItemSnapshot,
  text: string,
  module: PythonModule
): Result.Result<Tool, Problem> => {
  const metadata = new Map<string, Field>()
  for (const [name, field] of module.metadata) {
    const counted = Object.hasOwn(counts, name) && counts[name]!(field)
    if (typeof counted === "object") return Result.fail(counted)
    if (counted) metadata.set(name, field)
  }
  metadata.set("executor_id", { value: "python_runtime", spelling: "__executor_id__", line: 0, column: 0 })
  const argparse = readArgparse(module.tree, text)
  return Result.map(
    toTool({ snapshot, metadata, description: module.description, toolType: "python", runs: true }),
    (declared) => {
      const tool = { ...declared, legacy: true }
      if (argparse !== undefined) return withArgparse(tool, argparse)
      return tool.undeclared === true ? { ...tool, parameters: noParameters } : tool
    }
  )
}
