// What a Python script expects on its command line, from its literal argparse calls: a schema for its parameters, and
// for each the form in which argparse wants it. A call that cannot be read, or that no parameters can reach, is a
// problem with its line: a script with one is not signed.
//
// Gotchas: argparse takes a word that begins with a prefix character for an option, wherever `nargs` takes several;
// only `--option=value` and what stands behind `--` are safe. Before Python 3.13 a value that is exactly `--` is lost
// wherever it stands. The schema excludes both.
import type { SyntaxNode, Tree } from "@lezer/common"
import { Result } from "effect"
import type { Schema } from "effect"
import { problemAt } from "../../../services/format/Metadata.ts"
import type { Problem } from "../../../services/format/Metadata.ts"
import { type ArgumentForm, maxCount } from "../../../services/primitive/argumentForms.ts"
import { makeLiterals } from "../readPython.ts"

/** One parameter that argparse takes. */
export interface ScriptArgument {
  /** The long option without its dashes, else the short one; of a positional, its `dest`. */
  readonly name: string
  /** Everything else that it goes by. */
  readonly aliases: ReadonlyArray<string>
  readonly schema: Schema.JsonObject
  readonly required: boolean
  /** `undefined`: `--name=value`, or `--name` for a switch. */
  readonly form: ArgumentForm | undefined
}

export interface Argparse {
  readonly arguments: ReadonlyArray<ScriptArgument>
  readonly schema: Schema.JsonObject
  /** The first thing that stands in the way of a call. */
  readonly problem: Problem | undefined
}

interface Keywords {
  readonly positional: ReadonlyArray<SyntaxNode>
  readonly named: ReadonlyMap<string, SyntaxNode>
  /** `*args` or `**kwargs`. */
  readonly unpacked: boolean
}

const optionName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const negativeNumber = /^-\d+$|^-\d*\.\d+$/

const types: Readonly<Record<string, string>> = { int: "integer", float: "number" }

const byHand = "Write INPUT_SCHEMA = {…} and __executor_id__ = \"python_runtime\" at the left margin"

const childNodes = (node: SyntaxNode): ReadonlyArray<SyntaxNode> => {
  const nodes: Array<SyntaxNode> = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (!["(", ")", "[", "]", ",", "Comment"].includes(child.name)) nodes.push(child)
  }
  return nodes
}

const readKeywords = (list: SyntaxNode, text: string): Keywords => {
  const parts = childNodes(list)
  const positional: Array<SyntaxNode> = []
  const named = new Map<string, SyntaxNode>()
  let unpacked = false
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    if (part.name === "*" || part.name === "**") {
      unpacked = true
      i++
    } else if (parts[i + 1]?.name === "AssignOp" && parts[i + 2] !== undefined) {
      named.set(text.slice(part.from, part.to), parts[i + 2]!)
      i += 2
    } else positional.push(part)
  }
  return { positional, named, unpacked }
}

/** The last name of what is called, and what it is called on: `add_argument` on `group`. */
const calleeOf = (call: SyntaxNode, text: string): { readonly method: string; readonly on: SyntaxNode | undefined } => {
  const callee = call.firstChild
  const last = callee?.name === "MemberExpression" ? callee.lastChild : callee
  return {
    method: last === null || last === undefined ? "" : text.slice(last.from, last.to),
    on: callee?.name === "MemberExpression" ? callee.firstChild ?? undefined : undefined
  }
}

/** A default that may be handed over in place of the script's own. */
const fits = (value: Schema.Json, type: Schema.Json | undefined, choices: ReadonlyArray<Schema.Json> | undefined) =>
  (type === "integer"
    ? Number.isSafeInteger(value)
    : type === "number"
    ? typeof value === "number"
    : typeof value === type) && (choices === undefined || choices.includes(value))

const makeReader = (text: string, tree: Tree) => {
  const literals = makeLiterals(text)
  const literal = (node: SyntaxNode | undefined): Schema.Json | undefined =>
    node === undefined ? undefined : Result.getOrUndefined(literals.read(node))
  const source = (node: SyntaxNode | undefined): string => node === undefined ? "" : text.slice(node.from, node.to)
  const refuse = (at: SyntaxNode, issue: string, hint = byHand): Problem => problemAt(text, at.from, issue, hint)

  /** Characters that begin an option, in any of the file's parsers, and those that name a file of arguments. */
  let prefixes = "-"
  let fromFile = ""

  /** No value that argparse would take for an option or for a file of arguments. */
  const aWord = (schema: Schema.JsonObject, first: string): Schema.JsonObject => {
    if (schema["type"] !== "string" || schema["enum"] !== undefined || first === "") return schema
    return { ...schema, pattern: `^(?:[^${first.replace(/[\\\]^-]/g, "\\$&")}]|$)` }
  }

  const valueOf = (named: Keywords["named"]): { schema: Schema.JsonObject; json: boolean } | Problem => {
    const type = named.get("type")
    const name = source(type)
    if (name === "bool") {
      return refuse(
        type!,
        "type=bool takes every text but an empty one for True, \"False\" too",
        "Write action=\"store_true\", or action=argparse.BooleanOptionalAction, in place of type=bool"
      )
    }
    if (/^(?:json\.)?loads$/.test(name)) return { schema: {}, json: true }
    const kind = types[name] ?? "string"
    const given = literal(named.get("choices"))
    const choices = Array.isArray(given) && given.length > 0 && given.every((one) => fits(one, kind, undefined))
      ? given
      : undefined
    const limit: Schema.JsonObject = choices !== undefined
      ? { enum: choices }
      : kind === "string"
      ? { not: { const: "--" } }
      : {}
    return { schema: { type: kind, ...limit }, json: false }
  }

  const described = (schema: Schema.JsonObject, named: Keywords["named"], mayDefault: boolean): Schema.JsonObject => {
    const help = literal(named.get("help"))
    const fallback = literal(named.get("default"))
    const usual = fallback !== undefined && fallback !== null && fallback !== false
    const handed = usual && mayDefault &&
      fits(fallback, schema["type"], schema["enum"] as ReadonlyArray<Schema.Json> | undefined)
    const description = [
      typeof help === "string" ? help.replaceAll("%(default)s", String(fallback ?? "")).replaceAll("%%", "%") : "",
      usual && !handed ? `Default: ${JSON.stringify(fallback)}` : ""
    ].filter((part) => part !== "").join(". ")
    return {
      ...schema,
      ...(description === "" ? {} : { description }),
      ...(handed ? { default: fallback } : {})
    }
  }

  /** `undefined`: it takes no parameter (`--help`, `--version`). */
  const readArgument = (
    call: SyntaxNode,
    { named, positional, unpacked }: Keywords,
    alone: boolean
  ): ScriptArgument & { readonly flexible: "no" | "one" | "many" } | Problem | undefined => {
    const names = positional.map(literal)
    if (unpacked || names.length === 0 || !names.every((name) => typeof name === "string")) {
      const usesDest = names.length === 0 && !unpacked && typeof literal(named.get("dest")) === "string"
      if (!usesDest) return refuse(call, "the name of this argument is computed when the script runs")
      names.push(literal(named.get("dest"))!)
    }
    const spelled = names as ReadonlyArray<string>
    const isOption = prefixes.includes(spelled[0]![0] ?? " ")
    const bare = (name: string) => isOption ? name.replace(/^(.)\1?/, "") : name
    const long = spelled.find((name) => name.startsWith(`${name[0]!}${name[0]!}`) && optionName.test(bare(name)))
    const option = isOption ? long ?? spelled.find((name) => optionName.test(bare(name))) : spelled[0]
    const negative = spelled.find((name) => negativeNumber.test(name))
    if (negative !== undefined) return refuse(call, `the option ${negative} looks like a negative number`)
    if (option === undefined || !optionName.test(bare(option))) {
      return refuse(call, "no parameter can have the name of this argument ([A-Za-z][A-Za-z0-9_-]*)")
    }
    const name = bare(option)
    const dest = literal(named.get("dest"))
    const aliases = [...spelled.map(bare), ...(typeof dest === "string" ? [dest] : [])]
    const spelling = isOption && option !== `--${name}` ? { option } : {}

    const actionNode = named.get("action")
    const action = actionNode === undefined
      ? "store"
      : literal(actionNode) ?? (/(?:^|\.)BooleanOptionalAction$/.test(source(actionNode)) ? "on_off" : undefined)
    const nargsNode = named.get("nargs")
    const nargs = nargsNode === undefined
      ? null
      : /(?:^|\.)OPTIONAL$/.test(source(nargsNode))
      ? "?"
      : /(?:^|\.)ZERO_OR_MORE$/.test(source(nargsNode))
      ? "*"
      : /(?:^|\.)ONE_OR_MORE$/.test(source(nargsNode))
      ? "+"
      : literal(nargsNode)
    const required = literal(named.get("required")) === true

    const made = (schema: Schema.JsonObject, form: ArgumentForm | undefined, mayDefault = false) => ({
      name,
      aliases,
      schema: described(schema, named, mayDefault && alone),
      required,
      form: form === undefined && Object.keys(spelling).length === 0 ? undefined : { ...spelling, ...form },
      flexible: "no" as const
    })

    if (action === "help" || action === "version") return undefined
    if (isOption) {
      switch (action) {
        case "store_true":
        case "store_false":
        case "store_const":
        case "append_const":
          return made({ type: "boolean" }, undefined)
        case "on_off":
          return long === undefined || !long.startsWith("--")
            ? refuse(
              call,
              "BooleanOptionalAction has no --no- for an option with one dash",
              "Give it a name like --name"
            )
            : made({ type: "boolean" }, { as: "on_off" })
        case "count":
          return made({ type: "integer", minimum: 0, maximum: maxCount }, { as: "count" })
      }
    }
    if (action !== "store" && action !== "append" && action !== "extend") {
      return refuse(
        actionNode ?? call,
        action === undefined
          ? "what this action does is computed when the script runs"
          : `a positional argument cannot have action=${JSON.stringify(action)}`
      )
    }
    const value = valueOf(named)
    if ("issue" in value) return value
    const isMany = nargs === "+" || nargs === "*" || (typeof nargs === "number" && Number.isInteger(nargs) && nargs > 0)
    if (nargs !== null && nargs !== "?" && !isMany) {
      return refuse(
        nargsNode!,
        "nargs that takes whatever is left, or is computed, cannot be filled by parameters",
        `Write nargs="*" or nargs="+"`
      )
    }
    const sizes: Schema.JsonObject = typeof nargs === "number"
      ? { minItems: nargs, maxItems: nargs }
      : nargs === "+"
      ? { minItems: 1 }
      : {}
    if (value.json && (isMany || !isOption)) {
      return refuse(call, "a list of JSON values, or one without an option, cannot be passed", byHand)
    }
    if (!isOption) {
      if (action !== "store") return refuse(call, `a positional argument cannot have action=${JSON.stringify(action)}`)
      const item = aWord(value.schema, fromFile)
      return {
        ...made(isMany ? { type: "array", items: item, ...sizes } : item, { as: "positional" }),
        required: nargs !== "?" && nargs !== "*",
        flexible: nargs === "?" ? "one" : nargs === "*" || nargs === "+" ? "many" : "no"
      }
    }
    if (action === "extend" && !isMany) {
      return refuse(call, "action=\"extend\" without nargs takes text apart, letter by letter", `Write nargs="+"`)
    }
    const words: Schema.JsonObject = {
      type: "array",
      items: aWord(value.schema, [...new Set(`-${prefixes}${fromFile}`)].join("")),
      ...sizes
    }
    if (action === "extend" && typeof nargs !== "number") {
      return made({ type: "array", items: value.schema, minItems: 1 }, undefined)
    }
    if (isMany) {
      return action === "append"
        ? made({ type: "array", items: words, minItems: 1 }, { as: "words" })
        : made(words, { as: "words" })
    }
    if (action === "append") {
      return nargs === "?"
        ? refuse(nargsNode!, "action=\"append\" with nargs=\"?\" cannot be filled by parameters", "Leave nargs out")
        : made({ type: "array", items: value.schema, minItems: 1 }, value.json ? { as: "json" } : undefined)
    }
    if (value.json) return made(value.schema, { as: "json" })
    return nargs === "?" && named.has("const")
      ? made({ anyOf: [value.schema, { const: true }] }, undefined)
      : made(value.schema, undefined, true)
  }

  const read = (): Argparse | undefined => {
    const calls: Array<{ call: SyntaxNode; method: string; on: string; keywords: Keywords }> = []
    const cursor = tree.cursor()
    do {
      if (cursor.name !== "CallExpression") continue
      const { node } = cursor
      const { method, on } = calleeOf(node, text)
      const list = node.getChild("ArgList")
      if (list !== null) calls.push({ call: node, method, on: source(on), keywords: readKeywords(list, text) })
    } while (cursor.next())

    const parsers = calls.filter(({ method }) => method === "ArgumentParser")
    const parents = new Set<string>()
    for (const { keywords: { named } } of parsers) {
      prefixes = [...new Set(prefixes + String(literal(named.get("prefix_chars")) ?? ""))].join("")
      fromFile += String(literal(named.get("fromfile_prefix_chars")) ?? "")
      const list = named.get("parents")
      if (list !== undefined) { for (const parent of childNodes(list)) parents.add(source(parent)) }
    }
    const sole = parsers.length === 1 ? literal(parsers[0]!.keywords.named.get("prefix_chars")) : undefined
    if (typeof sole === "string" && sole !== "") prefixes = sole

    const problems: Array<Problem> = []
    const second = parsers[1]
    if (second !== undefined && parsers.length - parents.size > 1) {
      problems.push(refuse(second.call, "the script has more than one parser, and only one of them gets the arguments"))
    }
    const found: Array<ScriptArgument & { readonly flexible: "no" | "one" | "many" }> = []
    /** Members of the mutually exclusive group that a variable holds. */
    const groups = new Map<string, Array<string>>()
    const requiredGroups: Array<ReadonlyArray<string>> = []
    const taken = new Set<string>()
    for (const { call, keywords, method, on } of calls) {
      const assigned = call.parent?.name === "AssignStatement" ? source(call.parent.firstChild ?? undefined) : ""
      if (method === "add_mutually_exclusive_group") {
        const members: Array<string> = []
        groups.set(assigned, members)
        if (literal(keywords.named.get("required")) === true) requiredGroups.push(members)
      } else if (assigned !== "") groups.delete(assigned)
      if (method === "add_subparsers") {
        problems.push(refuse(
          call,
          "the script has subcommands, and the parameters of each are its own",
          `${byHand}, and the subcommand as CONFIG = {"args": ["NAME"]}: a tool for each`
        ))
      }
      if (method !== "add_argument" || onOptions(on, calls, source)) continue
      const members = groups.get(on)
      const argument = readArgument(call, keywords, members === undefined)
      if (argument === undefined) continue
      if ("issue" in argument) {
        problems.push(argument)
        continue
      }
      const key = argument.name.replaceAll("_", "-")
      if (taken.has(key)) {
        problems.push(refuse(call, `two arguments would be the one parameter ${argument.name}`, "Rename one of them"))
        continue
      }
      taken.add(key)
      members?.push(argument.name)
      const before = found.filter(({ flexible }) => flexible !== "no")
      if (argument.flexible !== "no" && before.some(({ flexible }) => flexible === "many")) {
        problems.push(refuse(call, "nobody can tell where the list before this argument ends", "Make one an option"))
      }
      found.push(argument)
    }
    if (parsers.length === 0 && found.length === 0 && problems.length === 0) return undefined
    const flexible = found.filter((one) => one.flexible !== "no").map(({ name }) => name)
    const dependent = Object.fromEntries(flexible.slice(1).map((name, at) => [name, flexible.slice(0, at + 1)]))
    const anyOf = requiredGroups.map((members) => ({ anyOf: members.map((name) => ({ required: [name] })) }))
    return {
      arguments: found,
      schema: {
        type: "object",
        properties: Object.fromEntries(found.map(({ name, schema }) => [name, schema])),
        required: found.filter(({ required }) => required).map(({ name }) => name),
        ...(flexible.length > 1 ? { dependentRequired: dependent } : {}),
        ...(anyOf.length > 0 ? { allOf: anyOf } : {})
      },
      problem: problems.toSorted((a, b) => a.line - b.line)[0]
    }
  }
  return read
}

/** Browsers have an `add_argument` as well: `webdriver.ChromeOptions().add_argument("--headless")`. */
const onOptions = (
  on: string,
  calls: ReadonlyArray<{ readonly call: SyntaxNode; readonly method: string }>,
  source: (node: SyntaxNode | undefined) => string
): boolean =>
  calls.some(({ call, method }) =>
    method.endsWith("Options") && call.parent?.name === "AssignStatement" &&
    source(call.parent.firstChild ?? undefined) === on
  )

const importsArgparse = /^[ \t]*(?:import\b.*\bargparse\b|from[ \t]+argparse[ \t]+import\b)/m

/** `undefined` where the file has nothing to do with argparse. */
export const readArgparse = (tree: Tree, text: string): Argparse | undefined =>
  importsArgparse.test(text) ? makeReader(text, tree)() : undefined

/** What the config says of the parameters that argparse wants in a form of its own. */
export const argparseOptions = (argparse: Argparse): Readonly<Record<string, ArgumentForm>> =>
  Object.fromEntries(argparse.arguments.flatMap(({ form, name }) => form === undefined ? [] : [[name, form]]))

const bareName = (name: string): string => name.replaceAll("_", "-")

/** The same for a script whose parameters have a schema of their own: each is an option's by any of its names. */
export const optionsFor = (
  argparse: Argparse,
  properties: Schema.JsonObject
): Readonly<Record<string, ArgumentForm>> => {
  const known = new Map<string, ScriptArgument>()
  for (const argument of argparse.arguments) {
    for (const name of [argument.name, ...argument.aliases]) {
      if (!known.has(bareName(name))) known.set(bareName(name), argument)
    }
  }
  const forms: Record<string, ArgumentForm> = {}
  const place = (name: string, argument: ScriptArgument): void => {
    const property = properties[name]
    const type = typeof property === "object" && property !== null && !Array.isArray(property)
      ? (property as Schema.JsonObject)["type"]
      : undefined
    const isPositional = argument.form?.as === "positional"
    const { as, ...rest } = argument.form ?? {}
    const takesOne = as === undefined && argument.schema["type"] !== "array" && argument.schema["type"] !== "boolean"
    const form: ArgumentForm = {
      ...(isPositional || argument.name === name ? {} : { option: `--${argument.name}` }),
      ...rest,
      // Text that a script reads as JSON is JSON already; a list for an option that takes one value is JSON there.
      ...(as === undefined || (as === "json" && type === "string")
        ? takesOne && (type === "array" || type === "object") ? { as: "json" } : {}
        : { as })
    }
    if (Object.keys(form).length > 0) forms[name] = form
  }
  const names = Object.keys(properties)
  // Positionals in the order in which the script has them.
  for (const argument of argparse.arguments) {
    const name = names.find((one) => known.get(bareName(one)) === argument)
    if (name !== undefined) place(name, argument)
  }
  return forms
}
