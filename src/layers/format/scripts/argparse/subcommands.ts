// Which parser of a script with subcommands accepts an option: after the subcommand, only the subcommand's own.
import type { SyntaxNode } from "@lezer/common"
import type { Arguments, Call } from "./pythonCalls.ts"
import { members, readCall, sourceOf } from "./pythonCalls.ts"
import type { PythonNames } from "./pythonNames.ts"
import type { makeReadLiteral } from "./readArgument.ts"

export interface Misplaced {
  /** Where the option is added. */
  readonly from: number
  readonly subcommand: string
  /** The other subcommand that accepts the option; "" if it is an option of the script's own parser. */
  readonly owner: string
}

/** Finds an option passed after these words, one of which is a subcommand. Undefined: it is accepted, or not known. */
export type FindMisplaced = (words: ReadonlyArray<string>, option: string) => Misplaced | undefined

interface AddArgument {
  readonly node: SyntaxNode
  readonly on: SyntaxNode | undefined
  readonly arguments: Arguments
}

const groups: ReadonlySet<string> = new Set(["add_argument_group", "add_mutually_exclusive_group"])
const maxSteps = 6

/** Undefined if the script has no subcommands, or nested ones. */
export const readSubcommands = (
  text: string,
  calls: ReadonlyArray<Call>,
  names: PythonNames,
  added: ReadonlyArray<AddArgument>,
  literal: ReturnType<typeof makeReadLiteral>
): FindMisplaced | undefined => {
  const [split, another] = calls.filter(({ method }) => method === "add_subparsers")
  if (split === undefined || another !== undefined) return undefined
  const main = sourceOf(text, split.on)

  /** The first name of a subcommand; "" for the script's own parser. */
  const ownerOf = (on: SyntaxNode | undefined, steps = 0): string | undefined => {
    if (on === undefined || steps > maxSteps) return undefined
    if (on.name === "CallExpression") {
      const call = readCall(on, text)
      if (call !== undefined && groups.has(call.method)) return ownerOf(call.on, steps + 1)
      const name = call?.method === "add_parser" ? literal(call.arguments.positional[0]) : undefined
      return typeof name === "string" ? name : undefined
    }
    const source = sourceOf(text, on)
    const [value, other] = names.values(source)
    if (names.parameterOf(on, source) !== undefined || value === undefined || value === "computed") return undefined
    return other !== undefined ? undefined : source === main ? "" : ownerOf(value, steps + 1)
  }

  const known = new Map<string, string>()
  const unsure = new Set<string>()
  for (const { arguments: { named, positional }, method } of calls) {
    const name = method === "add_parser" ? literal(positional[0]) : undefined
    if (typeof name !== "string") continue
    const aliases = literal(named.get("aliases"))
    for (const word of [name, ...(Array.isArray(aliases) ? aliases : [])]) {
      if (typeof word === "string") known.set(word, name)
    }
    const parents = named.get("parents")
    const isListed = parents === undefined || /^(?:Array|Tuple)Expression$/.test(parents.name)
    if (!isListed || (parents !== undefined && members(parents).some((one) => ownerOf(one) !== undefined))) {
      unsure.add(name)
    }
  }
  // A function of another file may add any argument to a parser that it is passed.
  for (const { arguments: { named, positional }, method } of calls) {
    if (names.functions.some((one) => one.name === method)) continue
    for (const given of [...positional, ...named.values()]) {
      const owner = ownerOf(given)
      if (owner !== undefined) unsure.add(owner)
    }
  }

  return (words, option) => {
    const at = words.findIndex((word) => known.has(word))
    const subcommand = known.get(words[at] ?? "")
    const isFirst = words.slice(0, at).every((word) => /^-[^=]*=/.test(word))
    if (subcommand === undefined || unsure.has(subcommand) || !isFirst) return undefined
    let found: Misplaced | undefined
    for (const { arguments: { positional, unpacked }, node, on } of added) {
      const owner = ownerOf(on)
      const spelled = unpacked || positional.length === 0 ? [undefined] : positional.map(literal)
      if (owner === undefined || owner === subcommand) {
        if (!spelled.every((one) => typeof one === "string" && !one.startsWith(option))) return undefined
      } else if (spelled.includes(option)) found ??= { from: node.from, subcommand, owner }
    }
    return found
  }
}
