// The virtual environments of a project: those with the usual names, uv's at `UV_PROJECT_ENVIRONMENT`, and poetry's in
// its own folder. Poetry names them by the project's name and a digest of its path, so none serves another project.
import { createHash } from "node:crypto"
import { newestFirst, tomlValue } from "../../services/env/versionText.ts"
import { isInside } from "../files/isInside.ts"
import type { PathModule } from "./searchPath.ts"

export type Platform = "linux" | "macos" | "windows"

/** From Node's name for the platform. */
export const platformOf = (name: string): Platform =>
  name === "win32" ? "windows" : name === "darwin" ? "macos" : "linux"

/** The program's path in a virtual environment. */
export const pythonIn = (platform: Platform) => platform === "windows" ? ["Scripts", "python.exe"] : ["bin", "python"]

/** Node's path in a `node_modules`, the most likely first. */
export const nodeIn = (platform: Platform): ReadonlyArray<ReadonlyArray<string>> =>
  // npm's shim is node.cmd; the program that it starts is in the package.
  platform === "windows" ? [[".bin", "node.exe"], ["node", "bin", "node.exe"]] : [[".bin", "node"]]

/** The usual names of virtual environments, in order of precedence. */
export const venvNames: ReadonlyArray<string> = [".venv", "venv", "env"]

/** Files that must be in a folder for it to be a virtual environment, since any folder may be called `env`. */
export const neededIn = (environment: string): ReadonlyArray<string> => environment === ".venv" ? [] : ["pyvenv.cfg"]

export interface ProjectHost {
  readonly path: PathModule
  readonly platform: Platform
  readonly project: string
  /** The project, or the checkout that contains it. */
  readonly checkout: string
  readonly userHome: string
  readonly variable: (name: string) => string | undefined
  readonly realPath: (path: string) => string | undefined
  readonly list: (path: string) => ReadonlyArray<string>
  /** Text of a small file. A file of the checkout must not lead out of it. */
  readonly text: (path: string) => string | undefined
}

export interface VirtualEnvironment {
  readonly kind: "uv" | "poetry"
  readonly folder: string
  /** Relative to the project, forward slashes, if it is in the checkout: what a person must have been shown. */
  readonly place: string | undefined
  readonly where: string
}

/** The variables of the process that are needed. */
export const virtualEnvironmentVariables: ReadonlyArray<string> = [
  "UV_PROJECT_ENVIRONMENT",
  "POETRY_VIRTUALENVS_PATH",
  "POETRY_VIRTUALENVS_IN_PROJECT",
  "POETRY_CACHE_DIR",
  "XDG_CACHE_HOME",
  "LOCALAPPDATA"
]

const isTrue = (value: string | undefined) => value !== undefined && /^(?:1|true)$/i.test(value)

export const uvEnvironment = (host: ProjectHost): VirtualEnvironment | undefined => {
  const { checkout, path, project } = host
  const named = host.variable("UV_PROJECT_ENVIRONMENT")
  if (named === undefined || host.text(path.join(project, "pyproject.toml")) === undefined) return undefined
  const folder = path.resolve(project, named)
  return {
    kind: "uv",
    folder,
    place: isInside(checkout, folder, path) ? path.relative(project, folder).split(path.sep).join("/") : undefined,
    where: "the place that UV_PROJECT_ENVIRONMENT names"
  }
}

const poetryFolder = ({ path, platform, userHome, variable }: ProjectHost): string => {
  const own = variable("POETRY_VIRTUALENVS_PATH")
  if (own !== undefined) return own
  const cache = variable("POETRY_CACHE_DIR") ?? {
    linux: () => path.join(variable("XDG_CACHE_HOME") ?? path.join(userHome, ".cache"), "pypoetry"),
    macos: () => path.join(userHome, "Library", "Caches", "pypoetry"),
    windows: () => path.join(variable("LOCALAPPDATA") ?? path.join(userHome, "AppData", "Local"), "pypoetry", "Cache")
  }[platform]()
  return path.join(cache, "virtualenvs")
}

/** `<name>-<digest>`, as poetry makes it. Older versions keep the name as written, newer ones normalise it. */
const poetryNames = (host: ProjectHost, name: string): ReadonlyArray<string> => {
  const real = host.realPath(host.project) ?? host.project
  const place = host.platform === "windows" ? real.replaceAll("/", "\\").toLowerCase() : real
  const digest = createHash("sha256").update(place).digest("base64url").slice(0, 8)
  const lower = name.toLowerCase()
  return [...new Set([lower.replace(/[-_.]+/g, "-"), lower])]
    .map((one) => `${one.replace(/[ $`!*@"\\\r\n\t]/g, "_").slice(0, 42)}-${digest}`)
}

/** The environment that poetry uses in this project: the one chosen by `poetry env use`, or else the newest. */
export const poetryEnvironment = (host: ProjectHost): VirtualEnvironment | undefined => {
  const { checkout, path, project } = host
  if (isTrue(host.variable("POETRY_VIRTUALENVS_IN_PROJECT"))) return undefined
  const manifest = host.text(path.join(project, "pyproject.toml"))
  if (manifest === undefined) return undefined
  const name = tomlValue(manifest, "project", "name") ?? tomlValue(manifest, "tool.poetry", "name")
  const folder = poetryFolder(host)
  // A folder inside the checkout could have come with it, so it does not count as poetry's.
  if (name === undefined || !path.isAbsolute(folder) || isInside(checkout, folder, path)) return undefined
  const chosen = host.text(path.join(folder, "envs.toml"))
  const installed = host.list(folder)
  for (const base of poetryNames(host, name)) {
    const version = (entry: string) => entry.slice(`${base}-py`.length)
    const found = installed.filter((entry) => entry.startsWith(`${base}-py`) && /^\d+\.\d+$/.test(version(entry)))
    const minor = tomlValue(chosen, base, "minor")
    const entry = found.find((one) => version(one) === minor) ??
      found.toSorted((a, b) => newestFirst(version(a), version(b)))[0]
    if (entry !== undefined) {
      return { kind: "poetry", folder: path.join(folder, entry), place: undefined, where: "poetry's folder" }
    }
  }
  return undefined
}
