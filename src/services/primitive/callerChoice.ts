// Finds what a signed config lets the caller choose. A caller may choose arguments but not the program: if a parameter
// decides which program, code or server is used, the signature says nothing about what runs. Pure, on the config as
// signed.
//
// With a sandbox, a false positive costs a sandbox instead of a refusal. Then every parameter in a place that an
// interpreter or launcher reads may count, and the parsing of their options and words (`inSubprocess` from `next`,
// `inLaunched`) can be removed. The check itself stays, since it determines the level.
import type { Schema } from "effect"
import { isJsonObject } from "../schema/json.ts"
import { parseTemplate } from "../template/templateText.ts"

/** Programs that run code from one of their arguments or from stdin. */
const interpreter =
  /^(?:(?:ba|da|z|k|mk|fi|c|tc)?sh|busybox|python[0-9.]*|pypy[0-9.]*|node|nodejs|deno|bun|tsx|npx|uvx|perl[0-9.]*|ruby[0-9.]*|php[0-9.]*|lua[0-9.]*|awk|gawk|mawk|osascript|pwsh|powershell|cmd|rbash|tclsh|wish|expect|rscript|julia|groovy|emacs|ed|ex|g?vim?|nvim|gdb|lldb|g?sed|su|script)$/
/** Programs that start a program named in an argument. */
const launcher =
  /^(?:env|sudo|doas|nohup|nice|ionice|timeout|xargs|setsid|stdbuf|time|watch|exec|start|taskset|strace|ltrace|unshare|nsenter|setpriv|tini|dumb-init|entr|parallel)$/
/** Programs that run code which they find in their working directory. */
const ofItsFolder =
  /^(?:g?make|cmake|ninja|just|task|rake|bundle|npm|pnpm|yarn|corepack|cargo|go|mvn|gradle|ant|tox|nox|pytest|poetry|uv|pipenv|composer|mix|rebar3|dune|sbt|bazel|docker-compose|git)$/
const shell = /^(?:busybox|[a-z]*sh)$/
/** Options that are followed by code. */
const codeOption = /^(?:-[A-Za-z]*[cepr]|--eval|--print|--command|-command|-encodedcommand|\/[ck])$/i
const shellCodeOption = /^(?:-[a-z]*c|-command)$/i
/** Options of a shell that are followed by one more word for them. */
const shellWordOption = /^[-+][a-z]*o$/i
/** Arguments of a launcher before the program: a duration, an assignment. */
const launcherValue = /^(?:[0-9][0-9.]*[smhd]?|[A-Za-z_][A-Za-z0-9_]*=.*)$/s

interface Text {
  /** Whether it includes a call parameter. */
  readonly chosen: boolean
  /** Whether it begins with a call parameter. */
  readonly chosenFirst: boolean
  /** Whether it begins with a variable. */
  readonly variableFirst: boolean
  /** The plain text that it starts with. */
  readonly start: string
}

const read = (value: Schema.Json | undefined): Text => {
  const parts = typeof value === "string" ? parseTemplate(value) : [value === undefined ? "" : JSON.stringify(value)]
  const [first = ""] = parts
  const isParameter = (part: typeof first) => typeof part === "object" && part._tag === "Parameter"
  return {
    chosen: parts.some(isParameter),
    chosenFirst: isParameter(first),
    variableFirst: typeof first === "object" && first._tag === "Variable",
    start: typeof first === "string" ? first : ""
  }
}

const listOf = (value: Schema.Json | undefined): ReadonlyArray<Schema.Json> => Array.isArray(value) ? value : []

const nameOf = (command: string): string =>
  (command.split(/[/\\]/).at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|bat)$/, "")

const isRelativePath = (text: Text) =>
  !text.variableFirst && /^[^/\\]+[/\\]/.test(text.start) && !/^[A-Za-z]:/.test(text.start)

/** Whether the folder decides what runs, so that choosing the folder chooses the program. */
const folderDecides = (config: Schema.JsonObject): boolean => {
  const command = read(config["command"])
  const name = nameOf(command.start)
  if (isRelativePath(command) || ofItsFolder.test(name)) return true
  if (!launcher.test(name) && !command.variableFirst && !interpreter.test(name)) return false
  return ![...listOf(config["runtime_args"]), ...listOf(config["args"])].includes("${TOOL_FILE}")
}

const inSubprocess = (config: Schema.JsonObject, hasParameters: boolean): string | undefined => {
  const command = read(config["command"])
  if (command.chosen) return "command"
  const limits = config["limits"]
  if (isJsonObject(limits)) {
    const limit = Object.keys(limits).find((key) => read(limits[key]).chosen)
    if (limit !== undefined) return `limits.${limit}`
  } else if (read(limits).chosen) return "limits"
  if (read(JSON.stringify(config["options"])).chosen) return "options"
  if (read(config["cwd"]).chosen && folderDecides(config)) return "cwd"
  const runtimeArguments = listOf(config["runtime_args"])
  const given = [
    ...runtimeArguments.map((value, at) => [`runtime_args[${at}]`, value] as const),
    ...listOf(config["args"]).map((value, at) => [`args[${at}]`, value] as const)
  ]
  const name = nameOf(command.start)
  const launches = launcher.test(name)
  if (!launches && !command.variableFirst && !interpreter.test(name)) {
    return given.slice(0, runtimeArguments.length).find(([, value]) => read(value).chosen)?.[0]
  }
  const isShell = shell.test(name)
  const [code, word] = isShell ? [shellCodeOption, shellWordOption] : [launches ? undefined : codeOption, undefined]
  let next: "code" | "word" | undefined
  for (const [at, [field, value]] of given.entries()) {
    const text = read(value)
    if (text.chosen) return field
    const isOption = !text.variableFirst && /^[-+/]/.test(text.start)
    const isValue = next === "word" || isOption || (launches && launcherValue.test(text.start))
    if (launches && next !== "code" && !isValue) return inLaunched(config, given.slice(at), hasParameters)
    if (next === "code" || !isValue) return undefined
    next = code?.test(text.start) === true ? "code" : word?.test(text.start) === true ? "word" : undefined
  }
  // Without a script of its own, an interpreter runs what is passed to it.
  if (read(config["input_data"]).chosen) return "input_data"
  const input = config["input"] ?? "args"
  return !command.variableFirst && hasParameters && (input === "args" || input === "stdin") ? "input" : undefined
}

/** A program started by a launcher gets the remaining arguments: `env bash -c …`, `sudo -u root bash -c …`. */
const inLaunched = (
  config: Schema.JsonObject,
  rest: ReadonlyArray<readonly [field: string, value: Schema.Json]>,
  hasParameters: boolean
): string | undefined => {
  const { cwd: _cwd, ...others } = config
  for (const [at, [, value]] of rest.entries()) {
    const { start, variableFirst } = read(value)
    if (variableFirst || !(launcher.test(nameOf(start)) || interpreter.test(nameOf(start)))) continue
    const behind = rest.slice(at + 1)
    const launched = { ...others, command: start, runtime_args: [], args: behind.map(([, one]) => one) }
    const choice = inSubprocess(launched, hasParameters)
    const [, place] = /^args\[(\d+)\]$/.exec(choice ?? "") ?? []
    if (choice !== undefined) return place === undefined ? choice : behind[Number(place)]?.[0]
  }
  return undefined
}

/** A file part is checked by its path, so parameters inside a part are allowed. One that is a whole part is not. */
const inRequest = (config: Schema.JsonObject): string | undefined => {
  if (read(config["url"]).chosenFirst) return "url"
  const parts = config["multipart"]
  if (!Array.isArray(parts)) return read(parts).chosen ? "multipart" : undefined
  const at = parts.findIndex((part: Schema.Json) => !isJsonObject(part) && read(part).chosen)
  return at === -1 ? undefined : `multipart[${at}]`
}

/** The config field by which a caller chooses what runs or which server is used. Undefined if there is none. */
export const callerChoice = (
  primitive: string,
  config: Schema.JsonObject,
  hasParameters: boolean
): string | undefined => {
  if (primitive === "subprocess") return inSubprocess(config, hasParameters)
  return primitive === "http_client" ? inRequest(config) : undefined
}
