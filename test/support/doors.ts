// Where a source starts processes, and where it reads files by itself: the two doors through which a project could act on
// Kiwi. Sources are parsed, so that neither comments nor strings count, and other spellings do.
import { type ESTree, parseSync, Visitor } from "rolldown/utils"

export interface Door {
  readonly kind: "start" | "read"
  /** The module or the name that opens it. */
  readonly text: string
  readonly line: number
}

const startModule = new RegExp(
  [
    "^(?:node:)?(?:child_process|cluster|worker_threads)$",
    "^effect/(?:unstable/)?process(?:/|$)",
    "ChildProcess(?!es)",
    "^@modelcontextprotocol/client/stdio$",
    "^(?:cross-spawn|execa|node-pty|tinyexec|zx)$"
  ].join("|")
)
/** Kiwi's own door, where somebody takes all of its module. */
const ownDoor = /\/ChildProcesses\.ts$/
const startNames = new Set(["ChildProcesses", "createRequire"])
const startProperties = new Set(["getBuiltinModule", "_linkedBinding", "dlopen", "mainModule"])

const fsModule = /^(?:node:)?fs(?:\/promises)?$/
const readNames = new Set([
  "readFile",
  "readFileSync",
  "createReadStream",
  "ReadStream",
  "open",
  "openSync",
  "openAsBlob",
  "readdir",
  "readdirSync",
  "opendir",
  "opendirSync",
  "readv",
  "readvSync",
  "glob",
  "globSync",
  "cp",
  "cpSync"
])
/** Of Effect's FileSystem. */
const readProperties = new Set(["readFile", "readFileString", "readDirectory"])

const nameOf = (node: ESTree.Node): string | undefined =>
  node.type === "Identifier" ? node.name : node.type === "Literal" ? String(node.value) : undefined

const literal = (node: ESTree.Node | undefined): string | undefined =>
  node?.type === "Literal" && typeof node.value === "string" ? node.value : undefined

export const doorsOf = (path: string, source: string): ReadonlyArray<Door> => {
  const { errors, program } = parseSync(path, source, { lang: path.endsWith(".ts") ? "ts" : "js" })
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const doors: Array<Door> = []
  const add = (kind: Door["kind"], text: string, node: ESTree.Span) => {
    doors.push({ kind, text, line: source.slice(0, node.start).split("\n").length })
  }
  /** Names of whole modules that read. */
  const readers = new Set<string>()
  const onModule = (specifier: string | undefined, node: ESTree.Span, way: string) => {
    if (specifier === undefined) add("start", `${way}(…)`, node)
    else if (startModule.test(specifier)) add("start", specifier.replace(/^node:/, ""), node)
  }
  const onOwnDoor = (specifier: string, node: ESTree.Span) => {
    if (ownDoor.test(specifier)) add("start", "ChildProcesses", node)
  }
  const onNamed = (specifier: string, name: string | undefined, node: ESTree.Span) => {
    if (name === undefined) return
    if (startNames.has(name)) add("start", name, node)
    if (fsModule.test(specifier) && readNames.has(name)) add("read", name, node)
  }
  new Visitor({
    ImportDeclaration: (node) => {
      const specifier = node.source.value
      if (node.importKind === "type") return
      onModule(specifier, node, "import")
      for (const entry of node.specifiers) {
        if (entry.type !== "ImportSpecifier") {
          if (fsModule.test(specifier)) readers.add(entry.local.name)
          onOwnDoor(specifier, node)
        } else if (entry.importKind !== "type") onNamed(specifier, nameOf(entry.imported), node)
      }
    },
    ExportNamedDeclaration: (node) => {
      if (node.source === null || node.exportKind === "type") return
      onModule(node.source.value, node, "export")
      for (const { local } of node.specifiers) onNamed(node.source.value, nameOf(local), node)
    },
    ExportAllDeclaration: (node) => {
      onModule(node.source.value, node, "export")
      if (fsModule.test(node.source.value)) add("read", node.source.value, node)
      onOwnDoor(node.source.value, node)
    },
    ImportExpression: (node) => {
      onModule(literal(node.source), node, "import")
      if (fsModule.test(literal(node.source) ?? "")) add("read", "import of fs", node)
      onOwnDoor(literal(node.source) ?? "", node)
    },
    CallExpression: ({ arguments: [first], callee, ...node }) => {
      if (callee.type !== "Identifier" || callee.name !== "require") return
      const specifier = literal(first)
      onModule(specifier, node, "require")
    },
    VariableDeclarator: ({ id, init, ...node }) => {
      const from = init?.type === "CallExpression" && nameOf(init.callee) === "require"
        ? literal(init.arguments[0])
        : undefined
      const isReader = fsModule.test(from ?? "") || (init?.type === "Identifier" && readers.has(init.name))
      if (!isReader) return
      if (id.type === "Identifier") readers.add(id.name)
      else if (id.type === "ObjectPattern") {
        for (const entry of id.properties) {
          const name = entry.type === "Property" ? nameOf(entry.key) : undefined
          if (name !== undefined && readNames.has(name)) add("read", name, node)
        }
      }
    },
    MemberExpression: (node) => {
      const name = nameOf(node.property)
      if (name === undefined) return
      if (startProperties.has(name)) add("start", name, node)
      const { object } = node
      const isFs = (object.type === "Identifier" && readers.has(object.name)) ||
        (object.type === "CallExpression" && nameOf(object.callee) === "require" &&
          fsModule.test(literal(object.arguments[0]) ?? ""))
      if (isFs ? readNames.has(name) : readProperties.has(name)) add("read", name, node)
    }
  }).visit(program)
  return doors
}
