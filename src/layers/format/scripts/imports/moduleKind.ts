// Whether Node reads a JavaScript or TypeScript file as a module or as CommonJS, and any syntax of the other kind in
// it.
import type { SyntaxNode, Tree } from "@lezer/common"
import { Option, Schema } from "effect"
import { problemAt } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import { nodesOf, sourceOf } from "../argparse/pythonCalls.ts"
import { isOptional } from "./readImports.ts"

interface File {
  readonly path: string
  readonly bytes: Uint8Array
}

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/** The package.json that applies to a file of a folder; `{}` if there is none, or it cannot be parsed. */
export const packageOf = (path: string, files: ReadonlyArray<File>): Schema.JsonObject => {
  const parts = path.split("/").slice(0, -1)
  for (let depth = parts.length; depth >= 0; depth--) {
    const name = [...parts.slice(0, depth), "package.json"].join("/")
    const file = files.find((one) => one.path === name)
    if (file === undefined) continue
    const read = Option.getOrUndefined(decodeJson(new TextDecoder().decode(file.bytes)))
    return isJsonObject(read) ? read : {}
  }
  return {}
}

const erased = ["type", "TypeAliasDeclaration", "InterfaceDeclaration", "declare"]

/** The first statement that only a module can have, after erasing types. */
const statement = (tree: Tree): SyntaxNode | undefined =>
  nodesOf(tree, "ImportDeclaration", "ExportDeclaration").find((node) =>
    erased.every((name) => node.getChild(name) === null)
  )

const hasOwn =
  /\b(?:const|let|var|function)\s+(?:\{[^}]{0,200}\b)?(?:require|module|exports)\b|\btypeof\s+(?:require|module|exports)\b|\([\w\s,]{0,200}\b(?:require|module|exports)\b[\w\s,]{0,200}\)\s*(?:=>|\{)|\bimport\b[^;\n]{0,200}\b(?:require|module|exports)\b[^;\n]{0,200}\bfrom\b/

/** The first expression that only CommonJS can have. */
const expression = (tree: Tree, text: string): SyntaxNode | undefined =>
  hasOwn.test(text)
    ? undefined
    : nodesOf(tree, "CallExpression", "MemberExpression").find((node) =>
      /^(?:require\s*\(|module\.exports$|exports\.\w+$|require\.\w+$)/.test(sourceOf(text, node)) &&
      !isOptional(node, text)
    )

const firstLine = (text: string): string => text.split("\n", 1)[0]!.slice(0, 40)

/** Whether the text has module-only syntax, judged by the starts of its lines. */
export const hasModuleSyntax = (text: string): boolean =>
  /^[ \t]*(?:import[ \t]*["'{*]|import[ \t]+[\w$]|export\b)/m.test(text)

/** How a single file declares metadata: CommonJS has no `export`. */
export const declares = (extension: string, text: string): "const" | "export const" =>
  extension === ".cjs" ||
    (extension !== ".mjs" && /\brequire\s*\(|\bmodule\.exports\b/.test(text) &&
      !hasModuleSyntax(text))
    ? "const"
    : "export const"

/** A file with syntax of both kinds never runs. `type`: that of its package.json. */
export const checkModuleKind = (tree: Tree, text: string, path: string, type: unknown): Problem | undefined => {
  const written = /\.([mc])[jt]s$/.exec(path)?.[1]
  const kind = written === "m" || type === "module" && written === undefined
    ? "module"
    : written === "c" || type === "commonjs" && written === undefined
    ? "commonjs"
    : undefined
  const ofModule = statement(tree)
  if (kind === "commonjs") {
    return ofModule === undefined ? undefined : problemAt(
      text,
      ofModule.from,
      `${written === "c" ? path.slice(path.lastIndexOf("/") + 1) : "the file"} is CommonJS${
        written === "c" ? "" : ` by the "type" of its package.json`
      }, and has ${firstLine(sourceOf(text, ofModule))}`,
      written === "c"
        ? "Write require and module.exports, or call the file .mjs"
        : `Write "type": "module", or call the file .mjs`
    )
  }
  if (kind === undefined && ofModule === undefined) return undefined
  const ofCommon = expression(tree, text)
  if (ofCommon === undefined) return undefined
  const why = kind === undefined
    ? " by its import or export"
    : written === "m"
    ? ""
    : ` by the "type" of its package.json`
  return problemAt(
    text,
    ofCommon.from,
    `the file is a module${why}, and a module has no ${/^\w+/.exec(sourceOf(text, ofCommon))?.[0] ?? "require"}`,
    ofModule === undefined
      ? "Write import and export, or call the file .cjs"
      : "Write import x from \"…\" and export, or leave every import and export out: const __version__ needs none"
  )
}
