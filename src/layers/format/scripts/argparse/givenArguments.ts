// Whether a script's parser reads the arguments that the script is started with, all of them.
import type { SyntaxNode } from "@lezer/common"
import type { Call } from "./pythonCalls.ts"
import { sourceOf } from "./pythonCalls.ts"
import type { PythonNames } from "./pythonNames.ts"

export const parseMethods: ReadonlySet<string> = new Set([
  "parse_args",
  "parse_known_args",
  "parse_intermixed_args",
  "parse_known_intermixed_args"
])

const maxSteps = 20
const allOfThem = /^(?:sys\.)?argv\s*\[\s*1\s*:\s*\]$/

/** Whether a value is `sys.argv[1:]`, or `None`, which means the same. */
const makeIsAll = (text: string, names: PythonNames) => {
  const known = new Map<string, boolean>()
  let steps = 0
  const follow = (node: SyntaxNode | "computed" | null | undefined): boolean => {
    if (node === "computed" || node === null || node === undefined || steps > maxSteps) return false
    const place = `${node.from}:${node.to}`
    const before = known.get(place)
    if (before !== undefined) return before
    // Breaks cycles: a variable that refers to itself is not known by that.
    known.set(place, false)
    steps++
    const all = judge(node)
    steps--
    known.set(place, all)
    return all
  }
  const judge = (node: SyntaxNode): boolean => {
    switch (node.name) {
      case "None":
        return true
      case "MemberExpression":
        return allOfThem.test(sourceOf(text, node))
      case "CallExpression":
        return /^list\(\s*sys\.argv\s*\[\s*1\s*:\s*\]\s*\)$/.test(sourceOf(text, node))
      case "ParenthesizedExpression":
        return follow(node.firstChild?.nextSibling)
      case "ConditionalExpression":
        return follow(node.firstChild) && follow(node.lastChild)
      case "BinaryExpression":
        return node.getChild("or") !== null && follow(node.firstChild) && follow(node.lastChild)
      case "VariableName": {
        const name = sourceOf(text, node)
        const found = names.parameterOf(node, name)
        // In `argv = argv or sys.argv[1:]`, the inner `argv` adds nothing.
        const assigned = names.values(name).filter((value) =>
          value === "computed"
            ? found === undefined
            : !(value.from <= node.from && node.to <= value.to) && names.parameterOf(value, name)?.of === found?.of
        )
        const passed = found === undefined ? [] : names.passed(found.of, found.parameter)
        const fallback = found !== undefined && passed.length === 0 ? [found.parameter.default] : []
        const all = [...assigned, ...passed, ...fallback]
        return all.length > 0 && all.every(follow)
      }
      default:
        return false
    }
  }
  return follow
}

/** The argument of a `parse_args` call that replaces the script's own arguments. */
export const makeOtherArguments = (text: string, names: PythonNames) => {
  const isAll = makeIsAll(text, names)
  return ({ arguments: { named, positional, unpacked }, node }: Call): SyntaxNode | undefined => {
    if (unpacked) return node
    const given = positional[0] ?? named.get("args")
    return given === undefined || isAll(given) ? undefined : given
  }
}
