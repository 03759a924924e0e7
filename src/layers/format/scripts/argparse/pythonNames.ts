// What a name in a Python file refers to, according to its assignments, functions and calls.
import type { SyntaxNode, Tree } from "@lezer/common"
import type { Call } from "./pythonCalls.ts"
import { members, nodesOf, sourceOf } from "./pythonCalls.ts"

export interface Parameter {
  readonly name: string
  /** Source of its annotation; "" without one. */
  readonly type: string
  readonly default: SyntaxNode | undefined
}

export interface ScriptFunction {
  readonly node: SyntaxNode
  readonly name: string
  readonly parameters: ReadonlyArray<Parameter>
  /** The class whose method it is. */
  readonly owner: SyntaxNode | undefined
}

const readParameters = (list: SyntaxNode | null, text: string): ReadonlyArray<Parameter> => {
  const found: Array<{ name: string; type: string; default: SyntaxNode | undefined }> = []
  const parts = list === null ? [] : members(list)
  for (const [index, part] of parts.entries()) {
    const last = found.at(-1)
    if (part.name === "TypeDef" && last !== undefined) last.type = sourceOf(text, part).replace(/^:\s*/, "")
    else if (parts[index - 1]?.name === "AssignOp" && last !== undefined) last.default = part
    else if (part.name === "VariableName") found.push({ name: sourceOf(text, part), type: "", default: undefined })
  }
  return found
}

const readFunction = (node: SyntaxNode, text: string): ScriptFunction => {
  const body = node.parent?.name === "DecoratedStatement" ? node.parent.parent : node.parent
  return {
    node,
    name: sourceOf(text, node.getChild("VariableName")),
    parameters: readParameters(node.getChild("ParamList"), text),
    owner: body?.parent?.name === "ClassDefinition" ? body.parent : undefined
  }
}

/** "computed": assigned in another way than by `name = value`, such as a tuple target or a loop variable. */
type Value = SyntaxNode | "computed"

/** Nobody writes more by hand; code that is made to be slow to analyse is not followed. */
const few = <A>(all: ReadonlyArray<A>): ReadonlyArray<A | "computed"> => all.length > 100 ? ["computed"] : all

export interface PythonNames {
  readonly functions: ReadonlyArray<ScriptFunction>
  readonly classes: ReadonlyMap<string, SyntaxNode>
  /** By the source text of the target: `p`, `self.parser`. */
  readonly values: (target: string) => ReadonlyArray<Value>
  /** The function around a node that has this name as a parameter. */
  readonly parameterOf: (
    at: SyntaxNode,
    name: string
  ) => { readonly of: ScriptFunction; readonly parameter: Parameter } | undefined
  /** The values that the file's calls pass for a parameter: its default if a call omits it. */
  readonly passed: (of: ScriptFunction, parameter: Parameter) => ReadonlyArray<Value>
  readonly callsOf: (of: ScriptFunction) => ReadonlyArray<Call>
  /** Whether anything besides its own definition names it. */
  readonly isNamed: (name: string) => boolean
  /** How often it occurs in the file, not counting its definition as a function. */
  readonly uses: (name: string) => number
  /** Where a block is left by `return` or a similar statement: nothing after it in the block runs. */
  readonly endOf: (block: SyntaxNode) => number
}

const leaves = ["ReturnStatement", "RaiseStatement", "BreakStatement", "ContinueStatement"]

export const readNames = (tree: Tree, text: string, calls: ReadonlyArray<Call>): PythonNames => {
  const values = new Map<string, Array<Value>>()
  const assign = (target: string, value: Value) => {
    const known = values.get(target)
    if (known === undefined) values.set(target, [value])
    else known.push(value)
  }
  for (const node of nodesOf(tree, "AssignStatement", "UpdateStatement", "NamedExpression")) {
    const parts: Array<SyntaxNode> = []
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (child.name !== "TypeDef" && child.name !== "Comment") parts.push(child)
    }
    const isOperator = (part: SyntaxNode | undefined) => /^(?:AssignOp|UpdateOp|:=)$/.test(part?.name ?? "")
    const last = parts.findLastIndex(isOperator)
    const isPlain = node.name !== "UpdateStatement" && parts.length - last === 2
    for (const [index, part] of parts.slice(0, last).entries()) {
      if (isOperator(part) || part.name === ",") continue
      const alone = (index === 0 || isOperator(parts[index - 1])) && isOperator(parts[index + 1])
      assign(sourceOf(text, part), isPlain && alone ? parts[last + 1]! : "computed")
    }
  }
  for (const node of nodesOf(tree, "ForStatement", "WithStatement", "ImportStatement", "DeleteStatement")) {
    for (let child = node.firstChild; child !== null && child.name !== "Body"; child = child.nextSibling) {
      if (child.name === "VariableName") assign(sourceOf(text, child), "computed")
    }
  }
  const functions = nodesOf(tree, "FunctionDefinition").map((node) => readFunction(node, text))
  const byNode = new Map(functions.map((one) => [one.node.from, one]))
  const classes = new Map(
    nodesOf(tree, "ClassDefinition").map((node) => [sourceOf(text, node.getChild("VariableName")), node])
  )
  const endings = new Map<string, number>()
  for (const { from, parent } of nodesOf(tree, ...leaves)) {
    const block = `${parent?.from}:${parent?.to}`
    endings.set(block, Math.min(from, endings.get(block) ?? from))
  }
  const byMethod = Map.groupBy(calls, ({ method }) => method)
  const callsOf = (of: ScriptFunction) =>
    (byMethod.get(of.name) ?? []).filter(({ on }) => (on === undefined) === (of.owner === undefined))
  const uses = new Map<string, number>()
  for (const node of nodesOf(tree, "VariableName", "PropertyName")) {
    const name = node.parent?.name === "FunctionDefinition" ? "" : sourceOf(text, node)
    uses.set(name, (uses.get(name) ?? 0) + 1)
  }
  return {
    functions,
    classes,
    values: (target) => few(values.get(target) ?? []),
    parameterOf: (at, name) => {
      for (let node = at.parent; node !== null; node = node.parent) {
        const of = node.name === "FunctionDefinition" ? byNode.get(node.from) : undefined
        const parameter = of?.parameters.find((one) => one.name === name)
        if (of !== undefined && parameter !== undefined) return { of, parameter }
      }
      return undefined
    },
    passed: (of, parameter) =>
      few(callsOf(of)).map((call) => {
        if (call === "computed" || call.arguments.unpacked) return "computed"
        const { named, positional } = call.arguments
        const place = of.parameters.indexOf(parameter) - (of.owner === undefined ? 0 : 1)
        return named.get(parameter.name) ?? positional[place] ?? parameter.default ?? "computed"
      }),
    callsOf,
    isNamed: (name) => uses.has(name),
    uses: (name) => uses.get(name) ?? 0,
    endOf: (block) => endings.get(`${block.from}:${block.to}`) ?? block.to
  }
}
