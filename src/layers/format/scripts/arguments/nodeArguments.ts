// Where a JavaScript or TypeScript file reads its command line or its stdin.
import type { SyntaxNode, Tree } from "@lezer/common"
import { nodesOf, sourceOf } from "../argparse/pythonCalls.ts"
import { isOptionalInNode } from "./optionalReads.ts"
import { first, type Reading } from "./pythonArguments.ts"

/** Packages for reading the command line. */
const packages: ReadonlySet<string> = new Set([
  "commander",
  "yargs",
  "yargs-parser",
  "minimist",
  "meow",
  "cac",
  "arg",
  "sade",
  "mri",
  "getopts",
  "command-line-args",
  "citty",
  "clipanion",
  "cleye",
  "docopt",
  "dashdash",
  "nopt",
  "optimist",
  "argparse",
  "cmd-ts",
  "gunshi",
  "type-flag",
  "@oclif/core",
  "@stricli/core",
  "@commander-js/extra-typings"
])

/** `argv[0]` and `argv[1]` are Node and the file, not arguments. */
const ownNames = /^\s*(?:\?\.)?\[\s*[01]\s*\]/

const isSpecifier = (node: SyntaxNode): boolean =>
  /^(?:ImportDeclaration|DynamicImport)$/.test(node.parent?.name ?? "") ||
  (node.parent?.name === "ArgList" && node.parent.parent?.name === "CallExpression")

const isImported = (node: SyntaxNode, text: string): boolean =>
  isSpecifier(node) && (node.parent!.name !== "ArgList" || /^require\b/.test(sourceOf(text, node.parent!.parent)))

/** The names of `process` in the file. */
const processName =
  /\b(?:const|let|var)\s+(\w+)\s*=\s*(?:(?:globalThis|global)\.)?(?:process\s*(?:[;\n]|$)|require\(\s*["'](?:node:)?process["']\s*\))|\bimport\s+(?:\*\s+as\s+)?(\w+)\s+from\s+["'](?:node:)?process["']/g

/** `process.argv`, `process?.argv`, `p["argv"]` */
const argvOf =
  /^(?:(?:globalThis|global)(?:\.|\[["'`](?=process)))?(\w+)(?:["'`]\])?(?:\??\.argv|(?:\?\.)?\[\s*["'`]argv["'`]\s*\])$/

/** In the order of the file. */
export const readsNodeCommandLine = (tree: Tree, text: string): Reading | undefined => {
  const found: Array<Reading> = []
  let fromProcess: string | undefined
  const hasUtil = /["'](?:node:)?util["']/.test(text)
  for (const node of nodesOf(tree, "ImportDeclaration")) {
    const [, list = ""] = /^import\s*(?:\w+\s*,\s*)?\{([^}]*)\}\s*from\s*["'](?:node:)?process["']/.exec(
      sourceOf(text, node)
    ) ?? []
    const [, as = "argv"] = /\bargv\b(?:\s+as\s+(\w+))?/.exec(list) ?? []
    if (/\bargv\b/.test(list)) fromProcess = as
  }
  const processes = new Set(["process"])
  for (const { 1: name, 2: imported } of text.matchAll(processName)) processes.add((name ?? imported)!)
  for (const node of nodesOf(tree, "String")) {
    const name = text.slice(node.from + 1, node.to - 1)
    if (packages.has(name.replace(/^(@[^/]+\/[^/]+|[^@/]+)\/.*$/, "$1")) && isImported(node, text)) {
      found.push({ at: node.from, by: name })
    }
  }
  for (const node of nodesOf(tree, "MemberExpression", "VariableName", "CallExpression", "PatternProperty")) {
    const source = sourceOf(text, node)
    const rest = text.slice(node.to, node.to + 40)
    switch (node.name) {
      case "MemberExpression":
        if (processes.has(argvOf.exec(source)?.[1] ?? "") && !ownNames.test(rest)) {
          found.push({ at: node.from, by: "process.argv", optional: isOptionalInNode(node, text) })
        }
        break
      case "VariableName":
        if (source === fromProcess && !ownNames.test(rest)) found.push({ at: node.from, by: source })
        break
      case "PatternProperty":
        if (/^argv\b/.test(source) && /=\s*(?:globalThis\.)?process\s*;?$/m.test(sourceOf(text, node.parent?.parent))) {
          found.push({ at: node.from, by: "process.argv" })
        }
        break
      default:
        if (
          /^(?:\w+\.)?parseArgs\s*\(/.test(source) && hasUtil &&
          !/\bargs\s*[:,}]/.test(source)
        ) {
          found.push({ at: node.from, by: "parseArgs" })
        }
    }
  }
  return first(found)
}

export const readsNodeStdin = (tree: Tree, text: string): Reading | undefined =>
  nodesOf(tree, "MemberExpression", "CallExpression").flatMap((node) => {
    const source = sourceOf(text, node)
    const by = node.name === "MemberExpression"
      ? /^process\.stdin$/.test(source) ? "process.stdin" : ""
      : /^(?:\w+\.)?readFileSync\(\s*(?:0|["']\/dev\/stdin["'])/.test(source)
      ? "readFileSync(0)"
      : ""
    return by === "" || /^\.isTTY\b/.test(text.slice(node.to)) ? [] : [{ at: node.from, by }]
  })[0]
