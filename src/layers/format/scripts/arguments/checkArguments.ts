// Checks that a tool's parameters reach its code: a script that reads arguments without declaring any never gets one,
// and one that reads them elsewhere does not find them.
import { Effect, Result } from "effect"
import { cut, problemAt } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import { compile } from "../../../../services/template/Template.ts"
import { parseJavascript } from "../../readJavascript.ts"
import { parsePython } from "../../readPython.ts"
import { declaredArguments } from "../argparse/argumentForms.ts"
import { type Argparse, readArgparse, unreadMention } from "../argparse/readArgparse.ts"
import type { ScriptArgument } from "../argparse/readArgument.ts"
import { declares } from "../imports/moduleKind.ts"
import { withoutAttributes } from "../imports/readImports.ts"
import { usualExtension } from "../usualExtension.ts"
import { mayReadArguments, readBashArguments, readLoopOptions, readsBashStdin } from "./bashArguments.ts"
import { type Input, isFolder, propertiesOf, runtimeInput } from "./declared.ts"
import { misplacedOption } from "./misplacedOption.ts"
import { readsNodeCommandLine, readsNodeStdin } from "./nodeArguments.ts"
import { checkParseArgs, type ParseArgs, readParseArgs, schemaOf } from "./parseArgs.ts"
import {
  changesCommandLine,
  mayReachCommandLine,
  type Reading,
  readsCommandLine,
  readsPythonStdin
} from "./pythonArguments.ts"

export interface Found {
  readonly problem: Problem | undefined
  /** What is not known: sentences without a subject. */
  readonly unsure: ReadonlyArray<string>
}

export const nothing: Found = { problem: undefined, unsure: [] }

const refused = (problem: Problem): Found => ({ problem, unsure: [] })

interface Asked {
  readonly tool: Tool
  readonly text: string
  readonly input: Input
  /** Whether the config itself has arguments, which may be what the script reads. */
  readonly hasArguments: boolean
  readonly isEntry: boolean
}

/** Whether the schema names every parameter that the tool accepts. */
export const isClosed = ({ parameters }: Tool): boolean =>
  !Object.keys(parameters).some((key) =>
    /^(?:\$ref|allOf|anyOf|oneOf|if|patternProperties|propertyNames)$/.test(key)
  ) &&
  (parameters["additionalProperties"] ?? false) === false

/** How to declare in the config that a parameter is an argument without an option. */
const config = (tool: Tool, by: string): string => {
  // Code that reads arguments by number would take the `--` before positional arguments for one of them.
  const isNumbered = /argv|^\$|^shift$/.test(by)
  if (tool.location.kind === "folder") {
    return `config: ${isNumbered ? `{args: ["{file}"]}` : "{options: {file: {as: positional}}}"}`
  }
  return `CONFIG = ${isNumbered ? `{"args": ["{file}"]}` : `{"options": {"file": {"as": "positional"}}}`}`
}

const inManifest =
  "Write into tool.yaml input_schema: {type: object, properties: {file: {type: string}}, required: [file]}"
const schema = `INPUT_SCHEMA = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}`
const behind = "and for what the script takes without an option"

/** How to declare a package, unless the tool declares it already. */
const dependency = (tool: Tool, name: string | undefined): string =>
  name === undefined || tool.dependencies.length > 0
    ? ""
    : isFolder(tool)
    ? `dependencies: [${name}], `
    : `DEPENDENCIES = ["${name}"], `

const howTo = {
  python: (tool: Tool, by: string, needs?: string) =>
    isFolder(tool)
      ? `${inManifest}, ${dependency(tool, needs)}${behind}, ${config(tool, by)}`
      : `Write at the left margin __executor_id__ = "python_runtime", ${schema}, ${dependency(tool, needs)}${behind}, ${
        config(tool, by)
      }`,
  /** `by`: "" if it takes nothing without an option. */
  node: (tool: Tool, by: string, declared: "const" | "export const") =>
    isFolder(tool)
      ? `${inManifest}${by === "" ? "" : `, ${behind}, ${config(tool, by)}`}`
      : `Write ${declared} ${schema}${by === "" ? "" : `, ${behind}, ${declared} ${config(tool, by)}`}`,
  parseArgs: (tool: Tool, parser: ParseArgs, declared: "const" | "export const") => {
    const own = isFolder(tool) ? "" : `${declared} `
    const positional = parser.allowPositionals ? `, ${behind}, ${own}${config(tool, "parseArgs")}` : ""
    return `Write ${isFolder(tool) ? "into tool.yaml input_schema: " : `${own}INPUT_SCHEMA = `}${
      schemaOf(parser)
    }${positional}`
  },
  bash: (tool: Tool) =>
    `${
      isFolder(tool) ? inManifest : "Write under # kiwi: parameters: [{name: file, type: string}]"
    }, and read "$KIWI_PARAM_FILE" in the script, or add config: {args: ["{file}"]}`
}

/** How to declare that the tool has no parameters. */
const none = (tool: Tool, extension: string, declared: string = ""): string =>
  `; if it needs none: ${
    isFolder(tool)
      ? "input_schema: {type: object, properties: {}}"
      : extension === ".sh"
      ? "parameters: []"
      : `${declared}INPUT_SCHEMA = {"type": "object", "properties": {}}`
  }`

/** A script that may read arguments but also runs without. `placed`: how its language declares one, on one line. */
const mayTake = ({ by, optional }: Reading, placed: string): ReadonlyArray<string> =>
  optional === true ? [`may take arguments (${by}), but gets none: to pass one, write ${placed}`] : []

/** How to declare an optional parameter as an argument without an option. */
const onePlaced = (tool: Tool, extension: string, entry = ""): string => {
  const placed = `{"args": ["{file}"]}`
  if (isFolder(tool)) {
    return `input_schema: {type: object, properties: {file: {type: string}}} and config: ${placed}`
  }
  if (extension === ".sh") return `parameters: [{name: file, type: string}] and config: ${placed}`
  const properties = `INPUT_SCHEMA = {"type":"object","properties":{"file":{"type":"string"}}}`
  return extension === ".py"
    ? `${properties} and CONFIG = ${placed}`
    : `${declares(extension, entry)} ${properties}, CONFIG = ${placed}`
}

const undeclared = (text: string, at: number, by: string, hint: string): Problem =>
  problemAt(text, at, `the script reads its arguments by ${by}, and the tool declares no parameters`, hint)

/** Stdin is empty unless the config fills it, so a script that reads it gets nothing. */
const emptyStdin = ({ input, tool }: Asked, by: string | undefined): ReadonlyArray<string> =>
  by === undefined || input === "stdin" || tool.config["input_data"] !== undefined
    ? []
    : [`reads ${by}, which is empty: its config has neither input_data nor input: stdin`]

/** A variable of another input mode, which is not set. */
const wrongVariable = ({ input, text, tool }: Asked): Problem | undefined => {
  const [match] = text.matchAll(/["'.`]KIWI_PARAM_[A-Za-z0-9_]*/g)
  if (match === undefined || (input === "env" && tool.undeclared !== true)) return undefined
  return tool.undeclared === true
    ? undeclared(text, match.index + 1, "KIWI_PARAM_ variables", "Declare the parameters as its input_schema")
    : problemAt(
      text,
      match.index + 1,
      "the script reads a KIWI_PARAM_ variable, and its parameters arrive as arguments",
      "Write input: env into its config"
    )
}

const argvWords = /\bsys\s*\.\s*argv\b/g

const checkPython = Effect.fnUntraced(function*(asked: Asked): Effect.fn.Return<Found> {
  const { hasArguments, input, isEntry, text, tool } = asked
  const parsed = yield* parsePython(text)
  // Python's compiler accepts syntax that Kiwi does not know: nothing more can be said.
  if (Result.isFailure(parsed)) return nothing
  const { tree } = parsed.success
  const variable = wrongVariable(asked)
  if (variable !== undefined) return refused(variable)
  const argparse = readArgparse(tree, text, isEntry)
  const misplaced = input === "args" ? misplacedOption(tool, argparse?.misplaced, text) : undefined
  if (misplaced !== undefined) return refused(misplaced)
  const optional: Array<string> = []
  if (tool.undeclared === true && !hasArguments) {
    const changed = argparse === undefined ? undefined : changesCommandLine(tree, text)
    const problem = argparse?.problem ?? (changed === undefined ? undefined : problemAt(
      text,
      changed.at,
      "the script changes sys.argv, which its parser reads",
      howTo.python(tool, changed.by)
    ))
    if (problem !== undefined) return refused(problem)
    const reading = argparse === undefined ? readsCommandLine(tree, text, isEntry) : undefined
    if (reading?.optional === true) optional.push(...mayTake(reading, onePlaced(tool, ".py")))
    const at = reading === undefined
      ? (argparse === undefined && isEntry ? unreadMention(tree, text, argvWords) : undefined)
      : reading.optional === true
      ? undefined
      : reading.at
    const by = reading?.by ?? "sys.argv"
    if (at !== undefined) {
      return refused(undeclared(text, at, by, howTo.python(tool, by, reading?.package) + none(tool, ".py")))
    }
  } else if (argparse !== undefined && argparse.problem === undefined && input === "args" && isClosed(tool)) {
    const missing = differs(tool, argparse)
    if (missing !== undefined) return refused(problemAt(text, argparse.at, ...missing))
  }
  const reached = isEntry && (tool.undeclared === true || argparse !== undefined)
    ? mayReachCommandLine(tree, text)
    : undefined
  return {
    problem: undefined,
    unsure: [
      ...optional,
      ...(reached === undefined ? [] : [`uses ${reached.by}, so its use of arguments is unknown`]),
      ...(argparse === undefined || argparse.rest === ""
        ? []
        : [`uses arguments that its argparse does not know (${argparse.rest}): no parameter passes any`]),
      ...emptyStdin(asked, readsPythonStdin(tree, text)?.by)
    ]
  }
})

const dashed = (name: string): string => name.replaceAll("_", "-")

const isFor = (name: string) => ({ aliases, name: own }: ScriptArgument): boolean =>
  [own, ...aliases].some((one) => dashed(one).startsWith(dashed(name)))

/** Whether a parameter with another name is passed as this argument. */
const suppliesOf =
  ({ config: { options } }: Tool, argparse: Argparse, asked: ScriptArgument) => (name: string): boolean => {
    const form = isJsonObject(options) && isJsonObject(options[name]) ? options[name] : {}
    if (argparse.arguments.some(isFor(name))) return false
    if (typeof form["option"] !== "string") return form["as"] === "positional" && asked.form?.as === "positional"
    // A short option may be one of any argument.
    return /^.[A-Za-z0-9]$/.test(form["option"]) || isFor(form["option"].replace(/^\W+/, ""))(asked)
  }

/** A positional argument that would take the position of an undeclared one before it. */
const gapIn = (tool: Tool, argparse: Argparse): readonly [issue: string, hint: string] | undefined => {
  const places = declaredArguments(argparse, tool.parameters["properties"])
    .filter(([{ flexible, form }]) => flexible !== "no" && form?.as === "positional")
  const gap = places.findIndex(([, name]) => name === undefined)
  const taker = gap === -1 ? undefined : places.slice(gap).find(([, name]) => name !== undefined)
  if (taker === undefined || tool.config["args"] !== undefined) return undefined
  const [missing, name] = [places[gap]![0].name, cut(taker[1]!, 40)]
  return [
    `the parameter ${name} would take the place of ${missing}, which comes before it and is not declared`,
    `Declare ${missing}, too, or leave ${name} out`
  ]
}

/** A declared parameter that argparse would refuse, or a required argument that is not declared. */
const differs = (tool: Tool, argparse: Argparse): readonly [issue: string, hint: string] | undefined => {
  const options = tool.config["options"]
  const placed = compile(tool.config, []).parameters
  const byHand = (name: string) =>
    placed.has(name) || (isJsonObject(options) && isJsonObject(options[name]) && options[name]["option"] !== undefined)
  const properties = propertiesOf(tool)
  const unknown = argparse.knownOnly
    ? undefined
    : properties.find((name) => !byHand(name) && !argparse.arguments.some(isFor(name)))
  if (unknown !== undefined) {
    return [
      `the tool declares the parameter ${cut(unknown, 40)}, and this parser has no such argument`,
      `Add add_argument("--${cut(unknown, 40)}"), or leave the parameter out`
    ]
  }
  const asked = argparse.arguments.find((one) => one.required && !properties.some((name) => isFor(name)(one)))
  if (asked === undefined || tool.config["args"] !== undefined || properties.some(suppliesOf(tool, argparse, asked))) {
    return gapIn(tool, argparse)
  }
  return [
    `this parser requires the argument ${asked.name}, and the tool declares no such parameter`,
    `Add ${asked.name} to the declared parameters, or make it optional`
  ]
}

const checkNode = Effect.fnUntraced(function*(asked: Asked, extension: string): Effect.fn.Return<Found> {
  const { hasArguments, input, isEntry, text, tool } = asked
  const parsed = yield* parseJavascript(withoutAttributes(text), extension === ".ts")
  if (Result.isFailure(parsed)) return nothing
  const { tree } = parsed.success
  const variable = wrongVariable(asked)
  if (variable !== undefined) return refused(variable)
  const parser = isEntry ? readParseArgs(tree, text) : undefined
  if (parser !== undefined && tool.undeclared !== true && input === "args") {
    const wrong = checkParseArgs(tool, parser, { entry: text, extension })
    if (wrong !== undefined) return refused(wrong)
  }
  const reading = tool.undeclared === true && !hasArguments ? readsNodeCommandLine(tree, text) : undefined
  if (reading === undefined || reading.optional === true) {
    return {
      problem: undefined,
      unsure: [
        ...(reading === undefined ? [] : mayTake(reading, onePlaced(tool, extension, text))),
        ...emptyStdin(asked, readsNodeStdin(tree, text)?.by)
      ]
    }
  }
  const declared = declares(extension, text)
  const takesNone = reading.by === "parseArgs" && !/\b(?:allowPositionals|strict)\b/.test(text)
  return refused(undeclared(
    text,
    reading.at,
    reading.by,
    (parser === undefined
      ? howTo.node(tool, takesNone ? "" : reading.by, declared)
      : howTo.parseArgs(tool, parser, declared)) +
      none(tool, extension, `${declared} `)
  ))
})

/** How to declare the options of a loop over `case "$1"`. Undefined if there are none. */
const optionLoop = (tool: Tool, text: string): string | undefined => {
  const options = readLoopOptions(text)
  if (options.length === 0) return undefined
  const declared = options.map(({ form, name }) => [name, form === "flag" ? "boolean" : "string"] as const)
  const parameters = isFolder(tool)
    ? `Write into tool.yaml input_schema: {type: object, properties: {${
      declared.map(([name, type]) => `${name}: {type: ${type}}`).join(", ")
    }}}`
    : `Write under # kiwi: parameters: [${declared.map(([name, type]) => `{name: ${name}, type: ${type}}`).join(", ")}]`
  const words = options.filter(({ form }) => form === "words").map(({ name }) => `${name}: {as: words}`)
  return `${parameters}, and config: {input: args${words.length === 0 ? "" : `, options: {${words.join(", ")}}`}}`
}

const checkBash = (asked: Asked): Found => {
  const { hasArguments, input, text, tool } = asked
  const { parameters, positional } = readBashArguments(text)
  const names = new Set(
    propertiesOf(tool).map((name) => `KIWI_PARAM_${name.toUpperCase().replaceAll("-", "_")}`)
  )
  for (const [name, at] of parameters) {
    if (input !== "env") {
      return refused(
        problemAt(text, at, `the script reads ${name}, and its config says input: ${input}`, "Write input: env")
      )
    }
    if (isClosed(tool) && !names.has(name)) {
      const word = name.slice("KIWI_PARAM_".length).toLowerCase()
      return refused(problemAt(
        text,
        at,
        `the script reads ${name}, and the tool declares no such parameter`,
        `Declare it: parameters: [{name: ${word}, type: string}]`
      ))
    }
  }
  const later = tool.undeclared === true && !hasArguments && positional === undefined
    ? mayReadArguments(text)
    : undefined
  const unsure = [
    ...(later === undefined ? [] : [`uses ${later}, so its use of arguments is unknown`]),
    ...emptyStdin(asked, readsBashStdin(text) ? "stdin (read)" : undefined)
  ]
  if (positional === undefined || hasArguments || input === "args" && tool.undeclared !== true) {
    return { ...nothing, unsure }
  }
  if (tool.undeclared === true && positional.optional === true) {
    return { ...nothing, unsure: [...unsure, ...mayTake(positional, onePlaced(tool, ".sh"))] }
  }
  if (tool.undeclared === true) {
    return refused(
      undeclared(text, positional.at, positional.by, (optionLoop(tool, text) ?? howTo.bash(tool)) + none(tool, ".sh"))
    )
  }
  return parameters.size > 0 || names.size === 0 ? { ...nothing, unsure } : refused(problemAt(
    text,
    positional.at,
    `the script reads ${positional.by}, and its parameters arrive as KIWI_PARAM_ variables`,
    "Read \"$KIWI_PARAM_NAME\" in its place, or write config: {args: [\"{NAME}\"]}"
  ))
}

/**
 * Only for tools run by one of Kiwi's runtimes, since others may pass arguments differently. `isEntry`: whether this is
 * the file that runs, and not one that it imports.
 */
export const checkArguments = (
  tool: Tool,
  path: string,
  text: string,
  isEntry: boolean
): Effect.Effect<Found> => {
  const { args, runtime_args: runtimeArguments } = tool.config
  const input = runtimeInput(tool)
  if (input === undefined) return Effect.succeed(nothing)
  const asked: Asked = {
    tool,
    text,
    input,
    hasArguments: (Array.isArray(args) && args.length > 0) || runtimeArguments !== undefined,
    isEntry
  }
  const extension = usualExtension(path, text)
  switch (extension) {
    case ".py":
      return checkPython(asked)
    case ".ts":
    case ".js":
    case ".mjs":
    case ".cjs":
      return checkNode(asked, extension)
    case ".sh":
      return Effect.succeed(isEntry ? checkBash(asked) : nothing)
    default:
      return Effect.succeed(nothing)
  }
}
