// Reads of the command line that also work without arguments: with a default, or after a check of a count or value.
import type { SyntaxNode } from "@lezer/common"
import { sourceOf } from "../argparse/pythonCalls.ts"

const pythonCount = /^len\s*\(\s*(?:sys\s*\.\s*)?argv\s*\)\s*(?:>\s*[1-9]|>=\s*[2-9]|==\s*[2-9])/
const pythonMember = /^(?:not\s+)?["'][^"'\n]*["']\s+in\s+(?:sys\s*\.\s*)?argv\b/

/** Whether a node is in, or depends on, the condition of an `if`, a `while` or an `x if y else z`. */
const pythonCondition = (node: SyntaxNode, text: string): boolean => {
  for (let at: SyntaxNode = node; at.parent !== null; at = at.parent) {
    const { parent } = at
    if (parent.name === "ConditionalExpression") {
      const [value, test] = [parent.firstChild, parent.getChildren("if")[0]?.nextSibling]
      if (test !== undefined && test !== null && pythonCount.test(sourceOf(text, test))) {
        return at.from === value?.from || at.from === test.from
      }
    }
    if (parent.name === "IfStatement" || parent.name === "WhileStatement") {
      const test = parent.firstChild?.nextSibling
      const body = parent.getChild("Body")
      if (test !== undefined && test !== null && pythonCount.test(sourceOf(text, test))) {
        return at.from === test.from || at.from === body?.from
      }
    }
    if (parent.name === "TryStatement" && at.from === parent.getChild("Body")?.from) {
      return /\bexcept\s*(?::|\(?[^:\n]*\b(?:IndexError|LookupError|Exception)\b)/.test(text.slice(at.to, parent.to))
    }
    if (/^(?:FunctionDefinition|LambdaExpression|Script)$/.test(parent.name)) return false
  }
  return false
}

/** `node`: `sys.argv`, or the name that it was imported under. */
export const isOptionalInPython = (node: SyntaxNode, text: string): boolean => {
  const rest = text.slice(node.to, node.to + 60)
  const test = node.parent
  return (test?.name === "BinaryExpression" && pythonMember.test(sourceOf(text, test)) && !/^\s*\[\s*\d/.test(rest)) ||
    (/["']\s+(?:not\s+)?in\s+$/.test(text.slice(Math.max(0, node.from - 60), node.from)) &&
      !/^\s*\[\s*\d+\s*\]/.test(rest)) ||
    /^\s*\[\s*1\s*:(?:\s*\d)?\s*\]\s*or\b/.test(rest) ||
    pythonCondition(node, text)
}

const nodeCount =
  /^\(?\s*(?:globalThis\.)?process\.argv(?:\.length\s*(?:>\s*[2-9]|>=\s*[3-9]|===?\s*[3-9])|\[\d+\]\s*\)?\s*(?:$|&&|!==?|===?))/

/** `node`: `process.argv`. */
export const isOptionalInNode = (node: SyntaxNode, text: string): boolean => {
  const rest = text.slice(node.to, node.to + 80)
  if (/^(?:\.slice\(\s*[12]\s*\))?\.(?:includes|some)\(/.test(rest)) return true
  if (/^(?:\[\d+\]|\.at\(\d+\))\s*(?:\?\?|\|\|)/.test(rest)) return true
  for (let at: SyntaxNode = node; at.parent !== null; at = at.parent) {
    const { parent } = at
    if (parent.name === "ConditionalExpression" || parent.name === "IfStatement") {
      const test = parent.name === "IfStatement" ? parent.getChild("ParenthesizedExpression") : parent.firstChild
      if (test !== null && nodeCount.test(sourceOf(text, test))) {
        const then = parent.name === "IfStatement"
          ? test.nextSibling
          : parent.getChild("LogicOp")?.nextSibling
        return at.from === test.from || at.from === then?.from
      }
    }
    if (parent.name === "VariableDeclaration" && /^\.slice\(\s*2\s*\)\s*(?:;|\n|$)/.test(rest)) {
      const [, names] = /\[([^\]]*)\]\s*=\s*(?:globalThis\.)?process\.argv/.exec(sourceOf(text, parent)) ?? []
      return names !== undefined && names.split(",").every((name) => name.trim() === "" || name.includes("="))
    }
    if (/Function|Script|MethodDeclaration/.test(parent.name)) return false
  }
  return false
}

const bashCount =
  /(?:\(\(\s*\$#\s*(?:>\s*\d+\s*|>=\s*[1-9]\d*\s*)?\)\)|\[\[?\s+"?\$(?:#|\{#\})"?\s+(?:-gt\s+\d+|-ge\s+[1-9]\d*)\s+\]\]?|\[\[?\s+(?:-n\s+)?"?\$(?:[1-9]|\{[1-9](?::?-\s*)?\})"?\s+(?:==?\s[^\]]*)?\]\]?)/g

/** Where a condition on the arguments stops applying: at the end of its line, or of its block. */
const heldTo = (code: string, from: number, to: number): number => {
  const before = /(?:^|[\n;&|])[ \t]*(if|elif|while)[ \t]*$/.exec(code.slice(Math.max(0, from - 40), from))?.[1]
  const rest = code.slice(to, to + 20_000)
  if (before === undefined) return /^[ \t]*&&/.test(rest) ? to + (rest.search(/\n|$/)) : to
  let depth = 1
  for (
    const { 0: word, index } of rest.matchAll(
      /(?<![\w$-])(?:if|case|for|while|until|select|fi|esac|done|else|elif)(?![\w-])/g
    )
  ) {
    if (/^(?:fi|esac|done)$/.test(word)) depth--
    else if (word === "else" || word === "elif") {
      if (depth === 1) return to + index
    } else depth++
    if (depth === 0) return to + index
  }
  return to
}

/** `while (($#))`: a loop that reads the arguments. */
const isLoop = (code: string, at: number): boolean =>
  /(?:^|[\n;&|])[ \t]*while[ \t]*$/.test(code.slice(Math.max(0, at - 40), at))

/** Ranges of a bash script in which it has arguments, by conditions on them. */
export const guardedInBash = (code: string, text: string): ReadonlyArray<readonly [from: number, to: number]> => {
  // A condition on "$1" itself is an error under set -u.
  const strict = /\bset\s+-[a-z]*u|\bnounset\b/.test(text)
  const conditions = [...text.matchAll(bashCount)].flatMap(({ 0: test, index }) =>
    code[index] === undefined || code[index] === " " || isLoop(code, index) ||
      (strict && /\$[1-9]|\$\{[1-9]\}/.test(test))
      ? []
      : [[index, heldTo(code, index, index + test.length)] as const]
  )
  const alternatives = [...code.matchAll(/\$\{[1-9@*]:?\+[^{}]*\}/g)].map(({ 0: { length }, index }) =>
    [index, index + length] as const
  )
  return [...conditions, ...alternatives]
}

/** `${1:-.}`, `${1-}`, `${1:+x}` */
export const hasDefaultInBash = (code: string, at: number): boolean =>
  /^\$\{(?:[1-9]|[@*]):?[-+]/.test(code.slice(at, at + 6))
