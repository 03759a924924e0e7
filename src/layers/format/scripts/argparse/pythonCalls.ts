// Calls in a Python file and their arguments, from its syntax tree.
import type { SyntaxNode, Tree } from "@lezer/common"

export interface Arguments {
  readonly positional: ReadonlyArray<SyntaxNode>
  readonly named: ReadonlyMap<string, SyntaxNode>
  /** `*args` or `**kwargs`. */
  readonly unpacked: boolean
}

export interface Call {
  readonly node: SyntaxNode
  /** The last name of the callee: `add_argument` of `group.add_argument`. */
  readonly method: string
  /** The object of the call: `group`. */
  readonly on: SyntaxNode | undefined
  readonly arguments: Arguments
}

export const sourceOf = (text: string, node: SyntaxNode | null | undefined): string =>
  node === null || node === undefined ? "" : text.slice(node.from, node.to)

/** The members of a list, a tuple or a call: without brackets, commas and comments. */
export const members = (node: SyntaxNode): ReadonlyArray<SyntaxNode> => {
  const nodes: Array<SyntaxNode> = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (!["(", ")", "[", "]", ",", "Comment"].includes(child.name)) nodes.push(child)
  }
  return nodes
}

const readArguments = (list: SyntaxNode, text: string): Arguments => {
  const parts = members(list)
  const positional: Array<SyntaxNode> = []
  const named = new Map<string, SyntaxNode>()
  let unpacked = false
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    if (part.name === "*" || part.name === "**") {
      unpacked = true
      i++
    } else if (parts[i + 1]?.name === "AssignOp" && parts[i + 2] !== undefined) {
      named.set(sourceOf(text, part), parts[i + 2]!)
      i += 2
    } else positional.push(part)
  }
  return { positional, named, unpacked }
}

export const readCall = (node: SyntaxNode, text: string): Call | undefined => {
  const list = node.getChild("ArgList")
  const callee = node.firstChild
  if (node.name !== "CallExpression" || list === null || callee === null) return undefined
  const isMember = callee.name === "MemberExpression"
  return {
    node,
    method: sourceOf(text, isMember ? callee.lastChild : callee),
    on: isMember ? callee.firstChild ?? undefined : undefined,
    arguments: readArguments(list, text)
  }
}

export const nodesIn = (within: SyntaxNode, ...names: ReadonlyArray<string>): ReadonlyArray<SyntaxNode> => {
  const found: Array<SyntaxNode> = []
  within.cursor().iterate(({ name, node }) => {
    if (names.includes(name)) found.push(node)
  })
  return found
}

export const nodesOf = (tree: Tree, ...names: ReadonlyArray<string>): ReadonlyArray<SyntaxNode> =>
  nodesIn(tree.topNode, ...names)

export const readCalls = (tree: Tree, text: string): ReadonlyArray<Call> =>
  nodesOf(tree, "CallExpression").flatMap((node) => readCall(node, text) ?? [])
