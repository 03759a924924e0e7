// What a program imports from files beside it, from its syntax tree. What is imported inside `try`, or for types alone,
// may be missing, and is left out.
import type { SyntaxNode, Tree } from "@lezer/common"

export interface PythonImport {
  /** Offset in the text. */
  readonly at: number
  /** `from . import x` has one. */
  readonly dots: number
  /** "" for `from . import x`; the first name of `a.b.c`. */
  readonly module: string
}

const isOptional = (node: SyntaxNode, text: string): boolean => {
  for (let parent = node.parent; parent !== null; parent = parent.parent) {
    if (parent.name === "TryStatement") return true
    if (parent.name === "IfStatement" && /^if\b[^\n]*\bTYPE_CHECKING\b/.test(text.slice(parent.from, parent.to))) {
      return true
    }
  }
  return false
}

const fromModule = /^from\s*([.\s]*)([^\s.]*)/
const firstName = /^\s*([^\s.,]+)/

export const pythonImports = (tree: Tree, text: string): ReadonlyArray<PythonImport> => {
  const found: Array<PythonImport> = []
  tree.iterate({
    enter: ({ from, name, node, to }) => {
      if (name !== "ImportStatement" || isOptional(node, text)) return
      const source = text.slice(from, to)
      const [, dots = "", module = ""] = fromModule.exec(source) ?? []
      if (source.startsWith("from")) {
        const count = dots.replace(/\s/g, "").length
        found.push({ at: from, dots: count, module: count > 0 && module === "import" ? "" : module })
        return
      }
      for (const part of source.slice("import".length).split(",")) {
        found.push({ at: from, dots: 0, module: firstName.exec(part)?.[1] ?? "" })
      }
    }
  })
  return found
}

export interface JavascriptImport {
  readonly at: number
  /** As it is written, without its quotes. */
  readonly specifier: string
  /** `require("./x")`, which tries extensions. */
  readonly required: boolean
}

/** `import x from "./x.json" with { type: "json" }`: newer than the grammar. */
const attributes = /(["'])([ \t]*)((?:with|assert)[ \t]*\{[^{}\n]*\})/g

/** The same text, of the same length, as the grammar knows it. */
export const withoutAttributes = (text: string): string =>
  text.replace(
    attributes,
    (_, quote: string, blank: string, clause: string) => quote + blank + " ".repeat(clause.length)
  )

const stringIn = (node: SyntaxNode | null): SyntaxNode | null => node?.getChild("String") ?? null

export const javascriptImports = (tree: Tree, text: string): ReadonlyArray<JavascriptImport> => {
  const found: Array<JavascriptImport> = []
  tree.iterate({
    enter: ({ name, node }) => {
      const isCall = name === "CallExpression" && node.firstChild?.name === "VariableName" &&
        text.slice(node.firstChild.from, node.firstChild.to) === "require"
      if (!isCall && name !== "ImportDeclaration" && name !== "ExportDeclaration" && name !== "DynamicImport") return
      if (node.getChild("type") !== null || (name === "ExportDeclaration" && node.getChild("from") === null)) return
      const string = stringIn(isCall ? node.getChild("ArgList") : node)
      if (string === null || isOptional(node, text)) return
      found.push({ at: node.from, specifier: text.slice(string.from + 1, string.to - 1), required: isCall })
    }
  })
  return found
}
