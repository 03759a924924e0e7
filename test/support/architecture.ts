// Reads the sources as a graph of modules and says where they break the rules of the house. Sources are given as text,
// so that the rules themselves can be tested on small bad examples; they are parsed, never matched by pattern, so
// comments and strings cannot confuse them.
import { posix } from "node:path"
import { type ESTree, parseSync, Visitor } from "rolldown/utils"

export type Sources = ReadonlyMap<string, string>

/** What only programs and named adapters may touch: everything that makes a result depend on more than its inputs. */
export type Ambient = "async" | "clock" | "console" | "process" | "random" | "run" | "timer"

export interface Import {
  readonly specifier: string
  /** The file of this project that it names, where it names one. */
  readonly target: string | undefined
  /** `type` is erased, `dynamic` is loaded when the line runs. */
  readonly kind: "static" | "type" | "dynamic"
  readonly line: number
}

export interface Module {
  readonly path: string
  readonly layer: Layer
  /** The folder below services or layers; a file directly in layers has none. */
  readonly domain: string | undefined
  readonly imports: ReadonlyArray<Import>
  readonly ambient: ReadonlyArray<{ readonly use: Ambient; readonly text: string; readonly line: number }>
}

export interface House {
  readonly kernelDomains: ReadonlySet<string>
  readonly harnessDomains: ReadonlySet<string>
  /** Domains that a domain never imports, beside those that its side forbids. */
  readonly never: ReadonlyArray<readonly [domain: string, other: string]>
  /** What a file that adapts something outside Effect may use. */
  readonly adapters: Readonly<Record<string, ReadonlyArray<Ambient>>>
  /** Packages that cost milliseconds to load, by name or by scope. */
  readonly heavy: ReadonlyArray<string>
  /** Packages that a user's installation has. */
  readonly installed: ReadonlySet<string>
  /** Modules that a start loads. */
  readonly isEntry: (path: string) => boolean
}

type Layer = "services" | "layers" | "programs"

const rank: Record<Layer, number> = { services: 0, layers: 1, programs: 2 }

const forbiddenNames = new Set(["utils", "helpers", "common", "shared", "types", "constants", "index"])

const timers = new Set(["setTimeout", "setInterval", "setImmediate"])
const ambientModules = new Map<string, Ambient>([
  ["node:process", "process"],
  ["node:console", "console"],
  ["node:timers", "timer"],
  ["node:timers/promises", "timer"]
])

const isLayer = (name: string | undefined): name is Layer => name !== undefined && Object.hasOwn(rank, name)

const packageOf = (specifier: string) => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

const propertyOf = (node: ESTree.MemberExpression): string | undefined => {
  if (!node.computed && node.property.type === "Identifier") return node.property.name
  return node.property.type === "Literal" && typeof node.property.value === "string" ? node.property.value : undefined
}

export const parseModule = (path: string, source: string): Module => {
  const { errors, program } = parseSync(path, source, { lang: "ts" })
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)

  const imports: Array<Import> = []
  const ambient: Array<Module["ambient"][number]> = []
  const lineAt = (offset: number) => source.slice(0, offset).split("\n").length

  const addImport = (specifier: string, kind: Import["kind"], offset: number) => {
    const target = specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined
    imports.push({ specifier, target, kind, line: lineAt(offset) })
  }
  const addAmbient = (use: Ambient, node: ESTree.Span, text: string) => {
    ambient.push({ use, text, line: lineAt(node.start) })
  }

  const onAsync = (node: { readonly async: boolean } & ESTree.Span) => {
    if (node.async) addAmbient("async", node, "async function")
  }
  /** What a global stands for, by name: `process`, or `globalThis.process`. */
  const onGlobal = (name: string, node: ESTree.Span) => {
    if (name === "process" || name === "console") addAmbient(name, node, name)
    else if (timers.has(name)) addAmbient("timer", node, name)
  }

  // `import { type A }` leaves `import {}` behind, which is loaded: only a whole `import type` is erased.
  new Visitor({
    ImportDeclaration: (node) => {
      const specifier = node.source.value
      addImport(specifier, node.importKind === "type" ? "type" : "static", node.start)
      const use = ambientModules.get(specifier)
      if (use !== undefined) addAmbient(use, node, `import of ${specifier}`)
      if (specifier !== "effect/Effect") return
      for (const { imported } of node.specifiers.filter((entry) => entry.type === "ImportSpecifier")) {
        if (imported.type === "Identifier" && imported.name.startsWith("run")) addAmbient("run", node, imported.name)
      }
    },
    ExportNamedDeclaration: (node) => {
      if (node.source !== null) addImport(node.source.value, node.exportKind === "type" ? "type" : "static", node.start)
    },
    ExportAllDeclaration: (node) => {
      addImport(node.source.value, node.exportKind === "type" ? "type" : "static", node.start)
    },
    ImportExpression: (node) => {
      if (node.source.type === "Literal" && typeof node.source.value === "string") {
        addImport(node.source.value, "dynamic", node.start)
      } else {
        addImport("(computed)", "dynamic", node.start)
      }
    },
    TSImportType: (node) => addImport(node.source.value, "type", node.start),
    ArrowFunctionExpression: onAsync,
    FunctionDeclaration: onAsync,
    FunctionExpression: onAsync,
    NewExpression: (node) => {
      if (node.callee.type === "Identifier" && node.callee.name === "Date" && node.arguments.length === 0) {
        addAmbient("clock", node, "new Date()")
      }
    },
    CallExpression: (node) => {
      if (node.callee.type === "Identifier" && timers.has(node.callee.name)) onGlobal(node.callee.name, node)
      for (const argument of node.arguments) {
        if (argument.type === "Identifier") onGlobal(argument.name, argument)
      }
    },
    VariableDeclarator: (node) => {
      if (node.init?.type === "Identifier") onGlobal(node.init.name, node.init)
    },
    MemberExpression: (node) => {
      if (node.object.type !== "Identifier") return
      const object = node.object.name
      const property = propertyOf(node)
      if (object === "process" || object === "console") {
        addAmbient(object, node, `${object}.${property ?? "…"}`)
      } else if (object === "globalThis") {
        onGlobal(property ?? "", node)
      } else if ((object === "Date" || object === "performance") && property === "now") {
        addAmbient("clock", node, `${object}.now`)
      } else if (object === "Math" && property === "random") {
        addAmbient("random", node, "Math.random")
      } else if (object === "Effect" && property?.startsWith("run")) {
        addAmbient("run", node, `Effect.${property}`)
      }
    }
  }).visit(program)

  const [, top, ...rest] = path.split("/")
  if (!isLayer(top)) throw new Error(`${path} is in none of src/services, src/layers and src/programs`)
  return { path, layer: top, domain: top !== "programs" && rest.length > 1 ? rest[0] : undefined, imports, ambient }
}

export const parseModules = (sources: Sources): ReadonlyArray<Module> =>
  [...sources].map(([path, source]) => parseModule(path, source))

type Rule = (modules: ReadonlyArray<Module>, house: House) => ReadonlyArray<string>

const eachImport = (
  modules: ReadonlyArray<Module>,
  judge: (module: Module, found: Import, target: Module | undefined) => string | undefined
): ReadonlyArray<string> => {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  return modules.flatMap((module) =>
    module.imports.flatMap((found) => {
      const complaint = judge(module, found, byPath.get(found.target ?? ""))
      return complaint === undefined ? [] : [`${module.path}:${found.line} ${complaint}`]
    })
  )
}

const importsPointDown: Rule = (modules) =>
  eachImport(modules, (module, { target }, imported) => {
    if (target === undefined) return undefined
    if (imported === undefined) return `imports ${target}, which is no module of src`
    return rank[imported.layer] > rank[module.layer]
      ? `is in ${module.layer} and imports ${target}: imports point down, programs → layers → services`
      : undefined
  })

const servicesKnowNoPlatform: Rule = (modules) =>
  eachImport(
    modules,
    (module, { specifier }) =>
      module.layer === "services" && (specifier.startsWith("node:") || specifier.startsWith("@effect/platform-"))
        ? `is a contract and imports ${specifier}: an implementation in src/layers does that`
        : undefined
  )

const side = ({ domain, layer, path }: Module, house: House) => {
  if (layer === "programs") return undefined
  if (path === "src/layers/Harness.ts" || (domain !== undefined && house.harnessDomains.has(domain))) return "harness"
  return "kernel"
}

const kernelKnowsNoHarness: Rule = (modules, house) =>
  eachImport(
    modules,
    (module, { target }, imported) =>
      imported !== undefined && side(module, house) === "kernel" && side(imported, house) === "harness"
        ? `is in the kernel and imports ${target} of the harness`
        : undefined
  )

const domainsAreNamed: Rule = (modules, house) => [
  ...new Set(
    modules.flatMap(({ domain, layer }) =>
      domain === undefined || house.kernelDomains.has(domain) || house.harnessDomains.has(domain)
        ? []
        : [`src/${layer}/${domain} is a domain that the house does not name: is it kernel or harness?`]
    )
  )
]

const strangersStayStrangers: Rule = (modules, house) =>
  eachImport(modules, (module, { target }, imported) => {
    const pair = house.never.find(([domain, other]) => module.domain === domain && imported?.domain === other)
    return pair === undefined ? undefined : `imports ${target}: ${pair[0]} never imports ${pair[1]}`
  })

const noCycles: Rule = (modules) => {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const state = new Map<string, "open" | "done">()
  const trail: Array<string> = []
  const cycles: Array<string> = []
  const visit = (path: string) => {
    if (state.get(path) === "open") {
      cycles.push(`import cycle: ${[...trail.slice(trail.indexOf(path)), path].join(" → ")}`)
      return
    }
    if (state.has(path)) return
    state.set(path, "open")
    trail.push(path)
    for (const { target } of byPath.get(path)?.imports ?? []) {
      if (target !== undefined && byPath.has(target)) visit(target)
    }
    trail.pop()
    state.set(path, "done")
  }
  for (const { path } of modules) visit(path)
  return cycles
}

const namesSaySomething: Rule = (modules) =>
  modules.flatMap(({ path }) => {
    const name = path.split("/").map((part) => part.replace(/\..*$/, "")).find((part) =>
      forbiddenNames.has(part.toLowerCase())
    )
    return name === undefined ? [] : [`${path}: "${name}" does not say what is in it`]
  })

const ambientStaysOutside: Rule = (modules, house) => {
  const complaints = modules.flatMap(({ ambient, path }) =>
    path.startsWith("src/programs/bin/") ?
      [] :
      ambient.flatMap(({ line, text, use }) =>
        house.adapters[path]?.includes(use)
          ? []
          : [`${path}:${line} uses ${text} (${use}): use Effect's service, or name the file as an adapter`]
      )
  )
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const stale = Object.entries(house.adapters).flatMap(([path, uses]) =>
    uses
      .filter((use) => !byPath.get(path)?.ambient.some((found) => found.use === use))
      .map((use) => `${path} is named as an adapter for ${use} and does not use it`)
  )
  return [...complaints, ...stale]
}

const oneDoorToSqlite: Rule = (modules) =>
  eachImport(
    modules,
    (module, { specifier }) =>
      specifier === "node:sqlite" && module.path !== "src/layers/sqlite/SqliteNode.ts"
        ? "imports node:sqlite: only src/layers/sqlite/SqliteNode.ts does"
        : undefined
  )

const modulesNotBarrels: Rule = (modules) =>
  eachImport(modules, (_, { specifier }) =>
    specifier === "@effect/platform-node"
      ? "imports the barrel @effect/platform-node: import the module (@effect/platform-node/NodeServices)"
      : undefined)

const dependenciesAreDeclared: Rule = (modules, house) =>
  eachImport(modules, (_, { specifier }) => {
    if (specifier === "(computed)") return "imports a computed name: nothing is loaded that the code does not name"
    if (specifier.startsWith(".") || specifier.startsWith("node:")) return undefined
    return house.installed.has(packageOf(specifier))
      ? undefined
      : `imports ${packageOf(specifier)}, which package.json does not give to users`
  })

const isHeavy = (specifier: string, house: House) =>
  house.heavy.some((name) => packageOf(specifier) === name || packageOf(specifier).startsWith(`${name}/`))

const startsAreLean: Rule = (modules, house) => {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const seen = new Set<string>()
  const complaints: Array<string> = []
  const visit = (module: Module, trail: ReadonlyArray<string>) => {
    if (seen.has(module.path)) return
    seen.add(module.path)
    for (const { kind, specifier, target } of module.imports) {
      if (kind !== "static") continue
      if (isHeavy(specifier, house)) {
        complaints.push(`${[...trail, module.path, specifier].join(" → ")}: heavy, so load it on first use by import()`)
      }
      const next = byPath.get(target ?? "")
      if (next !== undefined) visit(next, [...trail, module.path])
    }
  }
  for (const module of modules) {
    if (house.isEntry(module.path)) visit(module, [])
  }
  return complaints
}

export const rules = {
  "imports point down": importsPointDown,
  "contracts import nothing of a platform": servicesKnowNoPlatform,
  "every domain is named as kernel or harness": domainsAreNamed,
  "the kernel does not know the harness": kernelKnowsNoHarness,
  "domains that must not know each other do not": strangersStayStrangers,
  "no import cycles": noCycles,
  "no file or folder with a name that says nothing": namesSaySomething,
  "clock, randomness, process, console, timers, promises and runs stay at the edge": ambientStaysOutside,
  "one file imports node:sqlite": oneDoorToSqlite,
  "modules are imported, not barrels": modulesNotBarrels,
  "users have every package that is imported": dependenciesAreDeclared,
  "no start loads a heavy package": startsAreLean
} satisfies Record<string, Rule>
