// Checks whether `parseArgs` of node:util accepts the tool's parameters as they are passed. Only for a single, strict
// call whose config is literal in the file.
import type { SyntaxNode, Tree } from "@lezer/common"
import type { Schema } from "effect"
import { cut, problemAt } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { isJsonObject, propertiesIn } from "../../../../services/schema/json.ts"
import { compile } from "../../../../services/template/Template.ts"
import { nodesOf, sourceOf } from "../argparse/pythonCalls.ts"
import { configAs } from "./checkPassed.ts"
import { propertiesOf } from "./declared.ts"

interface ParsedOption {
  readonly at: number
  readonly type: "string" | "boolean"
  readonly multiple: boolean
  readonly short: string | undefined
}

export interface ParseArgs {
  readonly at: number
  /** By long name, without dashes. */
  readonly options: ReadonlyMap<string, ParsedOption>
  readonly allowPositionals: boolean
  readonly allowNegative: boolean
}

const partsOf = (node: SyntaxNode): ReadonlyArray<SyntaxNode> => {
  const found: Array<SyntaxNode> = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (!/^(?:LineComment|BlockComment|TypeAnnotation|[()])$/.test(child.name)) found.push(child)
  }
  return found
}

const imported = /\{[^{}]*\bparseArgs\b(?!\s+as\b|\s*:)[^{}]*\}\s*(?:from\s*|=\s*require\(\s*)["'](?:node:)?util["']/
const wholeModule =
  /(?:\bimport\s+(?:\*\s+as\s+)?(\w+)\s+from\s*|\b(?:const|let|var)\s+(\w+)\s*=\s*require\(\s*)["'](?:node:)?util["']/

/** The name of a property, written as text or as an identifier. */
const nameOf = (node: SyntaxNode, text: string): string | undefined =>
  node.name === "PropertyDefinition"
    ? sourceOf(text, node)
    : node.name === "String" && !sourceOf(text, node).includes("\\")
    ? sourceOf(text, node).slice(1, -1)
    : undefined

/** Undefined: there is no such call, or what it accepts is not known without running it. */
export const readParseArgs = (tree: Tree, text: string): ParseArgs | undefined => {
  const [, ...modules] = wholeModule.exec(text) ?? []
  const isCallee = (source: string) =>
    (source === "parseArgs" && imported.test(text)) ||
    modules.some((name) => name !== undefined && source === `${name}.parseArgs`)
  const [call, another] = nodesOf(tree, "CallExpression").filter(({ firstChild }) =>
    isCallee(sourceOf(text, firstChild))
  )
  const mentions = text.match(/\bparseArgs\s*\(/g)?.length ?? 0
  if (call === undefined || another !== undefined || mentions !== 1) return undefined

  /** The value itself, or that of a constant that nothing else uses. */
  const valueOf = (node: SyntaxNode | undefined, isShorthand = false): SyntaxNode | undefined => {
    if (node?.name === "BinaryExpression") {
      const [value, operator] = partsOf(node)
      return operator?.name === "as" || operator?.name === "satisfies" ? valueOf(value) : undefined
    }
    if (node?.name !== "VariableName" && !isShorthand) return node
    const name = sourceOf(text, node)
    const named = (kind: string) => nodesOf(tree, kind).filter((one) => sourceOf(text, one) === name)
    const [defined, more] = named("VariableDefinition")
    if (defined === undefined || more !== undefined || named("VariableName").length > (isShorthand ? 0 : 1)) {
      return undefined
    }
    const parts = defined.parent?.name === "VariableDeclaration" ? partsOf(defined.parent) : []
    const at = parts.findIndex(({ from }) => from === defined.from)
    return parts[0]?.name === "const" && parts[at + 1]?.name === "Equals" ? valueOf(parts[at + 2]) : undefined
  }

  const membersOf = (node: SyntaxNode | undefined): ReadonlyMap<string, SyntaxNode> | undefined => {
    if (node?.name !== "ObjectExpression") return undefined
    const found = new Map<string, SyntaxNode>()
    for (const member of partsOf(node)) {
      if (/^[{},]$/.test(member.name)) continue
      const [key, colon, value, rest] = partsOf(member)
      const name = member.name === "Property" && key !== undefined ? nameOf(key, text) : undefined
      if (name === undefined || rest !== undefined || (colon !== undefined && colon.name !== ":")) return undefined
      const read = colon === undefined ? valueOf(key, true) : value
      if (read === undefined || found.has(name)) return undefined
      found.set(name, read)
    }
    return found
  }
  const flag = (members: ReadonlyMap<string, SyntaxNode>, name: string, usual: boolean): boolean | undefined => {
    const node = members.get(name)
    if (node === undefined) return usual
    return node.name === "BooleanLiteral" ? sourceOf(text, node) === "true" : undefined
  }

  const list = call.getChild("ArgList")
  const [given, other] = list === null ? [] : partsOf(list)
  const members = other === undefined ? membersOf(valueOf(given)) : undefined
  if (members === undefined || flag(members, "strict", true) !== true) return undefined
  const args = members.get("args")
  if (args !== undefined && !/^process\.argv\.slice\(\s*2\s*\)$/.test(sourceOf(text, args))) return undefined
  const others = text.replaceAll(/\bargv\s*\[\s*[01]\s*\]/g, "").match(/\bargv\b/g)?.length ?? 0
  const allowPositionals = flag(members, "allowPositionals", false)
  const allowNegative = flag(members, "allowNegative", false)
  if (others !== (args === undefined ? 0 : 1) || allowPositionals === undefined || allowNegative === undefined) {
    return undefined
  }
  const options = new Map<string, ParsedOption>()
  const declared = members.get("options")
  const entries = declared === undefined ? new Map<string, SyntaxNode>() : membersOf(valueOf(declared))
  if (entries === undefined) return undefined
  for (const [name, node] of entries) {
    const option = membersOf(valueOf(node))
    if (option === undefined) return undefined
    const [type, short] = ["type", "short"].map((key) => {
      const value = option.get(key)
      return value === undefined ? undefined : nameOf(value, text)
    })
    const multiple = flag(option, "multiple", false)
    const isKnown = (type === "string" || type === "boolean") && multiple !== undefined
    if (!isKnown || (option.has("short") && short === undefined)) return undefined
    options.set(name, { at: node.from, type, multiple, short })
  }
  return { at: call.from, options, allowPositionals, allowNegative }
}

const usual: Readonly<Record<string, string>> = {
  boolean: "flag",
  array: "values",
  string: "value",
  integer: "value",
  number: "value",
  object: "value"
}

/** How a parameter is passed: `--x`, `--x=a`, `--x=a --x=b`, `--x a b`, `--x --x`, `--no-x`. */
const sent = (as: Schema.Json | undefined, type: string): string | undefined => {
  switch (as) {
    case undefined:
      return usual[type]
    case "value":
    case "json":
      return "value"
    case "repeat":
      return type === "array" ? "values" : usual[type] === undefined ? undefined : "value"
    case "words":
      return type === "array" ? "words" : usual[type] === undefined ? undefined : "value"
    case "count":
      return "flag"
    case "on_off":
      return "negative"
    default:
      return undefined
  }
}

const misfit = (
  option: string,
  kind: string | undefined,
  { multiple, type }: ParsedOption,
  allowNegative: boolean
): readonly [issue: string, hint: string] | undefined => {
  if (type === "string") {
    switch (kind) {
      case "flag":
      case "negative":
        return [`${option} without a value, and parseArgs wants one`, `Write type: "boolean" for it in parseArgs`]
      case "values":
        return multiple
          ? undefined
          : [`one ${option} for each of its values, and parseArgs keeps only the last`, "Write multiple: true for it"]
      case "words":
        return [`${option} and its values after it, and parseArgs takes only the first`, "Leave as: words out"]
    }
    return undefined
  }
  if (kind === "negative" && !allowNegative) {
    return [`--no-… where it is false, and parseArgs does not know that`, "Write allowNegative: true in parseArgs"]
  }
  return kind === "value" || kind === "values" || kind === "words"
    ? [`${option} with a value, and parseArgs takes none`, `Write type: "string" for it in parseArgs`]
    : undefined
}

const schemaFor = ({ multiple, type }: ParsedOption): Schema.JsonObject =>
  multiple ? { type: "array", items: { type } } : { type }

/** The parameter schema for a tool that declares none, as JSON. */
export const schemaOf = ({ allowPositionals, options }: ParseArgs): string =>
  JSON.stringify({
    type: "object",
    properties: {
      ...Object.fromEntries([...options].map(([name, option]) => [name, schemaFor(option)])),
      ...(allowPositionals ? { file: { type: "string" } } : {})
    }
  }).replaceAll(/([:,])(?=["{[])/g, "$1 ")

const bare = (name: string): string => name.replaceAll(/[-_]/g, "").toLowerCase()

/** `entry`: the text of the file with the call, with its extension. */
export const checkParseArgs = (
  tool: Tool,
  { allowNegative, allowPositionals, at, options }: ParseArgs,
  code: { readonly entry: string; readonly extension: string }
): Problem | undefined => {
  const properties = propertiesIn(tool.parameters)
  const forms = isJsonObject(tool.config["options"]) ? tool.config["options"] : {}
  const placed = compile(tool.config, []).parameters
  const refuse = (name: string, from: number, issue: string, hint: string) =>
    problemAt(code.entry, from, `the parameter ${cut(name, 40)} is passed as ${issue}`, hint)
  const names = propertiesOf(tool)
  const args = tool.config["args"]
  const first = names.find((name) => Array.isArray(args) && args[0] === `{${name}}`)
  const positional = first ?? names.find((name) => {
    const form = forms[name]
    return !placed.has(name) && isJsonObject(form) && form["as"] === "positional"
  })
  if (positional !== undefined && !allowPositionals) {
    return refuse(
      positional,
      at,
      "a positional argument, and parseArgs refuses those",
      `Write allowPositionals: true in parseArgs, or have it read an option: ${cut(positional, 40)}: { type: "string" }`
    )
  }
  for (const name of names) {
    const form = isJsonObject(forms[name]) ? forms[name] : {}
    if (placed.has(name) || form["as"] === "positional") continue
    const option = typeof form["option"] === "string" ? form["option"] : `--${name}`
    const [, long, short] = /^(?:--(.+)|-([^-]))$/.exec(option) ?? []
    if (long === undefined && short === undefined) continue
    const known = long === undefined
      ? [...options.values()].find((one) => one.short === short)
      : options.get(long)
    const property = isJsonObject(properties[name]) ? properties[name] : {}
    const type = String(property["type"])
    if (known !== undefined) {
      const wrong = misfit(cut(option, 40), sent(form["as"], type), known, allowNegative)
      if (wrong === undefined) continue
      const [issue, hint] = wrong
      return refuse(name, known.at, issue, `${hint}, or declare and pass the parameter as parseArgs reads it`)
    }
    const near = [...options.keys()].find((one) => bare(one) === bare(name) && (one === name || !names.includes(one)))
    return refuse(
      name,
      at,
      `${cut(option, 40)}, which parseArgs does not know`,
      near !== undefined
        ? `Write ${
          configAs(tool, code, { options: { ...forms, [name]: { ...form, option: `--${near}` } } })
        }, or rename the parameter`
        : long === undefined
        ? `Write short: "${cut(short!, 40)}" for one of its options, or leave the parameter out`
        : `Add ${JSON.stringify(cut(long, 40))}: { type: "${
          type === "boolean" ? "boolean" : "string"
        }" } to its options, or leave the parameter out`
    )
  }
  return undefined
}
