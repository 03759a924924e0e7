// The tool that a Python script without metadata makes, and how argparse wants the parameters of one that has some.
import type { Schema } from "effect"
import { isVersion } from "../../../../services/format/Metadata.ts"
import type { ItemSnapshot, Tool } from "../../../../services/item/Item.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import type { PythonModule } from "../../readPython.ts"
import { argparseOptions, declaredArguments, optionsFor } from "./argumentForms.ts"
import { type Argparse, readArgparse } from "./readArgparse.ts"

/** A script that does not use argparse is given nothing: one that reads arguments is not signed. */
const noParameters: Schema.JsonObject = { type: "object", properties: {} }

const withOptions = (config: Schema.JsonObject, options: Schema.JsonObject): Schema.JsonObject =>
  Object.keys(options).length === 0 || (config["input"] ?? "args") !== "args"
    ? config
    : { ...config, options: { ...options, ...(isJsonObject(config["options"]) ? config["options"] : {}) } }

const propertiesOf = (schema: Schema.JsonObject): Schema.JsonObject =>
  isJsonObject(schema["properties"]) ? schema["properties"] : {}

/** A schema in which positional arguments that argparse fills from the left need those before them. */
const withDependent = (schema: Schema.JsonObject, argparse: Argparse): Schema.JsonObject => {
  const flexible = declaredArguments(argparse, propertiesOf(schema)).flatMap(([argument, name]) =>
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
 * The tool with the forms that its own argparse calls show, and with their parameters where it declares none. What its
 * config says of a parameter wins.
 */
export const withArgparse = (tool: Tool, argparse: Argparse): Tool => ({
  ...tool,
  ...(argparse.problem === undefined ? { positionals: "argparse" } : {}),
  ...(tool.undeclared === true
    ? { parameters: argparse.schema, config: withOptions(tool.config, argparseOptions(argparse)) }
    : {
      parameters: withDependent(tool.parameters, argparse),
      config: withOptions(tool.config, optionsFor(argparse, propertiesOf(tool.parameters)))
    })
})

export const toLegacyTool = (snapshot: ItemSnapshot, text: string, module: PythonModule): Tool => {
  const version = module.metadata.get("version")?.value
  const declared = module.metadata.get("input_schema")?.value
  const argparse = readArgparse(module.tree, text)
  const own = isJsonObject(declared) && declared["type"] === "object" ? declared : undefined
  return {
    _tag: "tool",
    location: snapshot.location,
    digest: snapshot.digest,
    version: typeof version === "string" && isVersion(version) ? version : "0.0.0",
    title: "",
    description: module.description,
    tags: [],
    overridable: false,
    toolType: "python",
    executorId: "python_runtime",
    executorRange: undefined,
    childSchemas: undefined,
    parameters: (own === undefined || argparse === undefined ? own : withDependent(own, argparse)) ??
      argparse?.schema ?? noParameters,
    config: argparse === undefined
      ? {}
      : withOptions({}, own === undefined ? argparseOptions(argparse) : optionsFor(argparse, propertiesOf(own))),
    configSchema: undefined,
    envConfig: undefined,
    dependencies: [],
    requires: { commands: [], environment: [], capabilities: [] },
    mutatesState: false,
    entrypoint: snapshot.location.path.slice(snapshot.location.path.lastIndexOf("/") + 1),
    legacy: true,
    ...(argparse !== undefined && argparse.problem === undefined ? { positionals: "argparse" as const } : {}),
    ...(own === undefined ? { undeclared: true } : {}),
    extra: {}
  }
}
