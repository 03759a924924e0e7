// Which objects of a Python file are argparse parsers. Other objects also have a method `add_argument`: a browser's
// options, or a class of the script itself.
import type { SyntaxNode } from "@lezer/common"
import type { Call } from "./pythonCalls.ts"
import { members, nodesIn, readCall, sourceOf } from "./pythonCalls.ts"
import type { PythonNames, ScriptFunction } from "./pythonNames.ts"

/** `unknown`: it cannot be determined without running the script. */
export type Kind = "parser" | "other" | "unknown"

const makers: ReadonlySet<string> = new Set(["add_argument_group", "add_mutually_exclusive_group", "add_parser"])
const parserType = /^["']?(?:\w+\.)?(?:ArgumentParser|_ArgumentGroup|_ActionsContainer|_MutuallyExclusiveGroup)\b/
const maxSteps = 6

const agree = (kinds: ReadonlyArray<Kind>): Kind => {
  const [first = "unknown"] = kinds
  return kinds.every((kind) => kind === first) ? first : "unknown"
}

export interface Parsers {
  /** Whether calling this makes a parser: `ArgumentParser`, under any name, or a subclass in the file. */
  readonly makes: (method: string) => boolean
  readonly kindOf: (node: SyntaxNode | undefined) => Kind
  /** The function whose parameter the object is, if it is one. */
  readonly handedTo: (node: SyntaxNode | undefined) => ScriptFunction | undefined
}

export const makeParsers = (text: string, names: PythonNames): Parsers => {
  const other = /\bArgumentParser\s+as\s+(\w+)/.exec(text)?.[1]
  const basesOf = (node: SyntaxNode): ReadonlyArray<string> => {
    const list = node.getChild("ArgList")
    return list === null ? [] : members(list).map((base) => sourceOf(text, base).split(".").at(-1)!)
  }
  const makes = (method: string, steps = 0): boolean => {
    if (method === "ArgumentParser" || (other !== undefined && method === other)) return true
    const own = names.classes.get(method)
    return own !== undefined && steps < maxSteps && basesOf(own).some((base) => makes(base, steps + 1))
  }
  const kindOfClass = (name: string): Kind => {
    const own = names.classes.get(name)
    if (makes(name)) return "parser"
    if (name.endsWith("Options")) return "other"
    return own !== undefined && basesOf(own).every((base) => base === "object" || kindOfClass(base) === "other")
      ? "other"
      : "unknown"
  }

  const kindOfCall = ({ method, on }: Call, steps: number): Kind => {
    if (makers.has(method)) return kindOf(on, steps + 1) === "other" ? "other" : "parser"
    const own = names.functions.find((one) => one.name === method)
    if (own === undefined || names.classes.has(method)) return kindOfClass(method)
    const kinds = nodesIn(own.node, "ReturnStatement").map((node) => kindOf(node.firstChild?.nextSibling, steps + 1))
    return kinds.includes("parser") ? "parser" : agree(kinds)
  }

  const known = new Map<string, Kind>()
  const kindOf = (node: SyntaxNode | null | undefined, steps = 0): Kind => {
    if (node === null || node === undefined || steps > maxSteps || node.to - node.from > 500) return "unknown"
    const owner = names.parameterOf(node, sourceOf(text, node))?.of.node.from ?? ""
    const key = `${owner}:${sourceOf(text, node)}`
    const before = known.get(key)
    if (before !== undefined) return before
    // Breaks cycles: a name that refers to itself is not known by that.
    known.set(key, "unknown")
    const kind = judge(node, steps)
    known.set(key, kind)
    return kind
  }
  const judge = (node: SyntaxNode, steps: number): Kind => {
    if (node.name === "CallExpression") {
      const call = readCall(node, text)
      return call === undefined ? "unknown" : kindOfCall(call, steps)
    }
    const name = sourceOf(text, node)
    const found = names.parameterOf(node, name)
    if (found === undefined) {
      return agree(names.values(name).map((value) => value === "computed" ? "unknown" : kindOf(value, steps + 1)))
    }
    const { of, parameter } = found
    const owner = of.parameters[0] === parameter ? of.owner : undefined
    if (owner !== undefined) return kindOfClass(sourceOf(text, owner.getChild("VariableName")))
    if (parserType.test(parameter.type)) return "parser"
    if (/Options["']?$/.test(parameter.type)) return "other"
    return agree(
      names.passed(of, parameter).map((value) => value === "computed" ? "unknown" : kindOf(value, steps + 1))
    )
  }

  return {
    makes,
    kindOf,
    handedTo: (node) => {
      const found = node?.name === "VariableName" ? names.parameterOf(node, sourceOf(text, node)) : undefined
      return found === undefined || found.of.owner !== undefined ? undefined : found.of
    }
  }
}
