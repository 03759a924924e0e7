// Where a Python script reads its command line or its stdin, other than with argparse.
import type { SyntaxNode, Tree } from "@lezer/common"
import { nodesOf, sourceOf } from "../argparse/pythonCalls.ts"
import { isOptionalInPython } from "./optionalReads.ts"

/** Packages that read the command line, and which of their names do so; "" for all of them. */
const readers: Readonly<Record<string, ReadonlyArray<string>>> = {
  optparse: ["OptionParser"],
  getopt: ["getopt", "gnu_getopt"],
  click: ["command", "group", "Command", "Group", "MultiCommand", "CommandCollection"],
  typer: ["Typer", "run"],
  docopt: ["docopt"],
  fire: ["Fire"],
  absl: ["app", "flags"],
  plac: ["call"],
  tyro: ["cli"],
  clize: ["run"],
  defopt: ["run", "bind"],
  hydra: ["main"],
  invoke: ["Program"],
  cleo: [],
  cyclopts: [],
  argh: [],
  tap: [],
  simple_parsing: [],
  configargparse: [],
  jsonargparse: [],
  fileinput: ["input", "FileInput"]
}

/** Whether the module reads the command line. */
export const isReader = (module: string): boolean => module === "argparse" || Object.hasOwn(readers, module)

const standard: ReadonlySet<string> = new Set(["optparse", "getopt", "fileinput"])

/** Packages whose distribution has another name than the import. */
const distributions: Readonly<Record<string, string>> = {
  absl: "absl-py",
  hydra: "hydra-core",
  tap: "typed-argument-parser",
  simple_parsing: "simple-parsing"
}

const packageOf = (module: string): string | undefined =>
  standard.has(module) ? undefined : Object.hasOwn(distributions, module) ? distributions[module] : module

/** Longer than any name that is searched for. */
const maxName = 200

export interface Reading {
  /** Offset in the text. */
  readonly at: number
  /** As written: `sys.argv`, `click.command`. */
  readonly by: string
  /** The package to install for it. */
  readonly package?: string | undefined
  /** Whether the script also runs without arguments. */
  readonly optional?: boolean
}

/** The names that a statement imports from a module, and their local names. */
const importedIn = (statement: string): ReadonlyArray<readonly [module: string, name: string, as: string]> => {
  const [, from, list] = /^from\s+([\w.]+)\s+import\s+([^]*)$/.exec(statement) ?? []
  return (list ?? statement.replace(/^import\s+/, "")).replace(/[()\\]/g, " ").replace(/#.*$/gm, "").split(",").flatMap(
    (part) => {
      const [name = "", , as = name] = part.trim().split(/\s+/)
      return name === "" ? [] : [[from ?? name, from === undefined ? "" : name, as] as const]
    }
  )
}

const isTried = (node: SyntaxNode, text: string): boolean => {
  for (let at = node.parent; at !== null; at = at.parent) {
    if (at.name === "IfStatement" && /^if\b[^\n]*\bTYPE_CHECKING\b/.test(sourceOf(text, at))) return true
  }
  return false
}

/** The first that is not optional, or else the first. */
export const first = (found: ReadonlyArray<Reading>): Reading | undefined =>
  found.toSorted((a, b) => Number(a.optional ?? false) - Number(b.optional ?? false) || a.at - b.at)[0]

/** `sys.argv[0]` is the script's own name. With argparse, every other use also reads what it reads. */
const isOwnName = (node: SyntaxNode, text: string): boolean =>
  /^\s*\[\s*0\s*\]/.test(text.slice(node.to, node.to + 20)) ||
  /^\s*\[\s*:\s*1\s*\]/.test(text.slice(node.to, node.to + 20))

/** Whether a node is in `if __name__ == "__main__":`, which does not run on import. */
const inMainGuard = (node: SyntaxNode, text: string): boolean => {
  for (let at: SyntaxNode = node; at.parent !== null; at = at.parent) {
    if (at.name === "Body" && /^if\s*\(?\s*__name__\s*==/.test(text.slice(at.parent.from, at.from))) return true
  }
  return false
}

/** `isEntry`: whether this is the file that runs, and not one that it imports. */
export const readsCommandLine = (tree: Tree, text: string, isEntry = true): Reading | undefined => {
  const found: Array<Reading> = []
  const local = new Map<string, ReadonlyArray<string>>()
  /** The names of `sys` in the file. */
  const systems = new Set(["sys", "__import__('sys')", "__import__(\"sys\")"])
  const packages = new Map<string, string | undefined>()
  for (const node of nodesOf(tree, "ImportStatement")) {
    if (isTried(node, text)) continue
    for (const [module, name, as] of importedIn(sourceOf(text, node))) {
      const [top = ""] = module.split(".")
      if (top === "sys" && /^(?:argv|orig_argv)$/.test(name)) local.set(as, [""])
      if (module === "sys" && name === "*") local.set("argv", [""]).set("orig_argv", [""])
      if (module === "sys" && name === "") systems.add(as)
      const known = Object.hasOwn(readers, top) ? readers[top]! : undefined
      if (known === undefined) continue
      if (
        known.length === 0 || known.includes(name) || (name === "" && known.some((one) => module === `${top}.${one}`))
      ) {
        found.push({ at: node.from, by: top, package: packageOf(top) })
      } else if (name === "") {
        local.set(as, known)
        packages.set(as, packageOf(top))
      }
    }
  }
  for (const node of nodesOf(tree, "AssignStatement")) {
    const [, name, of] = /^(\w+)(?::\s*[\w.]+)?\s*=\s*(\w+)$/.exec(sourceOf(text, node)) ?? []
    if (name !== undefined && of !== undefined && systems.has(of)) systems.add(name)
  }
  for (const node of nodesOf(tree, "MemberExpression", "Decorator", "VariableName")) {
    const source = text.slice(node.from, Math.min(node.to, node.from + maxName)).replace(/\s/g, "")
    const [, on = "", name = ""] = /^@?([\w.]+)\.(\w+)/.exec(source) ?? []
    const [, object = ""] = /^(.*)\.(?:orig_)?argv$/.exec(source) ?? []
    const isArgv = node.name === "MemberExpression" && (systems.has(object) || object.endsWith(".sys"))
    const isLocal = local.get(source)?.includes("") === true && node.parent?.name !== "ImportStatement"
    if ((isArgv || isLocal) && !isOwnName(node, text)) {
      found.push({ at: node.from, by: source, optional: isOptionalInPython(node, text) })
    }
    if (local.get(on)?.includes(name) === true) {
      found.push({ at: node.from, by: `${on}.${name}`, package: packages.get(on) })
    }
  }
  return first(isEntry ? found : found.filter(({ at }) => !inMainGuard(tree.resolveInner(at, 1), text)))
}

export const readsPythonStdin = (tree: Tree, text: string): Reading | undefined =>
  first(
    nodesOf(tree, "MemberExpression", "CallExpression").flatMap((node) => {
      const source = sourceOf(text, node)
      const reads = node.name === "MemberExpression"
        ? /^sys\.stdin$/.test(source) && !/^\.(?:isatty|fileno|encoding)\b/.test(text.slice(node.to))
        : source.startsWith("input(")
      return reads ? [{ at: node.from, by: node.name === "MemberExpression" ? "sys.stdin" : "input()" }] : []
    })
  )

/** Code that may change `sys.argv` without naming it. */
export const mayReachCommandLine = (tree: Tree, text: string): Reading | undefined =>
  first(
    nodesOf(tree, "CallExpression", "MemberExpression").flatMap((node) => {
      const [by] =
        /^(?:(?:builtins\.)?exec(?=\s*\()|vars(?=\(\s*sys\b)|[gs]etattr(?=\(\s*sys\s*,\s*["'](?:orig_)?argv)|sys\.__dict__$)/
          .exec(
            text.slice(node.from, Math.min(node.to, node.from + maxName))
          ) ?? []
      return by === undefined ? [] : [{ at: node.from, by: /^(?:vars|getattr|setattr)$/.test(by) ? `${by}(sys)` : by }]
    })
  )

/** Code that sets or slices `sys.argv` before a parser reads it. */
export const changesCommandLine = (tree: Tree, text: string): Reading | undefined =>
  first(
    nodesOf(tree, "MemberExpression").flatMap((node) => {
      if (!/^(?:sys\.)?argv$/.test(sourceOf(text, node))) return []
      const whole = node.parent?.name === "MemberExpression" ? node.parent : node
      const statement = whole.parent
      const isTarget = statement !== null && /^(?:Assign|Update|Delete)Statement$/.test(statement.name) &&
        (statement.name === "DeleteStatement" || statement.firstChild?.from === node.from)
      const isTaken = /^\.(?:pop|append|insert|extend|remove|clear|reverse|sort)\b/.test(
        text.slice(node.to, node.to + 12)
      )
      return isTarget || isTaken ? [{ at: node.from, by: "sys.argv" }] : []
    })
  )
