// The programs that Kiwi starts for itself, by name: git, an installer, a shell for syntax checks. A project's file
// must not be used because it is on somebody's PATH. So an entry of PATH counts only if it is absolute, in no project
// and in no `node_modules/.bin`, and other users cannot write there. The same applies to the file that a name resolves
// to.
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
  /** Real path of the program: redirecting a link meanwhile has no effect. */
  readonly file: string
  /** The path under which it was found. Some programs behave differently by their name. */
  readonly as: string
}

export interface OwnPrograms {
  /** PATH of a child: the entries that count, except those with a link to one that does not. */
  readonly searchPath: string
  /** By a name on PATH, or by an absolute path. */
  readonly find: (command: string) => Program | undefined
}

const windows = platform() === "win32"

/** The Node that runs this. */
export const thisNode: Program = { file: execPath, as: execPath }

/** "24.11.0" */
export const thisVersion = versions.node

/** Folders of programs that the system itself installs. */
export const systemPath = windows
  ? "C:\\Windows\\System32;C:\\Windows"
  : "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin"

const inPackageBin = /(?:^|[/\\])node_modules[/\\]\.bin(?:[/\\]|$)/

/** The owner that a container shows for files whose owner it does not have: such folders are the system's. */
const overflowUser = 65_534

/**
 * Whether another user can change the file: it, or a folder on its path, belongs to them or is writable by everybody.
 */
const isOpenToOthers = (real: string): boolean => {
  const self = getuid?.()
  if (self === undefined) return false
  for (let at = real;; at = Path.dirname(at)) {
    const { mode, uid } = Fs.statSync(at)
    if (uid !== 0 && uid !== self && uid !== overflowUser) return true
    // In a sticky folder nobody can move files of another user.
    const sticky = at !== real && (mode & 0o1000) !== 0
    if ((mode & 0o002) !== 0 && !sticky) return true
    if (Path.dirname(at) === at) return false
  }
}

/**
 * The outermost folder, from `folder` upwards, that is a project, below the home folder and the root of the disk;
 * `folder` itself if there is none. The outermost, since a project can contain another one.
 */
export const projectAround = (folder: string, home: string | undefined): string | undefined => {
  let found: string | undefined
  for (let at = folder; Path.dirname(at) !== at; at = Path.dirname(at)) {
    if (home !== undefined && isInside(at, home)) break
    if (found === undefined || isProject(at)) found = at
  }
  return found
}

/** The checkout that contains a project: the outermost project around it, or itself. All are real paths. */
export const checkoutAround = (project: string, userHome: string): string => projectAround(project, userHome) ?? project

const real = (path: string): string => HostFiles.node.realPath(path) ?? path

const projectHere = (HOME: string | undefined): string | undefined => {
  const folders = homeFolders({ HOME })
  try {
    return projectAround(real(cwd()), folders._tag === "Found" ? real(folders.userHome) : undefined)
  } catch {
    // The folder in which Kiwi was started is gone.
    return undefined
  }
}

export const makeOwnPrograms = (options: {
  readonly searchPath: string
  readonly projects: ReadonlyArray<string>
}): OwnPrograms => {
  const projects = options.projects.flatMap((project) => [project, real(project)])
  const isProjects = (place: string) => projects.some((project) => isInside(project, place))
  /** Its real path, unless it belongs to a project, a package or another user. */
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
 * Folders whose programs are not the machine's: `project`, its checkout, and Kiwi's working directory. The folder of
 * the Node that runs Kiwi is not included: somebody who controls that Node needs no other program.
 */
export const projectsAround = (project: string | undefined, HOME: string | undefined): ReadonlyArray<string> => {
  const folders = homeFolders({ HOME })
  const home = folders._tag === "Found" ? real(folders.userHome) : undefined
  const around = project === undefined ? [] : [projectAround(real(project), home)]
  const ours = real(thisNode.file)
  const outer = [...around, projectHere(HOME)].filter((folder) => folder !== undefined && !isInside(folder, ours))
  return [...new Set([project, ...outer])].filter((folder) => folder !== undefined)
}

/** Programs on this process's PATH, without those of the given projects and of the project in the working directory. */
export const ownPrograms = (...projects: ReadonlyArray<string>): Effect.Effect<OwnPrograms> =>
  Effect.zipWith(variable("PATH"), variable("HOME"), (searchPath, home) =>
    makeOwnPrograms({
      searchPath: Option.getOrElse(searchPath, () => systemPath),
      projects: [...projects, ...Option.toArray(Option.fromUndefinedOr(projectHere(Option.getOrUndefined(home))))]
    }))

/** Programs of the system, whatever PATH is. */
export const systemPrograms = Effect.sync(() => makeOwnPrograms({ searchPath: systemPath, projects: [] }))
