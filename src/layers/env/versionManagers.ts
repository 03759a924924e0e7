// Finds interpreters that nvm, pyenv, rbenv and asdf have installed, only from their folders and version files: none of
// the managers is run. A version is text from a file, and may only lead into the manager's folder.
import type { Interpreter } from "../../services/env/EnvConfig.ts"
import { isVersion, linesOf, newestFirst, pickVersion } from "../../services/env/versionText.ts"
import { isInside } from "../files/isInside.ts"
import type { PathModule } from "./searchPath.ts"

export type Managed = Extract<Interpreter, { readonly type: "version_manager" }>

export interface ManagerHost {
  readonly path: PathModule
  readonly windows: boolean
  readonly isExecutable: (path: string) => boolean
  readonly realPath: (path: string) => string | undefined
  readonly list: (path: string) => ReadonlyArray<string>
  /** Text of a small file. A file of the checkout must not lead out of it. */
  readonly text: (path: string) => string | undefined
  /** A variable of Kiwi's own process. */
  readonly variable: (name: string) => string | undefined
  readonly userHome: string
  readonly project: string | undefined
  /** The project, or the checkout that contains it. */
  readonly checkout: string | undefined
  /** Whether version files of the project apply. */
  readonly mayUseProject: boolean
  /**
   * Whether the file at this place of the project may be used: a person has been shown it, or there is no person to
   * ask.
   */
  readonly isSeen: (place: string) => boolean
  /** Whether a person has been shown something there. */
  readonly wasShown: (place: string) => boolean
  /** Records a file of the checkout whose version applies, or would if it still contained one. */
  readonly obey: (place: string) => void
  /** Records where an interpreter was looked for, and the outcome. */
  readonly record: (where: string, outcome: string, path?: string) => void
}

export type ManagedProgram =
  | { readonly path: string; readonly version: string; readonly folder: string }
  /** The requested version is the machine's own. */
  | { readonly system: true }
  | { readonly missing: string; readonly remedy?: string }
  /** A version file of the project that nobody was shown. */
  | { readonly unseen: string }

/** The variables of the process that are needed, besides those for folders. */
const asdfVersion = (plugin: string) => `ASDF_${plugin.toUpperCase().replaceAll("-", "_")}_VERSION`

export const managerVariables = (declared: Managed): ReadonlyArray<string> => {
  switch (declared.manager) {
    case "nvm":
      return ["NVM_DIR", "NVM_HOME", "APPDATA"]
    case "pyenv":
      return ["PYENV_ROOT", "PYENV", "PYENV_HOME", "PYENV_VERSION"]
    case "rbenv":
      return ["RBENV_ROOT", "RBENV_VERSION"]
    case "asdf":
      return ["ASDF_DATA_DIR", "ASDF_DIR", "ASDF_DEFAULT_TOOL_VERSIONS_FILENAME", asdfVersion(declared.plugin ?? "")]
  }
}

interface Layout {
  readonly root: string
  /** Folder of the installed versions. */
  readonly versions: string
  /** Possible paths of the program in a version's folder; the first that exists is used. */
  readonly programs: ReadonlyArray<ReadonlyArray<string>>
  /** The requested versions, the nearest file first. Empty if none is requested. */
  readonly wanted: ReadonlyArray<string>
  /** Chooses the installed version for a request. */
  readonly choose: (wanted: string, installed: ReadonlyArray<string>) => string | undefined
  /** The command that installs a version. */
  readonly install: (version: string) => string
}

class Unseen {
  readonly place: string
  constructor(place: string) {
    this.place = place
  }
}

const rootOf = (host: ManagerHost, variables: ReadonlyArray<string>, ...folder: ReadonlyArray<string>): string =>
  variables.map(host.variable).find((v) => v !== undefined && v !== "") ?? host.path.join(host.userHome, ...folder)

const deepest = 32

/** The project, and the folders above it that belong to its checkout or to the person. */
const foldersAbove = ({ checkout, path, project, userHome }: ManagerHost): ReadonlyArray<string> => {
  if (project === undefined) return []
  const found = [project]
  for (let i = 0; i < deepest; i++) {
    const next = path.dirname(found[i] ?? "")
    const mayCount = isInside(userHome, next, path) || (checkout !== undefined && isInside(checkout, next, path))
    if (next === found[i] || !mayCount) return found
    found.push(next)
  }
  return found
}

const shownFiles: ReadonlySet<string> = new Set([".nvmrc", ".python-version", ".ruby-version", ".tool-versions"])

/** The content of the nearest file with this name, from the project upwards, as the managers search. */
const nearest = (
  host: ManagerHost,
  file: string,
  read: (text: string | undefined) => ReadonlyArray<string>
): ReadonlyArray<string> | Unseen => {
  const { checkout, path, project } = host
  if (!host.mayUseProject || project === undefined) return []
  for (const folder of foldersAbove(host)) {
    const at = path.join(folder, file)
    const wanted = read(host.text(at))
    // Set if a person must have been shown it.
    const place = checkout !== undefined && isInside(checkout, folder, path)
      ? path.relative(project, at).split(path.sep).join("/")
      : undefined
    // A person is shown only the managers' usual files, and not one with another, configured name.
    if (place !== undefined && !shownFiles.has(file)) continue
    const where = folder === project ? `${file} in the project` : place ?? file
    if (wanted.length === 0) {
      if (place !== undefined) host.record(where, "says nothing", at)
      if (place !== undefined && host.wasShown(place)) host.obey(place)
      continue
    }
    if (place !== undefined && !host.isSeen(place)) return new Unseen(place)
    if (place !== undefined) host.obey(place)
    host.record(where, `asks for ${wanted.join(" or ")}`, at)
    return wanted
  }
  return []
}

const fromText = (
  host: ManagerHost,
  where: string,
  file: string,
  read: (text: string | undefined) => ReadonlyArray<string>
) => {
  const wanted = read(host.text(file))
  host.record(where, wanted.length === 0 ? "says nothing" : `asks for ${wanted.join(" or ")}`, file)
  return wanted
}

const fromVariable = (host: ManagerHost, name: string, separator: RegExp): ReadonlyArray<string> => {
  const wanted = (host.variable(name) ?? "").split(separator).filter((v) => v !== "")
  if (wanted.length > 0) host.record(name, `asks for ${wanted.join(" or ")}`)
  return wanted
}

/** The first source that requests a version. Later ones are not read. */
const firstAsked = (
  sources: ReadonlyArray<() => ReadonlyArray<string> | Unseen>
): ReadonlyArray<string> | Unseen => {
  for (const source of sources) {
    const wanted = source()
    if (wanted instanceof Unseen || wanted.length > 0) return wanted
  }
  return []
}

const nvmChoice = (host: ManagerHost, root: string) => {
  const { path } = host
  /** `lts/-1` is the line before the newest. The names of the lines are in alphabetical order. */
  const lts = (wanted: string) => {
    const back = /^lts\/-(\d{1,2})$/.exec(wanted)?.[1]
    if (back === undefined) return wanted
    const lines = host.list(path.join(root, "alias", "lts")).filter((name) => name !== "*").toSorted()
    return `lts/${lines.at(-1 - Number(back)) ?? ""}`
  }
  const choose = (asked: string, installed: ReadonlyArray<string>, depth = 0): string | undefined => {
    const wanted = lts(asked)
    if (wanted === "system") return wanted
    if (wanted === "node" || wanted === "stable" || wanted === "newest" || wanted === "latest") {
      return installed.filter((v) => /^v?\d/.test(v)).toSorted(newestFirst)[0]
    }
    const version = pickVersion(installed, /^\d/.test(wanted) ? `v${wanted}` : wanted)
    if (version !== undefined || depth > 9) return version
    const known = wanted === "lts/*" || isVersion(wanted)
    const alias = known ? linesOf(host.text(path.join(root, "alias", ...wanted.split("/"))))[0] : undefined
    return alias === undefined ? undefined : choose(alias, installed, depth + 1)
  }
  return choose
}

const nvmLayout = (declared: Managed, host: ManagerHost): Layout | Unseen => {
  const { path, windows } = host
  const root = windows && host.variable("NVM_DIR") === undefined
    ? host.variable("NVM_HOME") ?? path.join(host.variable("APPDATA") ?? host.userHome, "nvm")
    : rootOf(host, ["NVM_DIR"], ".nvm")
  const first = (text: string | undefined) => linesOf(text).slice(0, 1)
  const wanted = firstAsked([
    () => declared.version === undefined ? [] : [declared.version],
    () => nearest(host, ".nvmrc", first),
    () => fromText(host, "nvm's alias default", path.join(root, "alias", "default"), first)
  ])
  if (wanted instanceof Unseen) return wanted
  return {
    root,
    // nvm-windows keeps its versions directly in its own folder, without a bin.
    versions: windows ? root : path.join(root, "versions", "node"),
    programs: windows ? [["node.exe"]] : [["bin", "node"]],
    wanted,
    choose: nvmChoice(host, root),
    install: (version) => `nvm install ${version}`
  }
}

const envLayout = (declared: Managed, host: ManagerHost): Layout | Unseen => {
  const { path, windows } = host
  const isPython = declared.manager === "pyenv"
  const program = isPython ? "python" : "ruby"
  const prefix = isPython ? "PYENV" : "RBENV"
  const root = isPython && windows
    ? rootOf(host, ["PYENV", "PYENV_ROOT", "PYENV_HOME"], ".pyenv", "pyenv-win")
    : rootOf(host, [`${prefix}_ROOT`], `.${declared.manager}`)
  // pyenv accepts every version in its file, rbenv only the first word.
  const words = (text: string | undefined) => {
    const all = linesOf(text).flatMap((l) => l.split(/\s+/)).map((v) => v.replace(/^(?:ruby|python)-(?=\d)/, ""))
    return isPython ? all : all.slice(0, 1)
  }
  const wanted = firstAsked([
    () => declared.version === undefined ? [] : [declared.version],
    () => fromVariable(host, `${prefix}_VERSION`, /[:\s]+/),
    () => nearest(host, `.${program}-version`, words),
    () => fromText(host, `${declared.manager}'s global version`, path.join(root, "version"), words)
  ])
  if (wanted instanceof Unseen) return wanted
  return {
    root,
    versions: path.join(root, "versions"),
    programs: windows
      ? [[`${program}.exe`], ["bin", `${program}.exe`], ["Scripts", `${program}.exe`]]
      : [["bin", program]],
    wanted,
    choose: (version, installed) => pickVersion(installed, version) ?? (version.includes("/") ? version : undefined),
    install: (version) => `${declared.manager} install ${version}`
  }
}

const pluginPrograms: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["nodejs", ["bin", "node"]],
  ["golang", ["go", "bin", "go"]]
])

const asdfLayout = (declared: Managed, host: ManagerHost): Layout | Unseen | { readonly missing: string } => {
  const { plugin } = declared
  const { path } = host
  if (plugin === undefined || !/^[A-Za-z0-9_-]{1,64}$/.test(plugin)) {
    return { missing: "asdf needs the name of a plugin" }
  }
  const root = rootOf(host, ["ASDF_DATA_DIR"], ".asdf")
  const named = host.variable("ASDF_DEFAULT_TOOL_VERSIONS_FILENAME") ?? ".tool-versions"
  const isName = !/[/\\]/.test(named)
  // Some users configure one file of their own, by its absolute path.
  const file = isName ? named : ".tool-versions"
  const own = path.resolve(host.userHome, named)
  const isForeign = host.checkout !== undefined && isInside(host.checkout, own, path)
  const versions = (text: string | undefined) =>
    linesOf(text).map((l) => l.split(/\s+/)).find(([name]) => name === plugin)?.slice(1) ?? []
  const wanted = firstAsked([
    () => declared.version === undefined ? [] : [declared.version],
    () => fromVariable(host, asdfVersion(plugin), /\s+/),
    () => nearest(host, file, versions),
    () => isForeign ? [] : fromText(host, isName ? `${file} in your home folder` : named, own, versions)
  ])
  if (wanted instanceof Unseen) return wanted
  const program = pluginPrograms.get(plugin) ?? ["bin", plugin]
  return {
    root,
    versions: path.join(root, "installs", plugin),
    programs: [host.windows ? [...program.slice(0, -1), `${program.at(-1)}.exe`] : program],
    wanted,
    choose: (version, installed) => installed.includes(version) ? version : undefined,
    install: (version) => `asdf install ${plugin} ${version}`
  }
}

const layoutOf = (declared: Managed, host: ManagerHost) =>
  declared.manager === "nvm"
    ? nvmLayout(declared, host)
    : declared.manager === "asdf"
    ? asdfLayout(declared, host)
    : envLayout(declared, host)

/** The program of the requested version. A version that is not installed is missing and never replaced by another. */
export const findManaged = (declared: Managed, host: ManagerHost): ManagedProgram => {
  const layout = layoutOf(declared, host)
  if (layout instanceof Unseen) return { unseen: layout.place }
  if ("missing" in layout) return layout
  const { choose, install, programs, root, versions, wanted } = layout
  const { manager } = declared
  const { path } = host
  if (!path.isAbsolute(root)) return { missing: `the folder of ${manager} is not an absolute path` }
  if (host.checkout !== undefined && isInside(host.checkout, root, path)) {
    return { missing: `the folder of ${manager} is inside the project's checkout` }
  }
  if (wanted.length === 0) return { system: true }
  const installed = host.list(versions)
  for (const version of wanted) {
    if (version !== "lts/*" && !isVersion(version)) {
      return {
        missing: `the version requested from ${manager} is not valid`,
        remedy: "write a version where kiwi env explain says that it was looked for"
      }
    }
    const chosen = version === "system" ? version : choose(version, installed)
    if (chosen === "system") return { system: true }
    if (chosen === undefined || !isVersion(chosen)) {
      host.record(`${version} of ${manager}`, "not installed", versions)
      continue
    }
    const folder = path.join(versions, ...chosen.split("/"))
    const file = programs.map((program) => path.join(folder, ...program)).find(host.isExecutable)
    const real = file === undefined ? undefined : host.realPath(file)
    const realRoot = host.realPath(root)
    if (file === undefined || real === undefined || realRoot === undefined) {
      host.record(`${version} of ${manager}`, "has no program that runs", folder)
      continue
    }
    if (!isInside(realRoot, real, path)) return { missing: `${chosen} of ${manager} leads out of its folder` }
    return { path: file, version: chosen.replace(/^v(?=\d)/, ""), folder }
  }
  const [first = ""] = wanted
  return { missing: `${manager} has not installed ${wanted.join(" or ")}`, remedy: install(first) }
}
