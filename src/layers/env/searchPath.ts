// Looks programs up in the absolute entries of PATH outside of projects. A repository must not provide the machine's
// python because it is on somebody's PATH.
import { nodeHeaderVersion, nodePackageVersion, versionInName } from "../../services/env/versionText.ts"
import { isInside } from "../files/isInside.ts"
import { processPath } from "../files/processPath.ts"
import type { HostFiles } from "./HostFiles.ts"
import { isShim } from "./programs/shimFile.ts"

export type PathModule = Pick<
  typeof import("node:path").posix,
  "join" | "isAbsolute" | "resolve" | "relative" | "basename" | "dirname" | "sep" | "delimiter"
>

export interface Programs {
  /** The entries that count, in order. */
  readonly folders: ReadonlyArray<string>
  /** Skipped entries: relative, in a project, or different for each process. */
  readonly skipped: ReadonlyArray<string>
  /** An executable file by its name on PATH, or by its absolute path. */
  readonly find: (command: string) => string | undefined
}

/** What Windows starts without a shell. `.cmd` and `.bat` need one, and Kiwi never starts one. */
const startable: ReadonlyArray<string> = [".exe", ".com"]

/** In the order of PATHEXT. A name with such an extension is looked up as it is. */
const windowsExtensions = (pathExt: string | undefined) => {
  const listed = (pathExt ?? "").toLowerCase().split(";").map((e) => e.trim()).filter((e) => startable.includes(e))
  const extensions = listed.length === 0 ? startable : listed
  return (command: string): ReadonlyArray<string> =>
    startable.some((e) => command.toLowerCase().endsWith(e)) ? ["", ...extensions] : extensions
}

const asItIs = [""]

export const makePrograms = (options: {
  readonly host: HostFiles
  readonly path: PathModule
  readonly windows: boolean
  readonly searchPath: string
  readonly pathExt?: string | undefined
  /** Folders of projects: programs in them do not belong to the machine. */
  readonly projects: ReadonlyArray<string>
}): Programs => {
  const { host, path, projects, windows } = options
  const isForeign = (place: string) =>
    projects.some((project) => isInside(project, place, path) || isInside(project, host.realPath(place) ?? place, path))
  // On Windows, shims with that name do not depend on the folder, and other shims cannot be started.
  const isUnusable = (file: string) =>
    isForeign(file) || (!windows && isShim(host, path, file, host.realPath(file) ?? file))
  const entries = [...new Set(options.searchPath.split(path.delimiter))].filter((entry) => entry !== "")
  const isOfProcess = (place: string) => processPath(place, host.readLink) !== undefined
  const folders = entries.filter((entry) => path.isAbsolute(entry) && !isForeign(entry) && !isOfProcess(entry))
  // Cached by the file's identity: a link may be redirected to another file.
  const judged = new Map<string, { readonly identity: string; readonly foreign: boolean }>()
  const runs = (file: string): boolean => {
    const identity = host.executable(file)
    if (identity === undefined || isOfProcess(file)) return false
    const known = judged.get(file)
    if (known?.identity === identity) return !known.foreign
    const foreign = isUnusable(file)
    judged.set(file, { identity, foreign })
    return !foreign
  }
  const extensionsOf = windows ? windowsExtensions(options.pathExt) : () => asItIs
  return {
    folders,
    skipped: entries.filter((entry) => !folders.includes(entry)),
    find: (command) => {
      if (command === "" || command.includes("\0")) return undefined
      if (path.isAbsolute(command)) return runs(command) ? command : undefined
      if (/[/\\]/.test(command)) return undefined
      const extensions = extensionsOf(command)
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

/** The version, without running the program: from its name, or from the headers or package that it came with. */
export const programVersion = (program: string, host: {
  readonly path: PathModule
  readonly realPath: (path: string) => string | undefined
  readonly text: (path: string) => string | undefined
}): string | undefined => {
  const { path } = host
  const real = host.realPath(program) ?? program
  const name = path.basename(real)
  const named = versionInName(name)
  if (named !== undefined) return named
  if (!/^node(?:\.exe)?$/i.test(name)) return undefined
  const home = path.dirname(path.dirname(real))
  return nodeHeaderVersion(host.text(path.join(home, "include", "node", "node_version.h"))) ??
    nodePackageVersion(host.text(path.join(home, "package.json")))
}
