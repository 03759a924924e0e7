// One requirement of a tool: a package by name and range. Text that an installer would read as an option, a URL, a path
// or a repository is refused, since it would decide where code comes from. All patterns are linear.
import { Result } from "effect"
import type { Ecosystem } from "./InstalledPackage.ts"

/** Longer than any that a person writes. */
const maxLength = 400

const elsewhere = "only packages by name and range, from the registry that you have configured"

const isPlain = (text: string): boolean => {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || code > 0x7e) return false
  }
  return true
}

const pythonName = /^[A-Za-z0-9][A-Za-z0-9._-]*/
const pythonSpecifier = /^(?:===|~=|==|!=|<=|>=|<|>)[ \t]*[A-Za-z0-9][A-Za-z0-9.!+_*-]*$/
const pythonMarker = /^[A-Za-z0-9_.'"()<>=!~ \t,*+-]+$/
/** In a requirements file, an option may follow on the same line. */
const option = /[ \t]-/

/** `Typing_Extensions` and `typing-extensions` are the same package. */
export const normalPythonName = (name: string): string => name.toLowerCase().replaceAll(/[._-]+/g, "-")

/** PEP 508 without direct references: `name[extra] >=1,<2; python_version < "3.12"`. */
const pythonProblem = (text: string): string | undefined => {
  const name = pythonName.exec(text)?.[0]
  if (name === undefined || /[._-]$/.test(name)) return `it does not begin with a package's name; ${elsewhere}`
  const semicolon = text.indexOf(";")
  const marker = semicolon === -1 ? undefined : text.slice(semicolon + 1).trim()
  if (marker !== undefined && (!pythonMarker.test(marker) || marker.startsWith("-"))) {
    return "what follows the semicolon is not a marker"
  }
  if (option.test(text)) return `an option follows; ${elsewhere}`
  let rest = (semicolon === -1 ? text : text.slice(0, semicolon)).slice(name.length).trim()
  if (rest.startsWith("[")) {
    const end = rest.indexOf("]")
    const extras = end === -1 ? [] : rest.slice(1, end).split(",").map((extra) => extra.trim())
    if (extras.length === 0 || extras.some((extra) => pythonName.exec(extra)?.[0] !== extra)) {
      return "the extras in brackets are not a list of names"
    }
    rest = rest.slice(end + 1).trim()
  }
  if (rest.startsWith("@")) return `it says where the package is to come from; ${elsewhere}`
  if (rest.startsWith("(") && rest.endsWith(")")) rest = rest.slice(1, -1).trim()
  if (rest === "") return undefined
  const wrong = rest.split(",").map((part) => part.trim()).find((part) => !pythonSpecifier.test(part))
  return wrong === undefined ? undefined : `"${wrong}" is not a version range; write name>=1,<2; ${elsewhere}`
}

const nodeName = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*$/
const nodeRange = /^[0-9A-Za-z.*^~<>=|+ -]*$/
/** Names that npm reads as a file. */
const archive = /\.(?:tgz|tar|tar\.gz)$/i

/** Splits `@scope/name@^1` into name and range. Without a range: any. */
export const splitNodeRequirement = (text: string): { readonly name: string; readonly range: string } => {
  const at = text.indexOf("@", 1)
  return at === -1 ? { name: text, range: "*" } : { name: text.slice(0, at), range: text.slice(at + 1).trim() || "*" }
}

/** Accepts a version range or a tag, and no other syntax that npm accepts there. */
export const nodeRangeProblem = (range: string): string | undefined =>
  !nodeRange.test(range) || range.startsWith(".") || archive.test(range)
    ? `"${range}" is not a range of versions; ${elsewhere}`
    : undefined

export const nodeNameProblem = (name: string): string | undefined =>
  !nodeName.test(name) || name.length > 214 || name.startsWith("-") || name.toLowerCase() === "node_modules" ||
    archive.test(name)
    ? `"${name}" is not a package name; ${elsewhere}`
    : undefined

const nodeProblem = (text: string): string | undefined => {
  const { name, range } = splitNodeRequirement(text)
  return nodeNameProblem(name) ?? nodeRangeProblem(range)
}

/** The trimmed requirement, or what is wrong with it. */
export const checkRequirement = (ecosystem: Ecosystem, written: string): Result.Result<string, string> => {
  const text = written.trim()
  if (text === "") return Result.fail("it is empty")
  if (text.length > maxLength) return Result.fail(`it is longer than ${maxLength} characters`)
  if (!isPlain(text)) return Result.fail(`it contains characters that are not allowed in a requirement; ${elsewhere}`)
  const problem = ecosystem === "python" ? pythonProblem(text) : nodeProblem(text)
  return problem === undefined ? Result.succeed(text) : Result.fail(problem)
}
