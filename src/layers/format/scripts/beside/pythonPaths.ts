// Paths that a Python file makes from `__file__`.
import type { SyntaxNode, Tree } from "@lezer/common"
import { members, nodesOf, readCall, sourceOf } from "../argparse/pythonCalls.ts"
import { isOptional } from "../imports/readImports.ts"
import { below, findUses, followedBy, isOwnFile, joined, ownFile, parentOf, type Use } from "./ownPath.ts"

/** Functions that return the path that they are given. */
const same =
  /^(?:(?:pathlib\.)?(?:Pure)?(?:Posix)?Path|str|(?:os\.)?fspath|(?:os\.)?path\.(?:abspath|realpath|normpath)|abspath|realpath)$/
const sameMethod = /^(?:resolve|absolute|as_posix|expanduser)$/

const opens = /^(?:open|(?:io|codecs)\.open|(?:runpy\.)?run_path|(?:os\.)?(?:listdir|scandir))$/
const tests = /(?:^|\.)(?:exists|isfile|isdir|access|is_file|is_dir|glob|rglob)$/
const writes = /(?:^|\.)(?:makedirs|mkdir|write_text|write_bytes|touch|unlink|remove|rmtree|rename|replace)$/
const reads = /^(?:read_text|read_bytes|iterdir)$/
/** Parts of a path without its folder, and uses that only compare or print it. */
const harmless = /^(?:name|stem|suffix|suffixes)$/

const literalOf = (node: SyntaxNode | undefined, text: string): string | undefined =>
  node?.name === "String" ? /^[rRuU]?(["'])([^"'\\]*)\1$/.exec(sourceOf(text, node))?.[2] : undefined

/** Names with exactly one value in the whole file. */
const readVariables = (tree: Tree, text: string): ReadonlyMap<string, SyntaxNode> => {
  const values = new Map<string, SyntaxNode | undefined>()
  for (const list of nodesOf(tree, "ParamList")) {
    for (const name of list.getChildren("VariableName")) values.set(sourceOf(text, name), undefined)
  }
  for (const node of nodesOf(tree, "AssignStatement", "UpdateStatement", "ForStatement", "NamedExpression")) {
    const [name, ...rest] = members(node).filter((part) => part.name !== "TypeDef")
    if (name?.name !== "VariableName") continue
    const isPlain = node.name === "AssignStatement" && rest.length === 2
    const key = sourceOf(text, name)
    values.set(key, isPlain && !values.has(key) ? rest[1] : undefined)
  }
  return new Map([...values].flatMap(([name, node]) => node === undefined ? [] : [[name, node] as const]))
}

export const pythonUses = (tree: Tree, text: string): ReadonlyArray<Use> => {
  if (!/\b__file__\b/.test(text)) return []
  const variables = readVariables(tree, text)
  const source = (node: SyntaxNode | null | undefined): string => sourceOf(text, node)
  const literals = (nodes: ReadonlyArray<SyntaxNode>) => nodes.map((node) => literalOf(node, text))

  const modeOf = (call: SyntaxNode): string => {
    const { named, positional } = readCall(call, text)!.arguments
    const isMethod = call.firstChild?.name === "MemberExpression" && !opens.test(source(call.firstChild))
    const mode = named.get("mode") ?? positional[isMethod ? 0 : 1]
    return mode === undefined ? "r" : literalOf(mode, text) ?? ""
  }
  const opened = (call: SyntaxNode): Use["how"] => {
    const mode = modeOf(call)
    return /[wax]/.test(mode) ? "writes" : mode === "" ? "mentions" : "needs"
  }

  /** What a member access does with a path. */
  const member = (node: SyntaxNode): Use["how"] | undefined => {
    const name = source(node.lastChild)
    if (harmless.test(name)) return undefined
    if (tests.test(name)) return "tests"
    if (writes.test(name)) return "writes"
    if (reads.test(name)) return "needs"
    return name === "open" && node.parent?.name === "CallExpression" ? opened(node.parent) : "mentions"
  }

  const howUsed = (node: SyntaxNode): Use["how"] | undefined => {
    const parent = node.parent
    if (parent === null || isOptional(node, text)) return undefined
    if (parent.name === "AssignStatement") {
      const target = source(parent.firstChild)
      return node.from === parent.from || variables.has(target) ? undefined : "mentions"
    }
    if (/^(?:ParamList|ImportStatement|ScopeStatement|DeleteStatement|ExpressionStatement)$/.test(parent.name)) {
      return undefined
    }
    if (parent.name === "MemberExpression" && parent.firstChild?.from === node.from) return member(parent)
    const call = parent.name === "ArgList" ? parent.parent : null
    if (call?.name !== "CallExpression") return "mentions"
    const callee = source(call.firstChild)
    const isFirst = members(parent)[0]?.from === node.from
    if (/(?:^|\.)basename$/.test(callee)) return undefined
    if (isFirst && opens.test(callee)) return opened(call)
    if (/(?:^|\.)spec_from_file_location$/.test(callee) && !isFirst) return "needs"
    return tests.test(callee) ? "tests" : writes.test(callee) ? "writes" : "mentions"
  }

  return findUses(tree, {
    howUsed,
    evaluate: (node, follow) => {
      switch (node.name) {
        case "VariableName": {
          const name = source(node)
          return name === "__file__" ? ownFile : follow(variables.get(name))
        }
        case "ParenthesizedExpression": {
          const [inner, rest] = members(node)
          return rest === undefined ? follow(inner) : undefined
        }
        case "MemberExpression": {
          const [on, ...rest] = members(node)
          if (source(node.lastChild) === "parent" && node.lastChild?.name === "PropertyName") {
            const path = follow(on)
            return path === undefined ? undefined : parentOf(path)
          }
          // `path.parents[1]`
          const index = rest.at(-1)
          if (on?.name !== "MemberExpression" || index?.name !== "Number" || source(on.lastChild) !== "parents") {
            return undefined
          }
          let path = follow(on.firstChild)
          for (let up = 0; up <= Math.min(Number(source(index)), 20); up++) {
            path = path === undefined ? undefined : parentOf(path)
          }
          return path
        }
        case "BinaryExpression": {
          const [left, operator, right] = members(node)
          const path = follow(left)
          const literal = literalOf(right, text)
          if (path === undefined || literal === undefined || operator === undefined) return undefined
          return source(operator) === "/"
            ? below(path, literal)
            : source(operator) === "+"
            ? followedBy(path, literal)
            : undefined
        }
        case "FormatString": {
          const [replaced, another] = node.getChildren("FormatReplacement")
          if (replaced === undefined || another !== undefined) return undefined
          const path = follow(replaced.firstChild?.nextSibling)
          const opening = /^[fFrR]+("""|'''|"|')/.exec(source(node))
          if (path === undefined || opening === null || replaced.from !== node.from + opening[0].length) {
            return undefined
          }
          return followedBy(path, text.slice(replaced.to, node.to - opening[1]!.length))
        }
        case "CallExpression": {
          const call = readCall(node, text)
          if (call === undefined || call.arguments.unpacked) return undefined
          const callee = source(node.firstChild)
          const { positional } = call.arguments
          const [first, ...more] = positional
          if (same.test(callee)) return joined(follow(first), literals(more))
          if (/^(?:os\.)?(?:path\.)?dirname$/.test(callee)) {
            const path = follow(first)
            return path === undefined ? undefined : parentOf(path)
          }
          if (/^(?:os\.)?path\.join$|^join$/.test(callee)) return joined(follow(first), literals(more))
          if (call.on === undefined) return undefined
          if (sameMethod.test(call.method)) return follow(call.on)
          if (call.method === "joinpath") return joined(follow(call.on), literals(positional))
          if (call.method !== "with_name") return undefined
          const path = follow(call.on)
          return path === undefined ? undefined : joined(parentOf(path), literals(positional))
        }
        default:
          return undefined
      }
    }
  }).filter(({ path }) => !isOwnFile(path))
}

const resources =
  /^(?:importlib\.)?(?:resources\.)?(?:files|open_text|open_binary|read_text|read_binary|path|contents|is_resource)$|^pkgutil\.get_data$/

/** Where a file reads data of its own package. */
export const packageData = (tree: Tree, text: string): number | undefined =>
  /\b(?:importlib|pkgutil)\b/.test(text)
    ? nodesOf(tree, "CallExpression").find((node) => {
      const first = readCall(node, text)?.arguments.positional[0]
      return resources.test(sourceOf(text, node.firstChild)) && /^__(?:name|package)__$/.test(sourceOf(text, first)) &&
        !isOptional(node, text)
    })?.from
    : undefined
