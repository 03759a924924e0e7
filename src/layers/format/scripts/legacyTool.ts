// The tool that a Python script without metadata makes, and how argparse wants the parameters of one that has some.
import type { Schema } from "effect"
import { isVersion } from "../../../services/format/Metadata.ts"
import type { ItemSnapshot, Tool } from "../../../services/item/Item.ts"
import { isJsonObject } from "../../../services/schema/json.ts"
import type { PythonModule } from "../readPython.ts"
import { argparseOptions, optionsFor, readArgparse } from "./readArgparse.ts"

const scalars = ["string", "number", "boolean"]

/** What a script that does not use argparse may be given: an option each. */
const anyParameters: Schema.JsonObject = {
  type: "object",
  properties: {},
  additionalProperties: { type: [...scalars, "array"], items: { type: scalars } }
}

const withOptions = (config: Schema.JsonObject, options: Schema.JsonObject): Schema.JsonObject =>
  Object.keys(options).length === 0
    ? config
    : { ...config, options: { ...options, ...(isJsonObject(config["options"]) ? config["options"] : {}) } }

const propertiesOf = (schema: Schema.JsonObject): Schema.JsonObject =>
  isJsonObject(schema["properties"]) ? schema["properties"] : {}

/**
 * The tool with the forms that its own argparse calls show, and with their parameters where it declares none. What its
 * config says of a parameter wins.
 */
export const withArgparse = (
  tool: Tool,
  { tree }: PythonModule,
  text: string,
  metadata: ReadonlyMap<string, unknown>
): Tool => {
  const argparse = readArgparse(tree, text)
  if (argparse === undefined) return tool
  if (["input_schema", "config_schema", "parameters"].some((key) => metadata.has(key))) {
    return { ...tool, config: withOptions(tool.config, optionsFor(argparse, propertiesOf(tool.parameters))) }
  }
  return {
    ...tool,
    parameters: argparse.schema,
    config: withOptions(tool.config, argparseOptions(argparse)),
    argparse: true
  }
}

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
    parameters: own ?? argparse?.schema ?? anyParameters,
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
    extra: {}
  }
}
