// What a chain declares, from its verified bytes: DEPENDENCIES, a PEP 723 block, or a package.json. A chain has one
// environment, since one interpreter runs it: all links' packages are combined, leaf first, and must be of the same
// ecosystem.
import { Result } from "effect"
import type { Chain, ChainLink } from "../chain/Chain.ts"
import { isJsonObject } from "../schema/json.ts"
import { DependenciesInvalid } from "./DependencyErrors.ts"
import type { Ecosystem } from "./InstalledPackage.ts"
import { readPackageJson } from "./packageJson.ts"
import { pythonRangeProblem } from "./pythonVersion.ts"
import { checkRequirement, splitNodeRequirement } from "./requirements.ts"
import { readScriptBlock } from "./scriptBlock.ts"

/** The requirements of a chain. */
export interface Declared {
  readonly ecosystem: Ecosystem
  /** Links with declarations, leaf first. */
  readonly links: ReadonlyArray<string>
  /** As written, without duplicates, leaf first: `requests>=2`, `left-pad@^1`. */
  readonly requirements: ReadonlyArray<string>
  /** `requires-python` of each link that has one. */
  readonly requiresPython: ReadonlyArray<string>
  /** Node: packages that may be absent on machines that they do not support. */
  readonly optional: ReadonlyArray<string>
  /** Node: `overrides` of the package.json, as JSON. */
  readonly overrides: string | undefined
  /** Node: text of the package-lock.json beside it. */
  readonly packageLock: string | undefined
}

/** More than any real tool declares, to bound the work that a foreign list can cause. */
const maxRequirements = 200

const nothing = {
  requirements: [],
  requiresPython: [],
  optional: [],
  overrides: undefined,
  packageLock: undefined
} as const

type Own = Omit<Declared, "ecosystem" | "links">
type Issue = DependenciesInvalid["issues"][number]

const managers: Readonly<Record<string, Ecosystem>> = { pyenv: "python", nvm: "node" }
const plugins: Readonly<Record<string, Ecosystem>> = { python: "python", nodejs: "node" }

const ofInterpreter = (envConfig: ChainLink["tool"]["envConfig"]): Ecosystem | undefined => {
  const interpreter = envConfig?.["interpreter"]
  if (!isJsonObject(interpreter)) return undefined
  const { manager, plugin, type } = interpreter
  if (type === "venv_python") return "python"
  if (type === "node_modules") return "node"
  if (type !== "version_manager" || typeof manager !== "string") return undefined
  const named = manager === "asdf" && typeof plugin === "string" ? plugins[plugin] : managers[manager]
  return named
}

const ofName = (name: string | undefined): Ecosystem | undefined =>
  name === undefined ? undefined : name.endsWith(".py") ? "python" : /\.[cm]?[jt]s$/.test(name) ? "node" : undefined

/** By the extension of the file that runs, else by tool type, else by the runtime below it. */
const ecosystemOf = (chain: Chain, at: number): Ecosystem | undefined => {
  const { tool } = chain.links[at]!
  const byFile = ofName(tool.entrypoint)
  if (byFile !== undefined) return byFile
  if (tool.toolType === "python" || tool.toolType === "node") return tool.toolType
  for (const link of chain.links.slice(at)) {
    const found = ofInterpreter(link.tool.envConfig)
    if (found !== undefined) return found
  }
  return undefined
}

const fileOf = ({ snapshot, tool }: ChainLink, name: string | undefined): Uint8Array | undefined =>
  name === undefined
    ? undefined
    : snapshot.location.kind === "folder"
    ? snapshot.files.find((file) => file.path === name)?.bytes
    : tool.entrypoint === name
    ? snapshot.bytes
    : undefined

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** `# /// script`. Searched in the bytes, since most tools have none and need not be decoded. */
const blockMark = new TextEncoder().encode("# /// script")

const includesBytes = (bytes: Uint8Array, mark: Uint8Array): boolean => {
  for (let at = bytes.indexOf(mark[0]!); at !== -1; at = bytes.indexOf(mark[0]!, at + 1)) {
    if (mark.every((byte, offset) => bytes[at + offset] === byte)) return true
  }
  return false
}

const same = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  new Set([...a, ...b]).size === new Set(a).size && new Set(a).size === new Set(b).size

const checked = (
  ecosystem: Ecosystem,
  field: string,
  written: ReadonlyArray<string>
): Result.Result<ReadonlyArray<string>, ReadonlyArray<Issue>> => {
  const issues: Array<Issue> = []
  const good: Array<string> = []
  for (const [at, text] of written.entries()) {
    const read = checkRequirement(ecosystem, text)
    if (Result.isSuccess(read)) good.push(read.success)
    else issues.push({ field: `${field}[${at}]`, error: read.failure })
  }
  return issues.length === 0 ? Result.succeed(good) : Result.fail(issues)
}

const issue = (field: string, error: string): ReadonlyArray<Issue> => [{ field, error }]

const twice = (other: string): ReadonlyArray<Issue> =>
  issue("dependencies", `they are declared twice and differently: in the metadata and in ${other}; keep one of them`)

/** Both places may declare it, so that a script also runs without Kiwi, but they must agree. */
const one = (
  inMetadata: ReadonlyArray<string>,
  inFile: ReadonlyArray<string>,
  other: string
): Result.Result<ReadonlyArray<string>, ReadonlyArray<Issue>> =>
  inMetadata.length === 0 || same(inMetadata, inFile) ? Result.succeed(inFile) : Result.fail(twice(other))

const ofPython = (link: ChainLink): Result.Result<Own, ReadonlyArray<Issue>> =>
  Result.gen(function*() {
    const requirements = yield* checked("python", "dependencies", link.tool.dependencies)
    const bytes = fileOf(link, link.tool.entrypoint)
    if (bytes === undefined || !includesBytes(bytes, blockMark)) return { ...nothing, requirements }
    const block = yield* Result.mapError(readScriptBlock(textOf(bytes)), (error) => issue("script", error))
    if (block === undefined) return { ...nothing, requirements }
    const inBlock = yield* checked("python", "script.dependencies", block.dependencies)
    const { requiresPython } = block
    const problem = requiresPython === undefined ? undefined : pythonRangeProblem(requiresPython)
    if (problem !== undefined) return yield* Result.fail(issue("script.requires-python", problem))
    return {
      ...nothing,
      requirements: yield* one(requirements, inBlock, "the script block"),
      requiresPython: requiresPython === undefined ? [] : [requiresPython]
    }
  })

const ofNode = (link: ChainLink): Result.Result<Own, ReadonlyArray<Issue>> =>
  Result.gen(function*() {
    const requirements = yield* checked("node", "dependencies", link.tool.dependencies)
    const manifest = link.snapshot.location.kind === "folder" ? fileOf(link, "package.json") : undefined
    if (manifest === undefined) return { ...nothing, requirements }
    const { optional, overrides, ...read } = yield* Result.mapError(
      readPackageJson(textOf(manifest)),
      (error) => issue("package.json", error)
    )
    const lock = fileOf(link, "package-lock.json")
    const all = yield* one(requirements, read.requirements, "package.json")
    return {
      ...nothing,
      requirements: all,
      optional,
      overrides,
      packageLock: lock === undefined || all.length === 0 ? undefined : textOf(lock)
    }
  })

const ownOf = (
  chain: Chain,
  at: number
): Result.Result<Own & { readonly ecosystem?: Ecosystem }, DependenciesInvalid> => {
  const link = chain.links[at]!
  const ecosystem = ecosystemOf(chain, at)
  const invalid = (issues: ReadonlyArray<Issue>) =>
    new DependenciesInvalid({ link: link.tool.location.id, issues: [...issues] })
  if (ecosystem === undefined) {
    return link.tool.dependencies.length === 0
      ? Result.succeed(nothing)
      : Result.fail(
        invalid(issue("dependencies", "Kiwi installs packages for Python and Node tools, and this is neither"))
      )
  }
  return Result.map(
    Result.mapError(ecosystem === "python" ? ofPython(link) : ofNode(link), invalid),
    (own) => ({ ...own, ecosystem })
  )
}

/** npm accepts only one range for each direct dependency. */
const clashIn = (requirements: ReadonlyArray<string>): string | undefined => {
  const names = requirements.map((requirement) => splitNodeRequirement(requirement).name)
  return names.find((name, at) => names.indexOf(name) !== at)
}

/** Undefined if no link declares anything; `requires-python` alone needs no environment. */
export const declaredBy = (chain: Chain): Result.Result<Declared | undefined, DependenciesInvalid> =>
  Result.gen(function*() {
    let ecosystem: Ecosystem | undefined
    const links: Array<string> = []
    const requirements = new Set<string>()
    const optional = new Set<string>()
    const requiresPython: Array<string> = []
    let overrides: string | undefined
    let packageLock: string | undefined
    for (const [at, { tool }] of chain.links.entries()) {
      const own = yield* ownOf(chain, at)
      if (own.requirements.length === 0) continue
      const invalid = (error: string) =>
        Result.fail(new DependenciesInvalid({ link: tool.location.id, issues: [{ field: "dependencies", error }] }))
      if (ecosystem !== undefined && own.ecosystem !== ecosystem) {
        return yield* invalid("they are of another language than those of the tool that runs on it")
      }
      ecosystem = own.ecosystem
      links.push(tool.location.id)
      for (const requirement of own.requirements) requirements.add(requirement)
      for (const requirement of own.optional) optional.add(requirement)
      requiresPython.push(...own.requiresPython)
      const clash = ecosystem === "node" ? clashIn([...requirements]) : undefined
      if (clash !== undefined) return yield* invalid(`${clash} is required in two ranges`)
      if (requirements.size > maxRequirements) return yield* invalid(`there are more than ${maxRequirements}`)
      if (links.length === 1) {
        overrides = own.overrides
        packageLock = own.packageLock
      } else packageLock = undefined
    }
    return ecosystem === undefined ? undefined : {
      ecosystem,
      links,
      requirements: [...requirements],
      requiresPython,
      optional: [...optional],
      overrides,
      packageLock
    }
  })
