// What a program imports from files beside it, from its syntax tree. Imports inside `try`, and type-only imports, may
// be missing and are skipped.
import type { SyntaxNode, Tree } from "@lezer/common"

export interface PythonImport {
  /** Offset in the text. */
  readonly at: number
  /** `from . import x` has one. */
  readonly dots: number
  /** "" for `from . import x`; the first name of `a.b.c`. */
  readonly module: string
}

/** Whether it is inside `try`, or a type-only import. */
export const isOptional = (node: SyntaxNode, text: string): boolean => {
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

const dynamicImport = /^(?:importlib\.)?import_module$|^__import__$|^(?:runpy\.)?run_module$/

/** `importlib.import_module("x")`: by a literal name. */
const importCall = (node: SyntaxNode, text: string): PythonImport | undefined => {
  const callee = node.firstChild
  const name = node.getChild("ArgList")?.firstChild?.nextSibling
  if (callee === null || name?.name !== "String" || !dynamicImport.test(text.slice(callee.from, callee.to))) {
    return undefined
  }
  const [, dots = "", module = ""] = /^["'](\.*)([\w]*)[\w.]*["']$/.exec(text.slice(name.from, name.to)) ?? []
  return dots === "" && module === "" ? undefined : { at: node.from, dots: dots.length, module }
}

export const pythonImports = (tree: Tree, text: string): ReadonlyArray<PythonImport> => {
  const found: Array<PythonImport> = []
  tree.iterate({
    enter: ({ from, name, node, to }) => {
      if (name === "CallExpression" && !isOptional(node, text)) {
        const call = importCall(node, text)
        if (call !== undefined) found.push(call)
      }
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
  /** As written, without its quotes. */
  readonly specifier: string
  /** `require("./x")`, which tries extensions. */
  readonly required: boolean
  /** Whether the program also runs without it: inside `try`, or with a `.catch`. */
  readonly optional: boolean
}

/** `import x from "./x.json" with { type: "json" }`: newer syntax than the grammar. */
const attributes = /(["'])([ \t]*)((?:with|assert)[ \t]*\{[^{}\n]*\})/g

/** The text without import attributes, padded to the same length, so that the grammar can parse it. */
export const withoutAttributes = (text: string): string =>
  text.replace(
    attributes,
    (_, quote: string, blank: string, clause: string) => quote + blank + " ".repeat(clause.length)
  )

/** A literal that names a file, also in backquotes. */
const stringIn = (node: SyntaxNode | null | undefined): SyntaxNode | undefined =>
  node?.getChild("String") ?? node?.getChildren("TemplateString").find(({ firstChild }) => firstChild === null)

const resolvers = /^(?:require|require\.resolve|module\.require|import\.meta\.resolve|createRequire\(.*\))$/s
const isRequire = /^(?:require|require\.resolve|module\.require|createRequire\(.*\))$/s

/** What a node imports, and whether extensions are tried. */
const specifierIn = (
  node: SyntaxNode,
  text: string
): { readonly string: SyntaxNode | undefined; readonly required: boolean } | undefined => {
  const list = node.getChild("ArgList")
  const callee = node.name === "NewExpression" ? node.firstChild?.nextSibling : node.firstChild
  const called = callee === null || callee === undefined ? "" : text.slice(callee.from, callee.to)
  switch (node.name) {
    case "ImportDeclaration":
    case "DynamicImport":
      return { string: stringIn(node), required: false }
    case "ExportDeclaration":
      return node.getChild("from") === null ? undefined : { string: stringIn(node), required: false }
    case "CallExpression":
      return resolvers.test(called) ? { string: stringIn(list), required: isRequire.test(called) } : undefined
    case "NewExpression": {
      const isHere = list !== null && /,\s*import\.meta\.url\s*,?\s*\)$/.test(text.slice(list.from, list.to))
      const string = isHere && called === "URL" ? stringIn(list) : undefined
      // A folder is only the start of a longer path.
      return string === undefined || /(?:^|\/)\.{0,2}$/.test(text.slice(string.from + 1, string.to - 1))
        ? undefined
        : { string, required: false }
    }
    default:
      return undefined
  }
}

/** `await import("x").catch(…)` */
const isCaught = (node: SyntaxNode, text: string): boolean => {
  if (node.name !== "DynamicImport" && node.name !== "CallExpression") return false
  for (let at: SyntaxNode | null = node; at !== null && !/(?:Statement|Declaration)$/.test(at.name); at = at.parent) {
    if (at.name === "MemberExpression" && /\.\s*catch$/.test(text.slice(at.from, at.to))) return true
  }
  return false
}

/** Includes imports that may fail, but not type-only imports. */
export const everyImport = (tree: Tree, text: string): ReadonlyArray<JavascriptImport> => {
  const found: Array<JavascriptImport> = []
  tree.iterate({
    enter: ({ node }) => {
      const asked = specifierIn(node, text)
      if (asked?.string === undefined || node.getChild("type") !== null) return
      const written = text.slice(asked.string.from + 1, asked.string.to - 1)
      if (node.name === "NewExpression" && /^\w+:/.test(written)) return
      const isUrl = node.name === "NewExpression" && /^[\w@]/.test(written)
      found.push({
        at: node.from,
        specifier: isUrl ? `./${written}` : written,
        required: asked.required,
        optional: isOptional(node, text) || isCaught(node, text)
      })
    }
  })
  return found
}

export const javascriptImports = (tree: Tree, text: string): ReadonlyArray<JavascriptImport> =>
  everyImport(tree, text).filter(({ optional }) => !optional)
