// Paths that a JavaScript or TypeScript file makes from `import.meta` and `__dirname`.
import type { SyntaxNode, Tree } from "@lezer/common"
import { members, nodesOf, sourceOf } from "../argparse/pythonCalls.ts"
import { isOptional } from "../imports/readImports.ts"
import { below, findUses, followedBy, isOwnFile, joined, ownFile, type OwnPath, parentOf, type Use } from "./ownPath.ts"

const ownFolder: OwnPath = []

const places = new Map<string, OwnPath>([
  ["import.meta.dirname", ownFolder],
  ["__dirname", ownFolder],
  ["import.meta.filename", ownFile],
  ["__filename", ownFile],
  ["import.meta.url", ownFile]
])

const reads =
  /^(?:readFile|readFileSync|createReadStream|openAsBlob|readdir|readdirSync|opendir|opendirSync|require|fork|Worker|execFile|execFileSync|dlopen|loadEnvFile)$/
const tests = /^(?:exists|existsSync|access|accessSync|stat|statSync|lstat|lstatSync)$/
const writes =
  /^(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|mkdir|mkdirSync|mkdtemp|mkdtempSync|rm|rmSync|unlink|unlinkSync|cp|cpSync|copyFile|copyFileSync|rename|renameSync)$/

const literalOf = (node: SyntaxNode | undefined, text: string): string | undefined =>
  node?.name === "String" || (node?.name === "TemplateString" && node.firstChild === null)
    ? /^(["'`])([^"'`\\]*)\1$/.exec(sourceOf(text, node))?.[2]
    : undefined

/** Names that `const` defines exactly once in the whole file. */
const readConstants = (tree: Tree, text: string): ReadonlyMap<string, SyntaxNode> => {
  const values = new Map<string, SyntaxNode | undefined>()
  for (const node of nodesOf(tree, "VariableDefinition")) {
    const name = sourceOf(text, node)
    let value = node.nextSibling
    if (value?.name === "TypeAnnotation") value = value.nextSibling
    const isPlain = node.parent?.name === "VariableDeclaration" && value?.name === "Equals"
    values.set(name, isPlain && !values.has(name) ? value?.nextSibling ?? undefined : undefined)
  }
  return new Map([...values].flatMap(([name, node]) => node === undefined ? [] : [[name, node] as const]))
}

export const nodeUses = (tree: Tree, text: string): ReadonlyArray<Use> => {
  if (!/\bimport\s*\.\s*meta\b|\b__(?:dir|file)name\b/.test(text)) return []
  const constants = readConstants(tree, text)
  const source = (node: SyntaxNode | null | undefined): string => sourceOf(text, node)

  const howUsed = (node: SyntaxNode): Use["how"] | undefined => {
    const parent = node.parent
    if (parent === null || isOptional(node, text)) return undefined
    if (parent.name === "VariableDeclaration") {
      const name = node.prevSibling?.prevSibling
      return constants.has(source(name?.name === "TypeAnnotation" ? name.prevSibling : name)) ? undefined : "mentions"
    }
    if (parent.name === "DynamicImport") return "needs"
    const call = parent.name === "ArgList" ? parent.parent : null
    if (call?.name !== "CallExpression" && call?.name !== "NewExpression") return "mentions"
    const callee = call.name === "NewExpression" ? call.firstChild?.nextSibling : call.firstChild
    const name = source(callee).split(".").at(-1) ?? ""
    if (name === "basename" || /^\s*(?:\.\w+\([^)]*\))?\s*\.catch\b/.test(text.slice(call.to, call.to + 200))) {
      return undefined
    }
    if (tests.test(name)) return "tests"
    if (writes.test(name)) return "writes"
    return reads.test(name) && members(parent)[0]?.from === node.from ? "needs" : "mentions"
  }

  return findUses(tree, {
    howUsed,
    evaluate: (node, follow) => {
      switch (node.name) {
        case "VariableName":
          return places.get(source(node)) ?? follow(constants.get(source(node)))
        case "MemberExpression": {
          const place = places.get(source(node).replaceAll(/\s/g, ""))
          if (place !== undefined) return place
          return /^\.(?:pathname|href)$/.test(source(node).slice(source(node.firstChild).length))
            ? follow(node.firstChild)
            : undefined
        }
        case "ParenthesizedExpression": {
          const [inner, rest] = members(node)
          return rest === undefined ? follow(inner) : undefined
        }
        case "BinaryExpression": {
          const [left, operator, right] = members(node)
          const path = source(operator) === "+" ? follow(left) : undefined
          const literal = literalOf(right, text)
          return path === undefined || literal === undefined ? undefined : followedBy(path, literal)
        }
        case "TemplateString": {
          const [part, another] = node.getChildren("Interpolation")
          if (part === undefined || another !== undefined || part.from !== node.from + 1) return undefined
          const path = follow(part.firstChild?.nextSibling)
          return path === undefined ? undefined : followedBy(path, text.slice(part.to, node.to - 1))
        }
        case "NewExpression": {
          const list = node.getChild("ArgList")
          if (source(node.firstChild?.nextSibling) !== "URL" || list === null) return undefined
          const [relative, base] = members(list)
          const literal = literalOf(relative, text)
          // Any other literal is an import, and checked as one.
          if (literal === undefined || !/(?:^|\/)\.{0,2}$/.test(literal)) return undefined
          const path = follow(base)
          return path === undefined ? undefined : below(isOwnFile(path) ? parentOf(path) : path, literal)
        }
        case "CallExpression": {
          const list = node.getChild("ArgList")
          const [first, ...more] = list === null ? [] : members(list)
          switch (source(node.firstChild).split(".").at(-1)) {
            case "dirname": {
              const path = follow(first)
              return path === undefined ? undefined : parentOf(path)
            }
            case "join":
            case "resolve":
              return joined(follow(first), more.map((part) => literalOf(part, text)))
            case "fileURLToPath":
            case "normalize":
            case "realpathSync":
            case "String":
              return follow(first)
            default:
              return undefined
          }
        }
        default:
          return undefined
      }
    }
  }).filter(({ path }) => !isOwnFile(path))
}
