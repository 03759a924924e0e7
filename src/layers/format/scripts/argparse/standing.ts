// Whether a line of a Python script runs whenever the script does.
import type { SyntaxNode } from "@lezer/common"
import { sourceOf } from "./pythonCalls.ts"
import type { PythonNames } from "./pythonNames.ts"

export type Standing =
  | { readonly _tag: "Runs" }
  /** `if False:`, or behind a `return`. */
  | { readonly _tag: "Dead" }
  | { readonly _tag: "Unsure"; readonly why: string }

const runs: Standing = { _tag: "Runs" }
const dead: Standing = { _tag: "Dead" }
const unsure = (why: string): Standing => ({ _tag: "Unsure", why })

const never = /^\(?(?:False|0|None|""|''|(?:\w+\.)?TYPE_CHECKING)\)?$/
const always = /^\(?(?:True|1|__name__\s*==\s*["']__main__["']|["']__main__["']\s*==\s*__name__)\)?$/

/** What an `if` says of one of its blocks. */
const inBranch = (branches: SyntaxNode, block: SyntaxNode, text: string): Standing => {
  let before: Standing = dead
  let test = ""
  for (let child = branches.firstChild; child !== null; child = child.nextSibling) {
    if (child.name === "Body") {
      const here = test === "" || always.test(test) ? runs : never.test(test) ? dead : unsure("under a condition")
      if (child.from === block.from) {
        return before._tag === "Dead" ? here : before._tag === "Runs" ? dead : unsure("under a condition")
      }
      if (here._tag !== "Dead") before = here
      test = ""
    } else if (!["if", "elif", "else", "Comment"].includes(child.name)) test = sourceOf(text, child)
  }
  return unsure("under a condition")
}

/** The clause of a `try` that a block belongs to. */
const clauseOf = (block: SyntaxNode): string => {
  for (let child = block.prevSibling; child !== null; child = child.prevSibling) {
    if (/^(?:try|except|else|finally)$/.test(child.name)) return child.name
  }
  return ""
}

/** Conditions around a node, up to the outermost function or the file; a function that nothing calls is dead too. */
export const standingOf = (node: SyntaxNode, text: string, names: PythonNames): Standing => {
  let doubt: Standing = runs
  for (let at: SyntaxNode = node; at.parent !== null; at = at.parent) {
    const { parent } = at
    if (parent.name === "Body" && at.from > names.endOf(parent)) return dead
    let here: Standing = runs
    switch (parent.name) {
      case "IfStatement":
        if (at.name === "Body") here = inBranch(parent, at, text)
        break
      case "ConditionalExpression":
      case "MatchStatement":
      case "MatchClause":
        here = unsure("under a condition")
        break
      case "TryStatement":
        if (at.name === "Body" && clauseOf(at) === "except") here = unsure("under a condition")
        break
      case "ForStatement":
      case "WhileStatement":
      case "ComprehensionExpression":
      case "ArrayComprehensionExpression":
        here = unsure("in a loop")
        break
      case "LambdaExpression":
        here = unsure("in a function that is called later")
        break
      case "FunctionDefinition": {
        const name = sourceOf(text, parent.getChild("VariableName"))
        const known = parent.parent?.name === "DecoratedStatement" || name.startsWith("__") || names.isNamed(name)
        if (!known) return dead
        break
      }
    }
    if (here._tag === "Dead") return dead
    if (here._tag === "Unsure") doubt = here
  }
  return doubt
}
