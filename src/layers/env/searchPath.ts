// Where programs are looked for: the absolute entries of PATH outside the project. A repository must not become the
// machine's python by lying on somebody's PATH.
import type { HostFiles } from "./HostFiles.ts"

export type PathModule = Pick<
  typeof import("node:path").posix,
  "join" | "isAbsolute" | "resolve" | "relative" | "basename" | "dirname" | "sep" | "delimiter"
>

export interface Programs {
  /** The entries that count, in order. */
  readonly folders: ReadonlyArray<string>
  /** An executable file by its name on PATH, or by its absolute path. */
  readonly find: (command: string) => string | undefined
}

/** Whether a path is the folder or below it; neither is looked up on disk. */
export const isInside = (path: PathModule, folder: string, candidate: string): boolean => {
  const relative = path.relative(folder, candidate)
  return relative === "" || (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative))
}

/** On Windows a name stands for these; `.cmd` and `.bat` need a shell, and Kiwi starts none. */
const windowsExtensions = ["", ".exe", ".com"]

export const makePrograms = (options: {
  readonly host: HostFiles
  readonly path: PathModule
  readonly windows: boolean
  readonly searchPath: string
  readonly project: string | undefined
}): Programs => {
  const { host, path, project, windows } = options
  const isForeign = (place: string) =>
    project !== undefined &&
    (isInside(path, project, place) || isInside(path, project, host.realPath(place) ?? place))
  const folders = [...new Set(options.searchPath.split(path.delimiter))]
    .filter((entry) => entry !== "" && path.isAbsolute(entry) && !isForeign(entry))
  // A link that is turned around leads to another file, so what is remembered is remembered of that file.
  const judged = new Map<string, { readonly identity: string; readonly foreign: boolean }>()
  const runs = (file: string): boolean => {
    const identity = host.executable(file)
    if (identity === undefined) return false
    const known = judged.get(file)
    if (known?.identity === identity) return !known.foreign
    const foreign = isForeign(file)
    judged.set(file, { identity, foreign })
    return !foreign
  }
  const extensions = windows ? windowsExtensions : [""]
  return {
    folders,
    find: (command) => {
      if (command === "" || command.includes("\0")) return undefined
      if (path.isAbsolute(command)) return runs(command) ? command : undefined
      if (/[/\\]/.test(command)) return undefined
      for (const folder of folders) {
        for (const extension of extensions) {
          const file = path.join(folder, command + extension)
          if (runs(file)) return file
        }
      }
      return undefined
    }
  }
}
