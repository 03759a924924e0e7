// The packages that are driven: found in a folder that was named or in an earlier run's, else installed. A folder holds
// packages in its own `node_modules`, or in those of folders below it, one for each part.
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { oneLine } from "./flows.ts"

const run = promisify(execFile)
const installMinutes = 15

const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"))
const repository = new URL("../../", import.meta.url).pathname
const pinned: Readonly<Record<string, string>> = {
  ...readJson(join(repository, "package.json")).dependencies,
  ...readJson(join(repository, "package.json")).devDependencies,
  ...readJson(new URL("./package.json", import.meta.url).pathname).dependencies
}

/** Where parts are installed. Git ignores it. */
const ownFolder = new URL("./parts", import.meta.url).pathname

/** What a package still has to run once npm has unpacked it. npm itself runs no package's scripts here. */
const finish: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code": "install.cjs",
  "opencode-ai": "postinstall.mjs"
}

export interface Part {
  readonly version: string
  /** The path of one of its commands. */
  readonly bin: (name: string) => string
  /** Loads one of its packages, or what that exports as `path`. */
  readonly load: (name: string, path?: string) => Promise<unknown>
}

/** The file that `import` of the package, or of `path` in it, means by its `exports` or `main`. */
const entryOf = (folder: string, path: string): string => {
  const manifest = readJson(join(folder, "package.json"))
  const choose = (at: unknown): string | undefined => {
    if (typeof at === "string") return at
    if (typeof at !== "object" || at === null) return undefined
    const chosen = Object.entries(at).find(([key]) => [path, "import", "node", "default"].includes(key))
    return chosen === undefined ? undefined : choose(chosen[1])
  }
  return join(folder, choose(manifest.exports) ?? manifest.main ?? "index.js")
}

const partIn = (modules: string, name: string): Part | undefined => {
  const manifest = join(modules, name, "package.json")
  if (!existsSync(manifest) || readJson(manifest).version !== pinned[name]) return undefined
  return {
    version: readJson(manifest).version,
    bin: (command) => join(modules, ".bin", command),
    load: (wanted, path = ".") => import(entryOf(join(modules, wanted), path))
  }
}

const modulesBelow = (folder: string): ReadonlyArray<string> =>
  existsSync(folder)
    ? [folder, ...readdirSync(folder).filter((name) => name !== "node_modules").map((name) => join(folder, name))]
      .map((at) => join(at, "node_modules"))
    : []

const install = async (packages: ReadonlyArray<string>) => {
  const [name = ""] = packages
  const folder = join(ownFolder, name.replace("/", "-"))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }))
  const wanted = packages.map((each) => `${each}@${pinned[each]}`)
  const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"]
  const timeout = installMinutes * 60_000
  await run("npm", ["install", ...options, ...wanted], { cwd: folder, timeout, maxBuffer: 2 ** 26 })
  const script = finish[name]
  const at = join(folder, "node_modules", name)
  if (script !== undefined) await run(process.execPath, [script], { cwd: at, timeout })
}

/** The part that `packages` make, of which the first names it, or why there is none. */
export const findPart = async (
  packages: readonly [string, ...ReadonlyArray<string>],
  folders: ReadonlyArray<string>
): Promise<Part | { readonly missing: string }> => {
  const [name] = packages
  const find = () =>
    [join(repository, "node_modules"), ...[...folders, ownFolder].flatMap(modulesBelow)]
      .map((modules) => partIn(modules, name)).find((part) => part !== undefined)
  const found = find()
  if (found !== undefined) return found
  try {
    console.error(`installing ${packages.join(" and ")}`)
    await install(packages)
    return find() ?? { missing: `npm installed something else than ${name}@${pinned[name]}` }
  } catch (error) {
    return { missing: `it could not be installed: ${oneLine(error)}` }
  }
}

/** The folder of Node's `bin`, first on the PATH of everything that is started. */
export const nodeFolder = dirname(process.execPath)
