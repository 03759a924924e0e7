// Finds config values that the primitive would refuse in every call: of the wrong type, a variable that only system
// items may set, a place where a caller would choose what runs.
import { Result, Schema, SchemaIssue } from "effect"
import { calledGrants } from "../../../../services/capability/calledGrants.ts"
import { isDeniedVariable } from "../../../../services/env/variableNames.ts"
import { cut, problem } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { callerChoice } from "../../../../services/primitive/callerChoice.ts"
import { HttpClientConfig } from "../../../../services/primitive/HttpClientConfig.ts"
import { SubprocessConfig } from "../../../../services/primitive/SubprocessConfig.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import { nearest } from "../../../../services/schema/schemaIssues.ts"
import { parseTemplate } from "../../../../services/template/templateText.ts"
import { isClosed } from "../arguments/checkArguments.ts"
import { propertiesOf } from "../arguments/declared.ts"

/** A problem, and the path of keys to the value, for finding its line. */
export interface ValueProblem {
  readonly path: ReadonlyArray<string>
  readonly problem: Problem
}

const wrong = (path: ReadonlyArray<string>, issue: string, hint: string, value: Schema.Json): ValueProblem => ({
  path,
  problem: { ...problem(issue, hint), found: cut(JSON.stringify(value)) }
})

/** The value with its placeholders replaced by a text or a number. */
const filled = (value: Schema.Json, by: string | number): Schema.Json => {
  if (typeof value === "string") return parseTemplate(value).every((part) => typeof part === "string") ? value : by
  if (Array.isArray(value)) return value.map((one: Schema.Json) => filled(one, by))
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, by)]))
    : value
}

const asText = "x"
const asNumber = 1

const decoders = (fields: Readonly<Record<string, Schema.Codec<unknown, unknown>>>) =>
  new Map(
    Object.entries(fields).map(([key, field]) =>
      [key, Schema.decodeUnknownResult(Schema.Struct({ [key]: field }))] as const
    )
  )

const known = {
  subprocess: decoders(SubprocessConfig.fields),
  http_client: decoders(HttpClientConfig.fields)
}

export type Primitive = keyof typeof known

const readIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const wrongKind = (config: Tool["config"], primitive: Primitive): ValueProblem | undefined => {
  for (const [key, value] of Object.entries(config)) {
    const decode = known[primitive].get(key)
    if (decode === undefined) continue
    const tried = [asText, asNumber].map((by) => decode({ [key]: filled(value, by) }))
    const failure = tried.every(Result.isFailure) ? tried[0] : undefined
    if (failure === undefined || Result.isSuccess(failure)) continue
    const [issue] = readIssues(failure.failure.issue).issues
    const field = (issue?.path ?? [key]).map((part) => String(typeof part === "object" ? part.key : part))
    return wrong(
      field,
      `config.${cut(field.join("."), 80)} is not valid: ${cut(issue?.message ?? "", 120)}`,
      `config.${key} is described in the table of its primitive: load knowledge help/tools`,
      value
    )
  }
  return undefined
}

/** Whether a primitive accepts the type of each value of a config. */
export const hasRightKinds = (config: Tool["config"], primitive: Primitive): boolean =>
  wrongKind(config, primitive) === undefined

/** Variables that decide what a program loads. */
export const checkVariables = ({ config, envConfig, location }: Tool): ValueProblem | undefined => {
  if (location.tier === "system") return undefined
  for (const [name, env] of [["config", config["env"]], ["env_config", envConfig?.["env"]]] as const) {
    const variable = isJsonObject(env) ? Object.keys(env).find(isDeniedVariable) : undefined
    if (variable !== undefined && isJsonObject(env)) {
      return wrong(
        ["env", variable],
        `${name} sets ${cut(variable, 60)}, which decides what a program loads: only system items set it`,
        "Leave it out",
        env[variable]!
      )
    }
  }
  return undefined
}

/** A runtime's values, as far as it matters which of them a tool overrides. */
const ofRuntime = { command: "${INTERPRETER}", runtime_args: ["${TOOL_FILE}"] }

const chosen = (tool: Tool, primitive: Primitive, isRuntime: boolean): ValueProblem | undefined => {
  const { config, parameters } = tool
  const properties = parameters["properties"]
  const hasParameters = isJsonObject(properties) && Object.keys(properties).length > 0
  const field = callerChoice(primitive, isRuntime ? { ...ofRuntime, ...config } : config, hasParameters)
  if (field === undefined) return undefined
  const path = field.split(/[.[\]]+/).filter((part) => part !== "")
  return wrong(
    path,
    `config.${field} lets its caller choose what runs`,
    "Write the program and its code in full, and pass parameters as arguments behind it: bash -c 'echo \"$1\"' _ {text}",
    config[path[0]!] ?? null
  )
}

/** An entry of `options` for a parameter that is not declared. */
const undeclaredOption = (tool: Tool): ValueProblem | undefined => {
  const { config: { options }, positionals, undeclared } = tool
  if (!isJsonObject(options) || !isClosed(tool) || (undeclared === true && positionals !== "argparse")) return undefined
  const declared = propertiesOf(tool)
  const name = Object.keys(options).find((one) => !declared.includes(one))
  if (name === undefined) return undefined
  const near = nearest(name, declared.filter((one) => !Object.hasOwn(options, one)))
  const shown = cut(name, 40)
  return wrong(
    ["options", name],
    `config.options says how the parameter ${shown} is passed, and the tool declares no such parameter`,
    `${
      near === undefined ? "Declare" : `Write ${cut(near, 40)} in its place, declare`
    } the parameter ${shown}, or leave it out`,
    options[name]!
  )
}

/** What the tool asks for by calls of its own, in the words of a run. */
const wrongCalls = ({ config: { calls }, location }: Tool): ValueProblem | undefined => {
  if (calls === undefined) return undefined
  const { issues } = calledGrants(calls, location.tier === "system")
  return issues.length === 0 ? undefined : wrong(
    ["calls"],
    `the tool asks for what no call gets: ${
      cut(issues.map(({ error, field }) => `${field}: ${error}`).join("; "), 600)
    }`,
    "Write each as a capability with its scope, such as fs.read(src/**)",
    calls
  )
}

/** `isRuntime`: whether the tool runs on a runtime of Kiwi's and not directly on the primitive. */
export const checkValues = (tool: Tool, primitive: Primitive, isRuntime: boolean): ValueProblem | undefined => {
  const { config } = tool
  const kind = wrongKind(config, primitive)
  if (kind !== undefined) return kind
  const input = config["input"] ?? (/(?:^|\/)bash_runtime$/.test(tool.executorId ?? "") ? "env" : "args")
  if (primitive === "subprocess" && config["options"] !== undefined && input !== "args") {
    return wrong(
      ["options"],
      `config.options is about arguments, but parameters are passed by input: ${cut(String(input), 20)}`,
      "Write input: args beside it",
      config["options"]
    )
  }
  const calls = primitive === "subprocess" ? wrongCalls(tool) : undefined
  if (calls !== undefined) return calls
  if (tool.toolType === "runtime") return undefined
  return undeclaredOption(tool) ?? chosen(tool, primitive, isRuntime)
}
