// Checks that each declared parameter is read by the code. One that is not would be lost silently: a dry run would do
// its work. Only for code run by one of Kiwi's runtimes, and for programs that are passed nothing at all.
import type { Schema } from "effect"
import { isBuiltin } from "node:module"
import { cut, positionAt, problem } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { possibleShifts } from "../../../../services/primitive/argumentPlaces.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import { compile } from "../../../../services/template/Template.ts"
import { declares } from "../imports/moduleKind.ts"
import { type BashReading, readBashArguments, withoutQuoted } from "./bashArguments.ts"
import { inputOf, isFolder, propertiesOf } from "./declared.ts"
import { isReader } from "./pythonArguments.ts"

/** The code of a tool: its entrypoint, and all files signed with it. */
export interface Code {
  /** `.py`, `.sh`, …; "" if no file of the tool itself runs. */
  readonly extension: string
  readonly entry: string
  readonly all: ReadonlyArray<string>
}

export interface Passed {
  readonly problem: Problem | undefined
  readonly unsure: ReadonlyArray<string>
}

interface Lost {
  readonly issue: string
  readonly hint: string
}

const argumentsIn = ({ config }: Tool): ReadonlyArray<unknown> => Array.isArray(config["args"]) ? config["args"] : []

const quote = (value: unknown): string => JSON.stringify(value)

/** How to write a tool's config in its own language. */
export const configAs = (
  tool: Tool,
  { entry, extension }: Pick<Code, "entry" | "extension">,
  members: Readonly<Record<string, unknown>>
): string => {
  const yaml = (value: unknown): string =>
    Array.isArray(value)
      ? `[${value.map((one) => quote(one)).join(", ")}]`
      : typeof value === "object" && value !== null
      ? `{${Object.entries(value).map(([key, one]) => `${key}: ${yaml(one)}`).join(", ")}}`
      : String(value)
  if (isFolder(tool) || extension === ".sh" || extension === "") return `config: ${yaml(members)}`
  const json = quote(members).replaceAll(/([:,])(?=["{[])/g, "$1 ")
  return extension === ".py" ? `CONFIG = ${json}` : `${declares(extension, entry)} CONFIG = ${json}`
}

/** The text without comment lines; here-documents are kept. */
const withoutComments = (text: string, extension: string): string => {
  if (extension !== ".sh") return text.replaceAll(/^[ \t]*(?:#|\/\/).*$/gm, "")
  const code = withoutQuoted(text, true).split("\n")
  return text.split("\n").filter((line, at) => !/^[ \t]*#/.test(line) || (code[at] ?? "").trim() !== "").join("\n")
}

/** Variables that are read under a computed name, or all at once. */
const anyVariable = /KIWI_PARAM(?:_(?![A-Za-z0-9])|(?!_))/

const variableOf = (name: string): string => `KIWI_PARAM_${name.toUpperCase().replaceAll("-", "_")}`

/** The options of a script that uses getopts, as far as they are known. Empty if it does not use it. */
const optionsOf = ({ getopts }: BashReading, names: ReadonlyArray<string>): Readonly<Record<string, object>> => {
  const letters = [...getopts.matchAll(/[A-Za-z0-9]/g)].map(([letter]) => letter)
  return Object.fromEntries(names.map((name) => {
    return [name, { option: `-${letters.find((one) => one === name) ?? name[0]}` }]
  }))
}

const getoptsHint = (tool: Tool, reading: BashReading): string =>
  `Write in place of its args ${
    configAs(tool, { entry: "", extension: ".sh" }, { input: "args", options: optionsOf(reading, propertiesOf(tool)) })
  }`

const place = (tool: Tool, name: string, code: Code): string => {
  const args = [...argumentsIn(tool), `{${name}}`] as Schema.JsonArray
  const shifting = possibleShifts({ ...tool, config: { ...tool.config, args } }).map(({ parameter }) => parameter)
  return `${configAs(tool, code, { args })}${
    shifting.length === 0 ? "" : `, with ${shifting.join(", ")} required or with a default`
  }`
}

const lostVariable = (tool: Tool, name: string, code: Code): Lost | undefined => {
  const { all, entry, extension } = code
  const text = [...all.map((one) => withoutComments(one, extension)), quote(tool.config)].join("\n")
  const variable = variableOf(name)
  if (anyVariable.test(text) || new RegExp(`\\b${variable}(?![A-Za-z0-9_])`).test(text)) return undefined
  const reading = extension === ".sh" ? readBashArguments(entry) : undefined
  const hint = reading?.getopts !== undefined && reading.getopts !== ""
    ? getoptsHint(tool, reading)
    : reading?.positional === undefined
    ? `Read ${variable} in the script, or leave the parameter out`
    : `Read "$${variable}" in the script, or place it among the arguments: ${place(tool, name, code)}`
  return { issue: `the parameter ${cut(name, 40)} arrives as ${variable}, which nothing in the tool reads`, hint }
}

const lostOption = (tool: Tool, name: string, code: Code): Lost | undefined => {
  const reading = readBashArguments(code.entry)
  const options = isJsonObject(tool.config["options"]) ? tool.config["options"] : {}
  const form = isJsonObject(options[name]) ? options[name] : {}
  const option = typeof form["option"] === "string" ? form["option"] : `--${name}`
  if (form["as"] === "positional" || reading.getopts === "" || reading.getopts.includes("-")) return undefined
  const letter = /^-([A-Za-z0-9])$/.exec(option)?.[1]
  if (letter !== undefined && reading.getopts.includes(letter)) return undefined
  return {
    issue: `the parameter ${cut(name, 40)} arrives as ${cut(option, 40)}, which getopts ${
      quote(reading.getopts)
    } does not read`,
    hint: getoptsHint(tool, reading)
  }
}

/** How many arguments are read by number, if no code reads them in another way. */
const numbered = ({ all, extension }: Code): number | undefined => {
  const text = all.map((one) => withoutComments(one, extension)).join("\n")
  if (extension === ".sh") {
    const { uses } = readBashArguments(all.join("\n"))
    const numbers = uses.map((by) => /^\$([0-9]+)$/.exec(by)?.[1])
    return numbers.length === 0 || numbers.includes(undefined) ? undefined : Math.max(...numbers.map(Number))
  }
  const mentions = [...text.matchAll(/\bargv\b(?:\s*\[\s*(\d+)\s*\])?/g)]
  if (mentions.length === 0 || mentions.some(([, number]) => number === undefined)) return undefined
  return Math.max(...mentions.map(([, number]) => Number(number))) - (extension === ".py" ? 0 : 1)
}

/** Modules of Python's own library that read no arguments. */
const quiet =
  /^(?:__future__|abc|ast|asyncio|base64|bisect|calendar|collections|concurrent|contextlib|copy|csv|dataclasses|datetime|decimal|difflib|email|enum|errno|fnmatch|fractions|functools|glob|gzip|hashlib|heapq|hmac|html|http|inspect|io|ipaddress|itertools|json|locale|logging|math|mimetypes|operator|os|pathlib|pickle|platform|pprint|queue|random|re|secrets|shlex|shutil|signal|socket|sqlite3|ssl|stat|statistics|string|struct|subprocess|sys|tarfile|tempfile|textwrap|threading|time|tomllib|traceback|types|typing|unicodedata|urllib|uuid|warnings|weakref|xml|zipfile|zlib|zoneinfo)$/

/** Whether code reads its arguments; "maybe" if what it imports might. */
const readsArguments = ({ all, extension }: Code): boolean | "maybe" => {
  const text = all.map((one) => withoutComments(one, extension)).join("\n")
  if (extension === ".sh") {
    return readBashArguments(all.join("\n")).positional !== undefined ||
      (/\b(?:BASH_ARGV|eval)\b/.test(text) && "maybe")
  }
  if (/argv|\bparseArgs\b/.test(text)) return true
  const modules = extension === ".py"
    ? [...text.matchAll(/^[ \t]*(?:from|import)[ \t]+([\w.]+)/gm)].map(([, module = ""]) => module.split(".")[0]!)
    : [...text.matchAll(/\b(?:from|import|require\()\s*\(?["']([^"']+)["']/g)].map(([, module = ""]) => module)
  if (extension === ".py" && modules.some(isReader)) return true
  if (/\b(?:exec|eval|__import__|import_module|runpy|getattr|vars)\b/.test(text)) return "maybe"
  return modules.every((module) =>
      extension === ".py" ? quiet.test(module) : module.startsWith(".") || isBuiltin(module)
    )
    ? false
    : "maybe"
}

const lostArgument = (tool: Tool, name: string, code: Code): Lost | "maybe" | undefined => {
  const count = numbered(code)
  const option = `--${cut(name, 40)}`
  if (count !== undefined && count <= argumentsIn(tool).length) {
    return {
      issue: `the parameter ${cut(name, 40)} arrives as ${option}, and the script reads its arguments by their number`,
      hint: `Place it: ${place(tool, name, code)}`
    }
  }
  if (code.extension === ".sh") {
    const lost = lostOption(tool, name, code)
    if (lost !== undefined) return lost
  }
  const reads = readsArguments(code)
  return reads === true ? undefined : reads === "maybe" ? "maybe" : {
    issue: `the parameter ${cut(name, 40)} arrives as ${option}, and nothing in the tool reads its arguments`,
    hint: "Read it in the script, or leave the parameter out"
  }
}

/** Where a parameter is declared in the item's text: a guess. */
export const declaredAt = (
  text: string,
  name: string
): { readonly line: number; readonly column: number } | undefined => {
  const start = Math.max(0, text.search(/\b(?:input_schema|parameters|config_schema)\b/i))
  const found = text.slice(start).search(new RegExp(`(?<![\\w-])${name.replaceAll(/[^\w-]/g, "\\$&")}(?![\\w-])`))
  return found === -1 ? undefined : positionAt(text, start + found)
}

/** `text`: the item's own, which declares its parameters. */
export const checkPassed = (tool: Tool, text: string, code: Code): Passed => {
  const input = inputOf(tool)
  const nothing: Passed = { problem: undefined, unsure: [] }
  if (input === undefined) return nothing
  const placed = compile(tool.config, []).parameters
  const unsure: Array<string> = []
  for (const name of propertiesOf(tool)) {
    if (placed.has(name)) continue
    const lost = input === "none"
      ? {
        issue: `the parameter ${cut(name, 40)} is not passed, since the config has input: none and does not use it`,
        hint: `Place it: ${place(tool, name, code)}, or leave input: none out`
      }
      : code.extension === ""
      ? undefined
      : input === "env"
      ? lostVariable(tool, name, code)
      : input === "args"
      ? lostArgument(tool, name, code)
      : undefined
    if (lost === "maybe") unsure.push(name)
    else if (lost !== undefined) {
      return { ...nothing, problem: { ...problem(lost.issue, lost.hint), ...declaredAt(text, name) } }
    }
  }
  return unsure.length === 0 ? nothing : {
    ...nothing,
    unsure: [`declares ${cut(unsure.join(", "), 80)}, and no visible code reads its arguments`]
  }
}
