// The interpreter that a runtime declares. Candidates are executable files by absolute path; those of the project serve
// the project's own tools, once a person trusts it.
import type { Interpreter } from "../../services/env/EnvConfig.ts"
import type { InterpreterKind } from "../../services/env/ResolvedInterpreter.ts"
import type { HostFiles } from "./HostFiles.ts"
import { programVersion, venvVersion } from "./interpreterVersion.ts"
import { isInside, type PathModule, type Programs } from "./searchPath.ts"
import { findManaged } from "./versionManagers.ts"

export interface InterpreterHost {
  readonly host: HostFiles
  readonly path: PathModule
  readonly windows: boolean
  readonly programs: Programs
  readonly project: string | undefined
  readonly userSpace: string
  readonly userHome: string
  /** The chain's leaf is the project's, and a person trusts the project. */
  readonly mayUseProject: boolean
  /** Places of the project that nobody was shown when it was trusted. */
  readonly unseen: ReadonlySet<string>
  readonly variable: (name: string) => string | undefined
  /** Text of a small file, remembered until the file changes. */
  readonly text: (path: string) => string | undefined
}

export type FoundInterpreter =
  | {
    readonly _tag: "Found"
    readonly path: string
    readonly kind: InterpreterKind
    readonly version: string | undefined
  }
  | { readonly _tag: "Missing"; readonly why: string }

type Searched = Extract<Interpreter, { readonly type: "venv_python" | "node_modules" }>

const defaultSearch = ["kiwi", "user", "system"] as const

const relativePaths = (type: Searched["type"], windows: boolean): ReadonlyArray<string> =>
  type === "venv_python"
    ? windows ? [".venv", "Scripts", "python.exe"] : [".venv", "bin", "python"]
    : ["node_modules", ".bin", windows ? "node.exe" : "node"]

const onPath = { venv_python: ["python3", "python"], node_modules: ["node"] } as const

const firstProgram = (names: ReadonlyArray<string>, { programs }: InterpreterHost): string | undefined => {
  for (const name of names) {
    const found = programs.find(name)
    if (found !== undefined) return found
  }
  return undefined
}

const foundOf = (at: InterpreterHost, kind: InterpreterKind, path: string, version?: string): FoundInterpreter => ({
  _tag: "Found",
  path,
  kind,
  version: version ?? programVersion(path, { path: at.path, realPath: at.host.realPath, text: at.text })
})

const kinds = {
  venv_python: { project: "project-venv", kiwi: "kiwi-venv", user: "user-venv", system: "system" },
  node_modules: { project: "project-node", kiwi: "kiwi-node", user: "user-node", system: "system" }
} as const

/** The first place that has it, and in words where it was looked for. */
const search = (declared: Searched, at: InterpreterHost): FoundInterpreter => {
  const relative = relativePaths(declared.type, at.windows)
  const looked: Array<string> = []
  const candidate = (folder: string | undefined, where: string): string | undefined => {
    if (folder === undefined) return undefined
    looked.push(`${relative.join("/")} in ${where}`)
    const file = at.path.join(folder, ...relative)
    return at.host.executable(file) === undefined ? undefined : file
  }
  const inProject = (where: string, ...below: ReadonlyArray<string>): string | undefined => {
    if (at.project === undefined) return undefined
    const place = [...below, relative[0]].join("/")
    if (at.mayUseProject && !at.unseen.has(place)) return candidate(at.path.join(at.project, ...below), where)
    looked.push(
      at.mayUseProject
        ? `not in ${place}, which was there before kiwi init: kiwi trust project accepts it`
        : `not in ${where}, which serves only the tools of a trusted project`
    )
    return undefined
  }
  const lookIn = (place: "project" | "kiwi" | "user" | "system"): string | undefined => {
    switch (place) {
      case "project":
        return inProject("the project")
      case "kiwi":
        return inProject("the project's .ai/scripts", ".ai", "scripts")
      case "user":
        return candidate(at.userSpace, "the user space")
      case "system":
        looked.push(`${onPath[declared.type].join(" and ")} on PATH`)
        return firstProgram(onPath[declared.type], at)
    }
  }
  for (const place of declared.search ?? defaultSearch) {
    const path = lookIn(place)
    if (path === undefined) continue
    const settings = declared.type === "venv_python" && place !== "system"
      ? at.text(at.path.join(at.path.dirname(at.path.dirname(path)), "pyvenv.cfg"))
      : undefined
    return foundOf(at, kinds[declared.type][place], path, venvVersion(settings))
  }
  return { _tag: "Missing", why: looked.length === 0 ? "nowhere to look" : `looked for ${looked.join(", ")}` }
}

const managedText = (at: InterpreterHost) => (file: string): string | undefined => {
  if (at.project === undefined || !isInside(at.path, at.project, file)) return at.text(file)
  const real = at.host.realPath(file)
  return real !== undefined && isInside(at.path, at.project, real) ? at.text(file) : undefined
}

const systemProgram = (declared: Extract<Interpreter, { readonly type: "version_manager" }>) => {
  switch (declared.manager) {
    case "nvm":
      return ["node"]
    case "pyenv":
      return ["python3", "python"]
    case "rbenv":
      return ["ruby"]
    case "asdf":
      return declared.plugin === "nodejs" ? ["node"] : declared.plugin === "golang" ? ["go"] : [declared.plugin ?? ""]
  }
}

const findDeclared = (declared: Interpreter, at: InterpreterHost): FoundInterpreter => {
  switch (declared.type) {
    case "venv_python":
    case "node_modules":
      return search(declared, at)
    case "system_binary": {
      const path = at.programs.find(declared.binary)
      return path === undefined
        ? { _tag: "Missing", why: `looked for ${declared.binary} on PATH` }
        : foundOf(at, "system", path)
    }
    case "version_manager": {
      const managed = findManaged(declared, {
        ...at,
        isExecutable: (file) => at.host.executable(file) !== undefined,
        realPath: at.host.realPath,
        list: at.host.list,
        text: managedText(at)
      })
      if ("path" in managed) return foundOf(at, declared.manager, managed.path, managed.version)
      if ("missing" in managed) return { _tag: "Missing", why: managed.missing }
      const path = firstProgram(systemProgram(declared), at)
      return path === undefined
        ? { _tag: "Missing", why: `looked for ${systemProgram(declared).join(" and ")} on PATH` }
        : foundOf(at, "system", path)
    }
  }
}

export const findInterpreter = (declared: Interpreter, at: InterpreterHost): FoundInterpreter => {
  const found = findDeclared(declared, at)
  if (found._tag === "Found") return found
  const fallback = declared.fallback === undefined ? undefined : at.programs.find(declared.fallback)
  if (fallback !== undefined) return foundOf(at, "fallback", fallback)
  const tried = declared.fallback === undefined ? "" : `, and the fallback ${declared.fallback}`
  return { _tag: "Missing", why: `no interpreter for ${declared.var} (${declared.type}): ${found.why}${tried}` }
}
