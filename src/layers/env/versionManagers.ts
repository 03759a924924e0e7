// Interpreters that nvm, pyenv, rbenv and asdf have installed, found from their folders and version files alone: none of
// them is run. A version is text from a file; it leads into the manager's folder or nowhere.
import type { Interpreter } from "../../services/env/EnvConfig.ts"
import { isInside, type PathModule } from "./searchPath.ts"

type Managed = Extract<Interpreter, { readonly type: "version_manager" }>

export interface ManagerHost {
  readonly path: PathModule
  readonly isExecutable: (path: string) => boolean
  readonly realPath: (path: string) => string | undefined
  readonly list: (path: string) => ReadonlyArray<string>
  /** Text of a small file, or of one that does not leave the project if it is one of the project's. */
  readonly text: (path: string) => string | undefined
  /** Of Kiwi's own process. */
  readonly variable: (name: string) => string | undefined
  readonly userHome: string
  readonly project: string | undefined
  /** Whether version files of the project count. */
  readonly mayUseProject: boolean
  readonly unseen: ReadonlySet<string>
}

/** `system`: the version asked for is the machine's own. */
export type ManagedProgram =
  | { readonly path: string; readonly version: string }
  | { readonly system: true }
  | { readonly missing: string }

const versionText = /^[0-9A-Za-z.+_/-]+$/

/** Whether text may be part of a path at all; `lts/*` is nvm's one name with a star. */
const isVersion = (text: string) => text.length <= 64 && versionText.test(text) && !text.includes("..")

const lines = (text: string | undefined): ReadonlyArray<string> =>
  (text ?? "").split(/\r?\n/).map((l) => l.replace(/#.*$/, "").trim()).filter((l) => l !== "")

const numbers = (version: string) => version.replace(/^v/, "").split(/[.-]/).map((n) => Number.parseInt(n, 10))

/** Newest first: numbers by size, anything else (pre-releases, names) below them. */
const newestFirst = (a: string, b: string): number => {
  const left = numbers(a)
  const right = numbers(b)
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const l = left[i] ?? 0
    const r = right[i] ?? 0
    if (Number.isNaN(l) || Number.isNaN(r)) return Number(Number.isNaN(l)) - Number(Number.isNaN(r))
    if (l !== r) return r - l
  }
  return 0
}

/** The installed version that `wanted` names: itself, or the newest that it is the beginning of. */
const pick = (installed: ReadonlyArray<string>, wanted: string): string | undefined =>
  installed.includes(wanted)
    ? wanted
    : installed.filter((v) => v.startsWith(`${wanted}.`) && /^v?\d+(?:\.\d+)*$/.test(v)).toSorted(newestFirst)[0]

interface Layout {
  readonly root: string
  /** Folder of the installed versions. */
  readonly versions: string
  /** The program, from a version's folder. */
  readonly program: ReadonlyArray<string>
  /** What is asked for, the nearest first; empty when nothing is. */
  readonly wanted: ReadonlyArray<string>
  /** The installed version for one of them. */
  readonly choose: (wanted: string, installed: ReadonlyArray<string>) => string | undefined
}

const rootOf = (host: ManagerHost, variables: ReadonlyArray<string>, folder: string): string => {
  const named = variables.map(host.variable).find((v) => v !== undefined && v !== "")
  return named ?? host.path.join(host.userHome, folder)
}

const inProject = (host: ManagerHost, file: string) =>
  host.mayUseProject && host.project !== undefined && !host.unseen.has(file)
    ? host.text(host.path.join(host.project, file))
    : undefined

const nvmAlias = (host: ManagerHost, root: string, installed: ReadonlyArray<string>) => {
  const choose = (wanted: string, depth = 0): string | undefined => {
    if (wanted === "node" || wanted === "stable") return installed.toSorted(newestFirst)[0]
    const version = /^\d/.test(wanted) ? pick(installed, `v${wanted}`) : pick(installed, wanted)
    if (version !== undefined || depth > 4) return version
    const known = wanted === "lts/*" || isVersion(wanted)
    const alias = known ? lines(host.text(host.path.join(root, "alias", ...wanted.split("/"))))[0] : undefined
    return alias === undefined ? undefined : choose(alias, depth + 1)
  }
  return choose
}

const pluginPrograms: Readonly<Record<string, ReadonlyArray<string>>> = {
  nodejs: ["bin", "node"],
  golang: ["go", "bin", "go"]
}

const layoutOf = (declared: Managed, host: ManagerHost): Layout | { readonly missing: string } => {
  const { join } = host.path
  const asked = (files: ReadonlyArray<string | undefined>): ReadonlyArray<string> =>
    declared.version !== undefined
      ? [declared.version]
      : files.map(lines).find((found) => found.length > 0) ?? []
  switch (declared.manager) {
    case "nvm": {
      const root = rootOf(host, ["NVM_DIR"], ".nvm")
      const project = asked([inProject(host, ".nvmrc")])
      const fallback = project.length > 0 ? project : asked([host.text(join(root, "alias", "default"))])
      return {
        root,
        versions: join(root, "versions", "node"),
        program: ["bin", "node"],
        wanted: fallback.slice(0, 1),
        choose: (wanted, installed) => nvmAlias(host, root, installed)(wanted)
      }
    }
    case "pyenv":
    case "rbenv": {
      const [name, variable, program] = declared.manager === "pyenv"
        ? ["python", "PYENV_ROOT", "python"] as const
        : ["ruby", "RBENV_ROOT", "ruby"] as const
      const root = rootOf(host, [variable], `.${declared.manager}`)
      return {
        root,
        versions: join(root, "versions"),
        program: ["bin", program],
        wanted: asked([inProject(host, `.${name}-version`), host.text(join(root, "version"))])
          .flatMap((l) => l.split(/\s+/)).map((v) => v.replace(/^(?:ruby|python)-(?=\d)/, "")),
        choose: (wanted, installed) => pick(installed, wanted)
      }
    }
    case "asdf": {
      const { plugin } = declared
      if (plugin === undefined || !/^[A-Za-z0-9_-]+$/.test(plugin)) {
        return { missing: "asdf needs the name of a plugin" }
      }
      const root = rootOf(host, ["ASDF_DATA_DIR"], ".asdf")
      const versionsFor = (text: string | undefined) =>
        lines(text).map((l) => l.split(/\s+/)).find(([name]) => name === plugin)?.slice(1) ?? []
      const fromFiles = [inProject(host, ".tool-versions"), host.text(join(host.userHome, ".tool-versions"))]
        .map(versionsFor).find((found) => found.length > 0) ?? []
      return {
        root,
        versions: join(root, "installs", plugin),
        program: Object.hasOwn(pluginPrograms, plugin) ? pluginPrograms[plugin] ?? [] : ["bin", plugin],
        wanted: declared.version !== undefined ? [declared.version] : fromFiles,
        choose: (wanted, installed) => installed.includes(wanted) ? wanted : undefined
      }
    }
  }
}

/** The program of the version that is asked for. A version that is not installed is missing, never another one. */
export const findManaged = (declared: Managed, host: ManagerHost): ManagedProgram => {
  const layout = layoutOf(declared, host)
  if ("missing" in layout) return layout
  const { choose, program, root, versions, wanted } = layout
  const { manager } = declared
  const { path } = host
  if (!path.isAbsolute(root)) return { missing: `the folder of ${manager} is not an absolute path` }
  if (host.project !== undefined && isInside(path, host.project, root)) {
    return { missing: `the folder of ${manager} lies in the project` }
  }
  if (wanted.length === 0) return { system: true }
  const installed = host.list(versions)
  for (const version of wanted) {
    if (version === "system") return { system: true }
    if (version !== "lts/*" && !isVersion(version)) return { missing: `what ${manager} is asked for is no version` }
    const chosen = choose(version, installed)
    if (chosen === undefined || !isVersion(chosen)) continue
    const file = path.join(versions, ...chosen.split("/"), ...program)
    const real = host.realPath(file)
    const realRoot = host.realPath(root)
    if (real === undefined || realRoot === undefined || !host.isExecutable(file)) continue
    if (!isInside(path, realRoot, real)) return { missing: `${chosen} of ${manager} leads out of its folder` }
    return { path: file, version: chosen.replace(/^v(?=\d)/, "") }
  }
  return { missing: `${manager} has not installed ${wanted.join(" or ")}` }
}
