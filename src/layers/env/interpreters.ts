// Finds the interpreter that a runtime declares. Candidates are executable files by absolute path. Those in the project
// serve only the project's own tools, once a person trusts it and has been shown the place. A place that nobody was
// shown ends the search: a fallback would silently run the tool with another interpreter.
import type { Interpreter } from "../../services/env/EnvConfig.ts"
import type { LookedAt } from "../../services/env/EnvResolver.ts"
import type { InterpreterFile, InterpreterKind } from "../../services/env/ResolvedInterpreter.ts"
import { venvVersion } from "../../services/env/versionText.ts"
import { makeItALink, newProgram, throughProcess } from "../../services/trust/ShownProgram.ts"
import { isInside } from "../files/isInside.ts"
import { processPath } from "../files/processPath.ts"
import type { HostFiles } from "./HostFiles.ts"
import { type PathModule, type Programs, programVersion } from "./searchPath.ts"
import { findManaged, type Managed } from "./versionManagers.ts"
import {
  neededIn,
  nodeIn,
  type Platform,
  poetryEnvironment,
  type ProjectHost,
  pythonIn,
  uvEnvironment,
  venvNames,
  type VirtualEnvironment
} from "./virtualEnvironments.ts"

export interface InterpreterHost {
  readonly host: HostFiles
  readonly path: PathModule
  readonly platform: Platform
  readonly programs: Programs
  readonly project: string | undefined
  /** The project, or the checkout that contains it. */
  readonly checkout: string | undefined
  readonly userSpace: string
  readonly userHome: string
  /** Whether the chain's leaf is the project's, and a person trusts the project. */
  readonly mayUseProject: boolean
  /**
   * Whether the file at this place of the project may be used: a person has been shown it, or there is no person to
   * ask.
   */
  readonly isSeen: (place: string) => boolean
  /** Whether a person has been shown something there. */
  readonly wasShown: (place: string) => boolean
  readonly variable: (name: string) => string | undefined
  /** Text of a small file, cached until the file changes. */
  readonly text: (path: string) => string | undefined
}

export type FoundInterpreter =
  & {
    readonly looked: ReadonlyArray<LookedAt>
    /**
     * Files of the checkout that the choice depends on: the program itself, files that chose its version, and places
     * where a person was shown a program and there is none now. All must be as they were shown.
     */
    readonly places: ReadonlyArray<string>
  }
  & (
    | {
      readonly _tag: "Found"
      readonly path: string
      readonly kind: InterpreterKind
      readonly version: string | undefined
      /** Set by the code that checks whether a person was shown it; see ResolvedInterpreter. */
      readonly place?: string
      readonly program?: InterpreterFile | undefined
    }
    | { readonly _tag: "Missing"; readonly why: string; readonly remedy: string | undefined }
  )

type Searched = Extract<Interpreter, { readonly type: "venv_python" | "node_modules" }>
type InterpreterOrigin = "project" | "kiwi" | "user" | "system"

/**
 * How a search ends: with a program, with one that should exist, at a place that nobody was shown, or without a result.
 */
type Outcome =
  | { readonly path: string; readonly kind: InterpreterKind; readonly version?: string | undefined }
  | { readonly missing: string; readonly remedy?: string | undefined }
  /** No fallback replaces it. */
  | { readonly unseen: string }
  /** Nor one that nobody can accept. */
  | { readonly refused: string }
  | undefined

interface Search extends InterpreterHost {
  readonly looked: Array<LookedAt>
  readonly places: Array<string>
}

/**
 * A path of the interpreter, and the files that must exist for it to count. Both relative to the folder that is
 * searched.
 */
interface Sought {
  readonly relative: ReadonlyArray<string>
  readonly needed: ReadonlyArray<ReadonlyArray<string>>
}

interface Candidate {
  readonly sought: Sought
  readonly kind: InterpreterKind
  readonly folder: string
  readonly where: string
  /** Relative to the project, if it is inside its checkout. */
  readonly place?: string | undefined
  /** Only for the project's own tools. */
  readonly ofProject: boolean
}

const defaultSearch = ["kiwi", "user", "system"] as const

const kinds = {
  venv_python: { project: "project-venv", kiwi: "kiwi-venv", user: "user-venv" },
  node_modules: { project: "project-node", kiwi: "kiwi-node", user: "user-node" }
} as const

const onPath = { venv_python: ["python3", "python"], node_modules: ["node"] } as const

const nothing = "nothing there that runs"

export const acceptCommand = "kiwi trust project"

/** The most likely first. */
const soughtIn = (type: Searched["type"], platform: Platform): ReadonlyArray<Sought> =>
  type === "venv_python"
    ? venvNames.map((name) => ({
      relative: [name, ...pythonIn(platform)],
      needed: neededIn(name).map((file) => [name, file])
    }))
    : nodeIn(platform).map((inside) => ({ relative: ["node_modules"].concat(inside), needed: [] }))

const onSearchPath = (names: ReadonlyArray<string>, at: Search, kind: InterpreterKind): Outcome => {
  const where = `${names.join(" and ")} on PATH`
  for (const name of names) {
    const path = at.programs.find(name)
    if (path !== undefined) return { path, kind }
  }
  at.looked.push({ where, outcome: nothing })
  return undefined
}

const tryCandidate = (candidate: Candidate, at: Search): Outcome => {
  const { folder, kind, ofProject, place, sought: { needed, relative } } = candidate
  if (!needed.every((one) => at.host.isFile(at.path.join(folder, ...one)))) {
    if (place !== undefined && at.wasShown(place)) at.places.push(place)
    return undefined
  }
  const where = `${relative.join("/")} in ${candidate.where}`
  const file = at.path.join(folder, ...relative)
  const record = (outcome: string) => void at.looked.push({ where, path: file, outcome })
  if (ofProject && !at.mayUseProject) {
    record("passed over: it serves only the tools of a trusted project")
    return undefined
  }
  const through = processPath(file, at.host.readLink)
  if (through !== undefined) {
    record(throughProcess(through))
    return { refused: `${place ?? where} ${throughProcess(through)}` }
  }
  if (at.host.executable(file) === undefined) {
    const shim = file.endsWith("node.exe") && at.host.isFile(file.replace(/\.exe$/, ".cmd"))
    record(shim ? "only node.cmd, which needs a shell, and Kiwi starts none" : nothing)
    if (place !== undefined && at.wasShown(place)) at.places.push(place)
    return undefined
  }
  if (place !== undefined && !at.isSeen(place)) {
    record("nobody has been shown it")
    return { unseen: place }
  }
  if (place !== undefined) at.places.push(place)
  const settings = kind.endsWith("node")
    ? undefined
    : at.text(at.path.join(at.path.dirname(at.path.dirname(file)), "pyvenv.cfg"))
  return { path: file, kind, version: venvVersion(settings) }
}

const firstOf = (candidates: Iterable<Candidate>, at: Search): Outcome => {
  for (const candidate of candidates) {
    const outcome = tryCandidate(candidate, at)
    if (outcome !== undefined) return outcome
  }
  return undefined
}

const guardedText = (at: InterpreterHost) => (file: string): string | undefined => {
  const { checkout, path } = at
  if (checkout === undefined || !isInside(checkout, file, path)) return at.text(file)
  const real = at.host.realPath(file)
  return real !== undefined && isInside(checkout, real, path) ? at.text(file) : undefined
}

const projectCandidates = function*(declared: Searched, at: Search): Iterable<Candidate> {
  const { checkout, platform, project } = at
  if (project === undefined || checkout === undefined) return
  const isPython = declared.type === "venv_python"
  const host: ProjectHost = {
    ...at,
    project,
    checkout,
    realPath: at.host.realPath,
    list: at.host.list,
    text: guardedText(at)
  }
  const outside = (environment: VirtualEnvironment | undefined): ReadonlyArray<Candidate> =>
    environment === undefined ? [] : [{
      ...environment,
      place: environment.place === undefined ? undefined : [environment.place, ...pythonIn(platform)].join("/"),
      sought: { relative: pythonIn(platform), needed: [] },
      ofProject: true
    }]
  if (isPython && at.mayUseProject) yield* outside(uvEnvironment(host))
  for (const sought of soughtIn(declared.type, platform)) {
    yield {
      sought,
      kind: kinds[declared.type].project,
      folder: project,
      where: "the project",
      place: sought.relative.join("/"),
      ofProject: true
    }
  }
  if (isPython && at.mayUseProject) yield* outside(poetryEnvironment(host))
}

const candidatesIn = (
  place: Exclude<InterpreterOrigin, "system">,
  declared: Searched,
  at: Search
): Iterable<Candidate> => {
  const kind = kinds[declared.type][place]
  const files = soughtIn(declared.type, at.platform)
  switch (place) {
    case "project":
      return projectCandidates(declared, at)
    case "kiwi":
      return at.project === undefined ? [] : files.map((sought) => ({
        sought,
        kind,
        folder: at.path.join(at.project ?? "", ".ai", "scripts"),
        where: "the project's .ai/scripts",
        place: [".ai/scripts", ...sought.relative].join("/"),
        ofProject: true
      }))
    case "user":
      return files.map((sought) => ({
        sought,
        kind,
        folder: at.userSpace,
        where: "the user space",
        ofProject: false
      }))
  }
}

/** The first place with an interpreter. */
const search = (declared: Searched, at: Search): Outcome => {
  for (const place of declared.search ?? defaultSearch) {
    const outcome = place === "system"
      ? onSearchPath(onPath[declared.type], at, "system")
      : firstOf(candidatesIn(place, declared, at), at)
    if (outcome !== undefined) return outcome
  }
  return undefined
}

const systemProgram = ({ manager, plugin = "" }: Managed): ReadonlyArray<string> => {
  switch (manager) {
    case "nvm":
      return ["node"]
    case "pyenv":
      return ["python3", "python"]
    case "rbenv":
      return ["ruby"]
    case "asdf":
      return plugin === "nodejs" ? ["node"] : plugin === "golang" ? ["go"] : [plugin]
  }
}

const managed = (declared: Managed, at: Search): Outcome => {
  const found = findManaged(declared, {
    ...at,
    windows: at.platform === "windows",
    isExecutable: (file) => at.host.executable(file) !== undefined,
    realPath: at.host.realPath,
    list: at.host.list,
    text: guardedText(at),
    obey: (place) => void at.places.push(place),
    record: (where, outcome, path) => {
      at.looked.push({ where, outcome, ...(path === undefined ? {} : { path }) })
    }
  })
  if ("system" in found) return onSearchPath(systemProgram(declared), at, "system")
  if ("unseen" in found || "missing" in found) return found
  // A pyenv virtual environment has a name, and contains its own version.
  const version = /^\d/.test(found.version)
    ? found.version
    : venvVersion(at.text(at.path.join(found.folder, "pyvenv.cfg"))) ?? found.version
  return { path: found.path, kind: declared.manager, version }
}

const findDeclared = (declared: Interpreter, at: Search): Outcome => {
  switch (declared.type) {
    case "venv_python":
    case "node_modules":
      return search(declared, at)
    case "system_binary":
      return onSearchPath([declared.binary], at, "system")
    case "version_manager":
      return managed(declared, at)
  }
}

export const missingInterpreter = (declared: Interpreter, why: string) =>
  `no interpreter for ${declared.var} (${declared.type}): ${why}`

export const findInterpreter = (declared: Interpreter, host: InterpreterHost): FoundInterpreter => {
  const looked: Array<LookedAt> = []
  const places: Array<string> = []
  const at: Search = { ...host, looked, places }
  const outcome = findDeclared(declared, at)
  const found = ({ kind, path, version }: Extract<Outcome, { readonly path: string }>): FoundInterpreter => ({
    _tag: "Found",
    path,
    kind,
    version: version ?? programVersion(path, { path: at.path, realPath: at.host.realPath, text: at.text }),
    places,
    looked
  })
  const missing = (why: string, remedy?: string): FoundInterpreter => ({
    _tag: "Missing",
    why: missingInterpreter(declared, why),
    remedy,
    places,
    looked
  })
  if (outcome !== undefined && "path" in outcome) return found(outcome)
  if (outcome !== undefined && "unseen" in outcome) {
    return missing(`${outcome.unseen} ${newProgram}: ${acceptCommand} accepts it`, acceptCommand)
  }
  if (outcome !== undefined && "refused" in outcome) return missing(outcome.refused, makeItALink)
  const fallback = declared.fallback === undefined ? undefined : at.programs.find(declared.fallback)
  if (fallback !== undefined) return found({ path: fallback, kind: "fallback" })
  const tried = looked.map(({ where }) => where).join(", ")
  const why = outcome?.missing ?? (tried === "" ? "nowhere to look" : `looked for ${tried}`)
  return missing(
    declared.fallback === undefined ? why : `${why}, and the fallback ${declared.fallback}`,
    outcome?.remedy
  )
}
