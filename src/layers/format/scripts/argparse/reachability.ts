// Whether a line of a Python script runs in every run of the script.
import type { SyntaxNode } from "@lezer/common"
import { sourceOf } from "./pythonCalls.ts"
import type { PythonNames } from "./pythonNames.ts"

export type Reachability =
  | { readonly _tag: "Runs" }
  /** `if False:`, or after a `return`. */
  | { readonly _tag: "Dead" }
  | { readonly _tag: "Unsure"; readonly why: string }

const runs: Reachability = { _tag: "Runs" }
const dead: Reachability = { _tag: "Dead" }
const unsure = (why: string): Reachability => ({ _tag: "Unsure", why })

const never = /^\(?(?:False|0|None|""|''|(?:\w+\.)?TYPE_CHECKING)\)?$/
const always = /^\(?(?:True|1|__name__\s*==\s*["']__main__["']|["']__main__["']\s*==\s*__name__)\)?$/

/** Whether each block of an `if` runs, by the block's start. */
const readBranches = (branches: SyntaxNode, text: string): ReadonlyMap<number, Reachability> => {
  const found = new Map<number, Reachability>()
  let before: Reachability = dead
  let test = ""
  for (let child = branches.firstChild; child !== null; child = child.nextSibling) {
    if (child.name === "Body") {
      const here = test === "" || always.test(test) ? runs : never.test(test) ? dead : unsure("under a condition")
      found.set(child.from, before._tag === "Dead" ? here : before._tag === "Runs" ? dead : unsure("under a condition"))
      if (here._tag !== "Dead") before = here
      test = ""
    } else if (!["if", "elif", "else", "Comment"].includes(child.name)) test = sourceOf(text, child)
  }
  return found
}

/** The clause of a `try` that a block belongs to. */
const clauseOf = (block: SyntaxNode): string => {
  for (let child = block.prevSibling; child !== null; child = child.prevSibling) {
    if (/^(?:try|except|else|finally)$/.test(child.name)) return child.name
  }
  return ""
}

/** Conditions around a node, up to the outermost function or the file. A function that is never called is dead too. */
export const makeReachability = (text: string, names: PythonNames) => {
  const known = new Map<number, ReadonlyMap<number, Reachability>>()
  const inBranch = (branches: SyntaxNode, block: SyntaxNode): Reachability => {
    const read = known.get(branches.from) ?? readBranches(branches, text)
    known.set(branches.from, read)
    return read.get(block.from) ?? runs
  }
  return (node: SyntaxNode): Reachability => {
    let doubt: Reachability = runs
    for (let at: SyntaxNode = node; at.parent !== null; at = at.parent) {
      const { parent } = at
      if (parent.name === "Body" && at.from > names.endOf(parent)) return dead
      let here: Reachability = runs
      switch (parent.name) {
        case "IfStatement":
          if (at.name === "Body") here = inBranch(parent, at)
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
          const isCalled = parent.parent?.name === "DecoratedStatement" || name.startsWith("__") || names.isNamed(name)
          if (!isCalled) return dead
          break
        }
      }
      if (here._tag === "Dead") return dead
      if (here._tag === "Unsure") doubt = here
    }
    return doubt
  }
}
