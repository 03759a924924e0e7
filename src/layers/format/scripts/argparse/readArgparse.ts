// What a Python script expects on its command line, from its literal argparse calls: a schema for its parameters, and
// the form that argparse needs for each. A call that cannot be read, or that parameters cannot fill, is a problem with
// its line: such a script is not signed unless it declares its parameters itself.
import type { SyntaxNode, Tree } from "@lezer/common"
import type { Schema } from "effect"
import { problemAt } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import { makeOtherArguments, parseMethods } from "./givenArguments.ts"
import { makeParsers, type Parsers } from "./parsers.ts"
import type { Arguments, Call } from "./pythonCalls.ts"
import { members, nodesOf, readCalls, sourceOf } from "./pythonCalls.ts"
import { type PythonNames, readNames } from "./pythonNames.ts"
import { makeReachability, type Reachability } from "./reachability.ts"
import {
  byHand,
  makeReadArgument,
  makeReadLiteral,
  type ParserSettings,
  type Refusal,
  type ScriptArgument
} from "./readArgument.ts"
import { type FindMisplaced, readSubcommands } from "./subcommands.ts"

export interface Argparse {
  readonly arguments: ReadonlyArray<ScriptArgument>
  readonly schema: Schema.JsonObject
  /** The first problem that prevents a call. */
  readonly problem: Problem | undefined
  /** The variable with the arguments that the parser does not know, if the script uses it; else "". */
  readonly rest: string
  /** Whether unknown arguments are allowed: `parse_known_args`. */
  readonly knownOnly: boolean
  /** Where the parser is created. */
  readonly at: number
  /** Absent if the script has no subcommands, or if their arguments are not known. */
  readonly misplaced?: FindMisplaced | undefined
}

interface AddArgument {
  readonly node: SyntaxNode
  readonly on: SyntaxNode | undefined
  readonly arguments: Arguments
}

/** Names of argparse internals: a script that uses them can change what its `add_argument` calls accept. */
const reachesInto: ReadonlySet<string> = new Set([
  "_actions",
  "_option_string_actions",
  "_positionals",
  "_optionals",
  "_add_action",
  "_remove_action",
  "_registries"
])

const mayBeSet = /^(?:completer)$/

const computed = "so Kiwi cannot read which arguments the script takes"

/** Whether the return value of `add_argument` is changed afterwards. */
const isChanged = (call: SyntaxNode, text: string, changed: ReadonlySet<string>): boolean => {
  const { parent } = call
  switch (parent?.name) {
    case "ExpressionStatement":
    case "ReturnStatement":
    case "Script":
    case "Body":
      return false
    case "AssignStatement":
      return changed.has(sourceOf(text, parent.firstChild))
    case "MemberExpression":
      return !mayBeSet.test(sourceOf(text, parent.lastChild))
    default:
      return true
  }
}

/** Names that have an attribute set: `action.nargs = "+"`, `setattr(action, …)`. */
const readChanged = (tree: Tree, text: string, calls: ReadonlyArray<Call>): ReadonlySet<string> =>
  new Set([
    ...nodesOf(tree, "AssignStatement", "UpdateStatement").flatMap(({ firstChild: target }) =>
      target?.name === "MemberExpression" && target.lastChild?.name === "PropertyName" &&
        !mayBeSet.test(sourceOf(text, target.lastChild))
        ? [sourceOf(text, target.firstChild)]
        : []
    ),
    ...calls.filter(({ method }) => method === "setattr").map((call) => sourceOf(text, call.arguments.positional[0]))
  ])

/** Calls of `add_argument`, under any name, and other mentions of it. */
const readAdded = (tree: Tree, text: string, calls: ReadonlyArray<Call>, names: PythonNames, parsers: Parsers) => {
  const aliases = new Map<string, SyntaxNode>()
  const mentions: Array<SyntaxNode> = []
  for (const node of nodesOf(tree, "PropertyName")) {
    const member = node.parent
    if (sourceOf(text, node) !== "add_argument" || member === null || member.parent === null) continue
    if (member.parent.name === "CallExpression" && member.parent.firstChild?.from === member.from) continue
    if (parsers.kindOf(member.firstChild ?? undefined) === "other") continue
    const target = member.parent.name === "AssignStatement" ? sourceOf(text, member.parent.firstChild) : ""
    if (target !== "" && names.values(target).length === 1 && names.values(target)[0] !== "computed") {
      aliases.set(target, member.firstChild!)
    } else mentions.push(node)
  }
  for (const node of nodesOf(tree, "String")) {
    if (/^["']add_argument["']$/.test(sourceOf(text, node)) && node.parent?.name === "ArgList") mentions.push(node)
  }
  const added = calls.flatMap(({ arguments: given, method, node, on }): ReadonlyArray<AddArgument> => {
    const alias = aliases.get(on === undefined ? method : `${sourceOf(text, on)}.${method}`)
    return alias !== undefined
      ? [{ node, on: alias, arguments: given }]
      : on !== undefined && method === "add_argument"
      ? [{ node, on, arguments: given }]
      : []
  })
  return { added, mentions }
}

/** Lines that Kiwi's grammar does not know may contain anything. One that names the parser cannot be skipped. */
export const unreadMention = (tree: Tree, text: string, word: RegExp): number | undefined => {
  for (const match of text.matchAll(word)) {
    if (tree.resolveInner(match.index, 1).name === "Script") return match.index
  }
  return undefined
}

const argparseWords = /\b(?:add_argument|ArgumentParser|add_subparsers|parse_(?:known_)?(?:intermixed_)?args)\b/g

/** The variable in which the remaining arguments of `parse_known_args` are used. */
const restOf = ({ node }: Call, text: string, names: PythonNames): string => {
  const parts = node.parent?.name === "AssignStatement" ? node.parent : undefined
  const [, rest] = parts === undefined ? [] : parts.getChildren("VariableName")
  const name = sourceOf(text, rest)
  return rest === undefined || name.startsWith("_") || names.uses(name) < 2 ? "" : name
}

const readSettings = (
  parsers: ReadonlyArray<Call>,
  calls: ReadonlyArray<Call>,
  literal: ReturnType<typeof makeReadLiteral>
): ParserSettings => {
  const given = (key: string) =>
    parsers.map((call) => literal(call.arguments.named.get(key)))
      .filter((value) => typeof value === "string" && value !== "").join("")
  const own = given("prefix_chars")
  return {
    prefixes: [...new Set(parsers.length === 1 && own !== "" ? own : `-${own}`)].join(""),
    fromFile: given("fromfile_prefix_chars"),
    changesDefaults: calls.some(({ method }) => method === "set_defaults")
  }
}

const readScript = (tree: Tree, text: string, isEntry: boolean): Argparse | undefined => {
  const literal = makeReadLiteral(text)
  const calls = readCalls(tree, text)
  const own = readNames(tree, text, calls)
  // Other files may call everything in this one.
  const names = isEntry ? own : { ...own, isNamed: () => true }
  const parsers = makeParsers(text, names)
  const made = calls.filter(({ method }) => parsers.makes(method))
  const problems: Array<Refusal> = []
  const refuse = ({ from }: { readonly from: number }, issue: string, hint = byHand): void => {
    problems.push({ from, issue, hint })
  }

  const parents = new Set(made.flatMap(({ arguments: { named } }) => {
    const list = named.get("parents")
    return list === undefined ? [] : members(list).map((parent) => sourceOf(text, parent))
  }))
  if (made.length - parents.size > 1) {
    refuse(made[1]!.node, "the script has more than one parser, and only one of them gets the arguments")
  }

  const { added, mentions } = readAdded(tree, text, calls, names, parsers)
  for (const mention of mentions) refuse(mention, `add_argument is passed on here, ${computed}`)
  for (const node of nodesOf(tree, "PropertyName")) {
    if (reachesInto.has(sourceOf(text, node))) refuse(node, `the parser is changed from within, ${computed}`)
  }

  const reachabilityOf = makeReachability(text, names)
  const called = new Map<number, Reachability>()
  /** A helper function that is passed the parser adds its arguments where it is called. */
  const reachabilityIn = (node: SyntaxNode, on: SyntaxNode | undefined): Reachability => {
    const here = reachabilityOf(node)
    const helper = here._tag === "Runs" ? parsers.handedTo(on) : undefined
    if (helper === undefined) return here
    const known = called.get(helper.node.from)
    if (known !== undefined) return known
    const there = names.callsOf(helper).map((call) => reachabilityOf(call.node))
    const reachability = there.length === 0 || there.some(({ _tag }) => _tag === "Runs")
      ? here
      : there.find(({ _tag }) => _tag === "Unsure") ?? there[0]!
    called.set(helper.node.from, reachability)
    return reachability
  }

  const readArgument = makeReadArgument(text, readSettings(made, calls, literal))
  const changed = readChanged(tree, text, calls)
  const found: Array<ScriptArgument> = []
  /** Members of the mutually exclusive group in a variable. */
  const groups = new Map<string, Array<string>>()
  const requiredGroups: Array<ReadonlyArray<string>> = []
  const taken = new Set<string>()
  let block: number | undefined
  const readAddArgument = ({ arguments: given, node, on }: AddArgument): void => {
    const kind = parsers.kindOf(on)
    if (kind === "other") return
    const group = groups.get(sourceOf(text, on))
    const argument = readArgument(node, given, group === undefined)
    if (argument === undefined) return
    const reachability = reachabilityIn(node, on)
    if (reachability._tag === "Dead") return
    if ("issue" in argument) {
      problems.push(argument)
      return
    }
    if (kind === "unknown") refuse(node, "Kiwi cannot tell whether this is a parser of argparse")
    if (reachability._tag === "Unsure") refuse(node, `the argument ${argument.name} is added ${reachability.why}`)
    if (isChanged(node, text, changed)) {
      refuse(node, `the argument ${argument.name} is changed after it was added, ${computed}`)
    }
    const key = argument.name.replaceAll("_", "-")
    if (taken.has(key)) {
      return refuse(node, `two arguments would be the one parameter ${argument.name}`, "Rename one of them")
    }
    taken.add(key)
    group?.push(argument.name)
    if (argument.flexible !== "no" && found.some(({ flexible }) => flexible === "many")) {
      refuse(node, "it is unclear where the list before this argument ends", "Make one an option")
    }
    if (argument.form?.as === "positional") {
      const around = functionAround(node)
      if (block !== undefined && block !== around) {
        refuse(
          node,
          "the order of the positional arguments depends on the order of function calls",
          "Make one an option"
        )
      }
      block = around
    }
    found.push(argument)
  }
  const byNode = new Map(added.map((one) => [placeOf(one.node), one]))
  for (const { arguments: { named }, method, node } of calls) {
    const assigned = node.parent?.name === "AssignStatement" ? sourceOf(text, node.parent.firstChild) : ""
    if (method === "add_mutually_exclusive_group") {
      const list: Array<string> = []
      groups.set(assigned, list)
      if (literal(named.get("required")) === true) requiredGroups.push(list)
    } else if (assigned !== "") groups.delete(assigned)
    if (method === "add_subparsers") {
      refuse(
        node,
        "the script has subcommands, each with its own parameters",
        `${byHand}, and the subcommand as CONFIG = {"args": ["NAME"]}: a tool for each`
      )
    }
    const one = byNode.get(placeOf(node))
    if (one !== undefined) readAddArgument(one)
  }
  if (made.length === 0 && found.length === 0 && problems.length === 0) return undefined

  let rest = ""
  const otherArguments = makeOtherArguments(text, names)
  const parsing = calls.filter(({ method, on }) => parseMethods.has(method) && on !== undefined)
  for (const call of parsing) {
    const other = otherArguments(call)
    if (other !== undefined) {
      refuse(
        other,
        "the script's parser reads other arguments than those that the script is started with",
        `Write parse_args() without an argument. ${byHand} otherwise`
      )
    }
    if (call.method.startsWith("parse_known")) rest ||= restOf(call, text, names)
  }
  if (isEntry && parsing.length === 0) {
    refuse(made[0]?.node ?? { from: 0 }, "the script has a parser, and nothing in it calls parse_args")
  }
  const unread = unreadMention(tree, text, argparseWords)
  if (unread !== undefined) refuse({ from: unread }, `Kiwi does not know the syntax around this, ${computed}`)

  const knownOnly = parsing.some(({ method }) => method.startsWith("parse_known"))
  const isReadable = mentions.length === 0 && unread === undefined && !knownOnly
  const [first] = problems.toSorted((a, b) => a.from - b.from)
  const flexible = found.filter((one) => one.flexible !== "no").map(({ name }) => name)
  const dependent = Object.fromEntries(flexible.slice(1).map((name, at) => [name, flexible.slice(0, at + 1)]))
  const anyOf = requiredGroups.map((group) => ({ anyOf: group.map((name) => ({ required: [name] })) }))
  return {
    arguments: found,
    schema: {
      type: "object",
      properties: Object.fromEntries(found.map(({ name, schema }) => [name, schema])),
      required: found.filter(({ required }) => required).map(({ name }) => name),
      ...(flexible.length > 1 ? { dependentRequired: dependent } : {}),
      ...(anyOf.length > 0 ? { allOf: anyOf } : {})
    },
    problem: first === undefined ? undefined : problemAt(text, first.from, first.issue, first.hint),
    rest,
    knownOnly,
    at: made[0]?.node.from ?? 0,
    misplaced: isReadable ? readSubcommands(text, calls, names, added, literal) : undefined
  }
}

const placeOf = ({ from, to }: SyntaxNode): string => `${from}:${to}`

const functionAround = (node: SyntaxNode): number => {
  for (let at = node.parent; at !== null; at = at.parent) if (at.name === "FunctionDefinition") return at.from
  return -1
}

const importsArgparse = /^[ \t]*(?:import\b.*\bargparse\b|from[ \t]+argparse[ \t]+import\b)/m

/**
 * Undefined if the file does not use argparse. `isEntry`: whether it is the file that runs, and not one that it
 * imports.
 */
export const readArgparse = (tree: Tree, text: string, isEntry = true): Argparse | undefined =>
  importsArgparse.test(text) ? readScript(tree, text, isEntry) : undefined
