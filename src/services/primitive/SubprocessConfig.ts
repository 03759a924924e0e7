// The config of `subprocess`, and the argv made from config and parameters. Pure, so that a dry run shows exactly what
// a run would start. A runtime's own arguments have a separate key (`runtime_args`): lists are replaced when configs
// merge, so a tool that sets `args` would otherwise remove its runtime's flags.
import { Result, Schema } from "effect"
import { ArgumentForm, asText, toArguments, type Unpassable } from "./argumentForms.ts"
import { type PrimitiveInput } from "./Primitive.ts"
import { ParametersUnpassable, PrimitiveConfigInvalid } from "./PrimitiveErrors.ts"

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/
const optionName = /^[A-Za-z][A-Za-z0-9_-]*$/

const units: Readonly<Record<string, number>> = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 }
const size = /^([1-9][0-9]{0,8})(B|KiB|MiB|GiB)$/

const Size = Schema.String.check(Schema.makeFilter((text) => size.test(text) || "a size like 512MiB"))
const Count = (most: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: most }))

/** The limits of a program. Read only from the signed config: see callerChoice. */
export const SubprocessLimits = Schema.Struct({
  /** Seconds of CPU time of one process. */
  cpu: Schema.optionalKey(Count(86_400)),
  /** Address space of one process. */
  memory: Schema.optionalKey(Size),
  /** Files that one process has open at once. */
  files: Schema.optionalKey(Count(1_048_576)),
  /** The largest file that it may write. */
  file_size: Schema.optionalKey(Size),
  /** Number of processes and threads of its user in total. */
  processes: Schema.optionalKey(Count(1_048_576))
})

/** The same in plain numbers: seconds, bytes and counts. */
export interface ProcessLimits {
  readonly cpu?: number | undefined
  readonly memory?: number | undefined
  readonly files?: number | undefined
  readonly fileSize?: number | undefined
  readonly processes?: number | undefined
}

const bytesOf = (text: string | undefined): number | undefined => {
  const [, amount, unit] = size.exec(text ?? "") ?? []
  return amount === undefined || unit === undefined ? undefined : Number(amount) * (units[unit] ?? 1)
}

const least = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b)

/** The limits for a tool: the lower of those that it asks for and those for every program. */
export const limitsOf = (asked: typeof SubprocessLimits.Type | undefined, most: ProcessLimits): ProcessLimits => ({
  cpu: least(asked?.cpu, most.cpu),
  memory: least(bytesOf(asked?.memory), most.memory),
  files: least(asked?.files, most.files),
  fileSize: least(bytesOf(asked?.file_size), most.fileSize),
  processes: least(asked?.processes, most.processes)
})

export const SubprocessConfig = Schema.Struct({
  command: Schema.NonEmptyString,
  /** The runtime's arguments. They place the tool's file by `${TOOL_FILE}`. */
  runtime_args: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The tool's own arguments: after its file, before the parameters. */
  args: Schema.optionalKey(Schema.Array(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))),
  env: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))
  ),
  /** Relative to the project's root, and inside it. */
  cwd: Schema.optionalKey(Schema.String),
  /** In seconds. Default: the setting `subprocess.timeout`. */
  timeout: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(86_400))),
  limits: Schema.optionalKey(SubprocessLimits),
  input: Schema.optionalKey(Schema.Literals(["args", "env", "stdin", "none"])),
  /** With input `args`: how to pass parameters that are not `--name=value`, by name. */
  options: Schema.optionalKey(Schema.Record(Schema.String, ArgumentForm)),
  /** Text for the tool's stdin. */
  input_data: Schema.optionalKey(Schema.String),
  output: Schema.optionalKey(Schema.Literals(["text", "json"])),
  /** What the tool may do by calls of its own, as grants: see calledGrants. Read only from the signed config. */
  calls: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Output is always captured; older items still have the key. */
  capture_output: Schema.optionalKey(Schema.Literal(true))
})
export type SubprocessConfig = typeof SubprocessConfig.Type

const decodeConfig = Schema.decodeUnknownResult(SubprocessConfig)

export interface SubprocessPlan {
  readonly config: SubprocessConfig
  /** The command and its arguments. */
  readonly argv: ReadonlyArray<string>
  /** Added to the child's environment. */
  readonly env: ReadonlyMap<string, string>
  /** Undefined: the child's stdin is empty. */
  readonly stdin: string | undefined
}

const textIssue = (text: string): string | undefined =>
  text.includes("\0")
    ? "contains a NUL character, which cannot be passed to a process"
    : text.isWellFormed()
    ? undefined
    : "is not well-formed Unicode"

/** The strings that are passed unescaped; those in objects are written as JSON, which escapes. */
const textsOf = (value: Schema.Json): ReadonlyArray<string> =>
  typeof value === "string" ? [value] : Array.isArray(value) ? value.flatMap((one: Schema.Json) => textsOf(one)) : []

const toVariables = (entries: ReadonlyArray<readonly [string, Schema.Json]>, issues: Array<Unpassable>) => {
  const variables = new Map<string, string>()
  const seen = new Map<string, string>()
  for (const [name, value] of entries) {
    if (!optionName.test(name)) {
      issues.push({ field: name, error: "is not the name of a variable ([A-Za-z][A-Za-z0-9_-]*)" })
      continue
    }
    const key = `KIWI_PARAM_${name.toUpperCase().replaceAll("-", "_")}`
    const other = seen.get(key)
    if (other !== undefined) {
      issues.push({ field: name, error: `is the same variable as ${other} (${key})` })
      continue
    }
    seen.set(key, name)
    if (value !== null) variables.set(key, asText(value))
  }
  return variables
}

const checkConfig = (config: SubprocessConfig, input: Pick<PrimitiveInput, "toolFile">): ReadonlyArray<Unpassable> => {
  const issues: Array<Unpassable> = []
  const texts: Array<readonly [string, string]> = [
    ["command", config.command],
    ...(config.runtime_args ?? []).map((a, i) => [`runtime_args/${i}`, a] as const),
    ...(config.args ?? []).map((a, i) => [`args/${i}`, String(a)] as const)
  ]
  for (const [name, value] of Object.entries(config.env ?? {})) {
    texts.push([`env/${name}`, String(value)])
    if (!variableName.test(name)) issues.push({ field: `env/${name}`, error: "is not the name of a variable" })
    else if (name.startsWith("KIWI_")) {
      issues.push({ field: `env/${name}`, error: "names beginning with KIWI_ are Kiwi's" })
    }
  }
  for (const [field, text] of texts) {
    const issue = textIssue(text)
    if (issue !== undefined) issues.push({ field, error: issue })
  }
  const { toolFile } = input
  if (toolFile !== undefined && !texts.some(([, text]) => text.includes(toolFile))) {
    issues.push({
      field: "runtime_args",
      error: "the tool has a file, but the config does not use it: place it by an argument \"${TOOL_FILE}\""
    })
  }
  if (config.input === "stdin" && config.input_data !== undefined) {
    issues.push({
      field: "input_data",
      error: "cannot be combined with input: stdin, which writes the parameters there"
    })
  }
  return issues
}

export const planSubprocess = (
  input: Pick<PrimitiveInput, "tool" | "config" | "parameters" | "placed" | "toolFile">
): Result.Result<SubprocessPlan, PrimitiveConfigInvalid | ParametersUnpassable> => {
  const decoded = decodeConfig(input.config)
  if (Result.isFailure(decoded)) {
    return Result.fail(
      new PrimitiveConfigInvalid({ tool: input.tool, issues: [{ field: "", error: decoded.failure.message }] })
    )
  }
  const config = decoded.success
  const configIssues = checkConfig(config, input)
  if (configIssues.length > 0) {
    return Result.fail(new PrimitiveConfigInvalid({ tool: input.tool, issues: configIssues }))
  }

  const mode = config.input ?? "args"
  const all = Object.entries(input.parameters)
  const rest = all.filter(([name]) => input.placed?.has(name) !== true)
  const issues: Array<Unpassable> = []
  const options = mode === "args" ? toArguments(rest, config.options ?? {}, issues) : []
  const variables = mode === "env" ? toVariables(all, issues) : new Map<string, string>()
  if (mode === "args" || mode === "env") {
    for (const [name, value] of mode === "args" ? rest : all) {
      const issue = textsOf(value).map(textIssue).find((one) => one !== undefined)
      if (issue !== undefined) issues.push({ field: name, error: issue })
    }
  }
  if (issues.length > 0) return Result.fail(new ParametersUnpassable({ tool: input.tool, issues }))

  const env = new Map<string, string>()
  for (const [name, value] of Object.entries(config.env ?? {})) env.set(name, String(value))
  for (const [name, value] of variables) env.set(name, value)
  if (config.calls !== undefined) env.set("KIWI_SOCKET", "fd:3")
  return Result.succeed({
    config,
    argv: [config.command, ...(config.runtime_args ?? []), ...(config.args ?? []).map(String), ...options],
    env,
    stdin: mode === "stdin" ? `${JSON.stringify(input.parameters)}\n` : config.input_data
  })
}
