// Finds TypeScript that Node cannot run: Node only erases types and does not compile anything.
import type { SyntaxNode, Tree } from "@lezer/common"
import { problemAt } from "../../../services/format/Metadata.ts"
import type { Problem } from "../../../services/format/Metadata.ts"

const isAmbient = (node: SyntaxNode): boolean => {
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    if (at.name === "AmbientDeclaration" || at.getChild("declare") !== null) return true
  }
  return false
}

const typesOnly: ReadonlySet<string> = new Set([
  "{",
  "}",
  ";",
  "LineComment",
  "BlockComment",
  "TypeAliasDeclaration",
  "InterfaceDeclaration"
])

/** A namespace with only types is erased too. */
const holdsValues = (block: SyntaxNode | null): boolean => {
  for (let child = block?.firstChild ?? null; child !== null; child = child.nextSibling) {
    const inner = child.name === "ExportDeclaration" ? child.firstChild?.nextSibling ?? child : child
    if (inner.name === "NamespaceDeclaration" ? holdsValues(inner.getChild("Block")) : !typesOnly.has(inner.name)) {
      return true
    }
  }
  return false
}

const isConstructor = (list: SyntaxNode, text: string): boolean => {
  const name = list.parent?.getChild("PropertyDefinition")
  return name !== null && name !== undefined && text.slice(name.from, name.to) === "constructor"
}

const remedy = (node: SyntaxNode, text: string): readonly [what: string, hint: string] | undefined => {
  switch (node.name) {
    case "EnumDeclaration":
      return isAmbient(node) ? undefined : ["an enum", "Write const Name = { A: 0, B: 1 } as const"]
    case "NamespaceDeclaration":
      if (node.getChild("module") !== null) return ["the keyword module", "Write namespace in its place"]
      return isAmbient(node) || !holdsValues(node.getChild("Block"))
        ? undefined
        : ["a namespace with values", "Write a module of its own, or an object"]
    case "PropertyDeclaration":
      return node.getChild("accessor") === null || isAmbient(node)
        ? undefined
        : ["an accessor", "Write get and set, or a plain property"]
    case "Decorator":
      return ["a decorator", "Call the function that it names"]
    case "ParamList": {
      const modifier = ["Privacy", "readonly", "override"].some((name) => node.getChild(name) !== null)
      return modifier && isConstructor(node, text)
        ? ["a parameter that declares a property", "Declare the property, and assign it in the constructor"]
        : undefined
    }
    case "ExportDeclaration":
      return node.getChild("Equals") === null ? undefined : ["export =", "Write export default"]
    case "PrefixCast":
      return ["a cast in angle brackets", "Write value as Type"]
    default:
      return undefined
  }
}

const importEquals = /^[ \t]*(?:export[ \t]+)?import[ \t]+(?!type[ \t])[\w$]+[ \t]*=/

/** `firstError`: the first place that the grammar does not know, if any. */
export const checkErasable = (tree: Tree, text: string, firstError: Problem | undefined): Problem | undefined => {
  if (firstError !== undefined && importEquals.test(firstError.found)) {
    return {
      ...firstError,
      issue: "Node cannot run import =: it takes types away and translates nothing",
      hint: "Write import x from \"y\", or const x = …"
    }
  }
  let problem: Problem | undefined
  tree.iterate({
    enter: ({ node }) => {
      if (problem !== undefined) return false
      const found = remedy(node, text)
      if (found === undefined) return undefined
      const [what, hint] = found
      problem = problemAt(text, node.from, `Node cannot run ${what}: it takes types away and translates nothing`, hint)
      return false
    }
  })
  return problem
}
