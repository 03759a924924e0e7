// The programs that Kiwi starts for itself, by name: git, an installer, a shell that checks syntax. A project must not
// become one of them by lying on somebody's PATH, so an entry counts only if it is absolute, lies in no project and in no
// `node_modules/.bin`, and other users cannot put anything there. The same holds for the file that a name leads to.
import { Effect, Option } from "effect"
import * as Fs from "node:fs"
import { platform } from "node:os"
import * as Path from "node:path"
import { cwd, execPath, getuid, versions } from "node:process"
import * as HostFiles from "../env/HostFiles.ts"
import { makePrograms } from "../env/searchPath.ts"
import { isInside } from "../files/isInside.ts"
import { homeFolders, isProject } from "../workspace/home/homeFolders.ts"
import { variable } from "./variable.ts"

export interface Program {
  /** Real path of what is started: a link that is turned meanwhile changes nothing. */
  readonly file: string
  /** The path that it was found by. Some programs do what their name says. */
  readonly as: string
}

export interface OwnPrograms {
  /** PATH of a child: the entries that count, but for those with a link to what does not. */
  readonly searchPath: string
  /** By a name on PATH, or by an absolute path. */
  readonly find: (command: string) => Program | undefined
}

const windows = platform() === "win32"

/** The Node that runs this. */
export const thisNode: Program = { file: execPath, as: execPath }

/** "24.11.0" */
export const thisVersion = versions.node

/** What the system itself installs. */
export const systemPath = windows
  ? "C:\\Windows\\System32;C:\\Windows"
  : "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin"

const inPackageBin = /(?:^|[/\\])node_modules[/\\]\.bin(?:[/\\]|$)/

/** What a container shows as the owner of files whose owner it does not have: their folders are the system's. */
const overflowUser = 65_534

/** Whether another user can change what lies there: it, or a folder on the way, is theirs or open to everybody. */
const isOpenToOthers = (real: string): boolean => {
  const self = getuid?.()
  if (self === undefined) return false
  for (let at = real;; at = Path.dirname(at)) {
    const { mode, uid } = Fs.statSync(at)
    if (uid !== 0 && uid !== self && uid !== overflowUser) return true
    // In a sticky folder nobody moves away what belongs to another.
    const sticky = at !== real && (mode & 0o1000) !== 0
    if ((mode & 0o002) !== 0 && !sticky) return true
    if (Path.dirname(at) === at) return false
  }
}

/**
 * The outermost folder from `folder` upwards that is a project, below the home folder and the root of the disk;
 * `folder` itself where none is. The outermost, since a project can hold another one.
 */
export const projectAround = (folder: string, home: string | undefined): string | undefined => {
  let found: string | undefined
  for (let at = folder; Path.dirname(at) !== at; at = Path.dirname(at)) {
    if (home !== undefined && isInside(at, home)) break
    if (found === undefined || isProject(at)) found = at
  }
  return found
}

/** The checkout that a project lies in: the outermost project around it, at least itself. All are real paths. */
export const checkoutAround = (project: string, userHome: string): string => projectAround(project, userHome) ?? project

const real = (path: string): string => HostFiles.node.realPath(path) ?? path

const projectHere = (HOME: string | undefined): string | undefined => {
  const folders = homeFolders({ HOME })
  try {
    return projectAround(real(cwd()), folders._tag === "Found" ? real(folders.userHome) : undefined)
  } catch {
    // The folder that Kiwi was started in is gone.
    return undefined
  }
}

export const makeOwnPrograms = (options: {
  readonly searchPath: string
  readonly projects: ReadonlyArray<string>
}): OwnPrograms => {
  const projects = options.projects.flatMap((project) => [project, real(project)])
  const isProjects = (place: string) => projects.some((project) => isInside(project, place))
  /** Its real path, unless it is a project's, a package's or somebody else's. */
  const admit = (path: string): string | undefined => {
    const at = real(path)
    const isForeign = (place: string) => inPackageBin.test(place) || isProjects(place)
    try {
      return isForeign(Path.resolve(path)) || isForeign(at) || isOpenToOthers(at) ? undefined : at
    } catch {
      return undefined
    }
  }
  const programsIn = (searchPath: string) =>
    makePrograms({ host: HostFiles.node, path: Path, windows, searchPath, projects: [] })
  const folders = programsIn(options.searchPath).folders.filter((folder) => admit(folder) !== undefined)
  const hasForeignLink = (folder: string): boolean =>
    HostFiles.node.list(folder).some((name) => {
      const target = HostFiles.node.realPath(Path.join(folder, name))
      return target !== undefined && isProjects(target)
    })
  return {
    get searchPath() {
      return folders.filter((folder) => !hasForeignLink(folder)).join(Path.delimiter)
    },
    find: (command) => {
      for (const folder of Path.isAbsolute(command) ? [""] : folders) {
        const as = programsIn(folder).find(command)
        const file = as === undefined ? undefined : admit(as)
        if (as !== undefined && file !== undefined) return { file, as }
      }
      return undefined
    }
  }
}

/**
 * What is a project's and no program of the machine: `project`, what it lies in, and what Kiwi was started in. Not what
 * the Node lies in that runs Kiwi: who brought that needs no other program.
 */
export const projectsAround = (project: string | undefined, HOME: string | undefined): ReadonlyArray<string> => {
  const folders = homeFolders({ HOME })
  const home = folders._tag === "Found" ? real(folders.userHome) : undefined
  const around = project === undefined ? [] : [projectAround(real(project), home)]
  const ours = real(thisNode.file)
  const outer = [...around, projectHere(HOME)].filter((folder) => folder !== undefined && !isInside(folder, ours))
  return [...new Set([project, ...outer])].filter((folder) => folder !== undefined)
}

/** By PATH of this process. No program of these projects, or of the one that Kiwi was started in, is among them. */
export const ownPrograms = (...projects: ReadonlyArray<string>): Effect.Effect<OwnPrograms> =>
  Effect.zipWith(variable("PATH"), variable("HOME"), (searchPath, home) =>
    makeOwnPrograms({
      searchPath: Option.getOrElse(searchPath, () => systemPath),
      projects: [...projects, ...Option.toArray(Option.fromUndefinedOr(projectHere(Option.getOrUndefined(home))))]
    }))

/** Those of the system, whatever PATH says. */
export const systemPrograms = Effect.sync(() => makeOwnPrograms({ searchPath: systemPath, projects: [] }))
