// Folders below a root, opened one by one without following links. What lies in one is named through its open descriptor
// (/proc/self/fd/N/name), so a component that is swapped between check and use changes nothing. Where there is no /proc,
// paths are used and each folder is compared with its descriptor around every use, which leaves a window of microseconds.
import * as fs from "node:fs"
import { isAbsolute, join } from "node:path"
import { errorCode } from "../process/errorCode.ts"
import { hasDescriptorNames } from "./readRegular.ts"
import { Refused } from "./refused.ts"

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = fs.constants

export const maxDepth = 64

/** An open folder. `at(name)` names what lies directly in it, and throws if the folder was replaced meanwhile. */
export interface Folder {
  readonly fd: number
  readonly naming: Naming
  readonly at: (name: string) => string
}

/** How the inside of an open folder is named: through its descriptor, or by its path. */
export type Naming = "descriptor" | "path"

export const defaultNaming: Naming = hasDescriptorNames ? "descriptor" : "path"

/** The parts of a path below a root. Throws `Refused` if it leads anywhere else. */
export const components = (path: string): ReadonlyArray<string> => {
  const parts = path.split("/")
  if (
    path === "" || isAbsolute(path) || path.includes("\0") || parts.some((p) => p === "" || p === "." || p === "..")
  ) {
    throw new Refused("outside", "it is not a path below the folder")
  }
  if (parts.length > maxDepth) throw new Refused("outside", "it is nested too deeply")
  return parts
}

export const lstat = (path: string): fs.BigIntStats | undefined =>
  fs.lstatSync(path, { bigint: true, throwIfNoEntry: false })

export const openFolder = (path: string, real: string, naming: Naming): Folder => {
  let fd: number
  try {
    fd = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  } catch (error) {
    const found = errorCode(error) === "ENOENT" ? undefined : lstat(path)
    throw found?.isSymbolicLink() === true ? new Refused("symlink", "a folder on the way is a link") : error
  }
  if (naming === "descriptor") return { fd, naming, at: (name) => `/proc/self/fd/${fd}/${name}` }
  const opened = fs.fstatSync(fd, { bigint: true })
  const at = (name: string): string => {
    const now = lstat(real)
    if (now?.ino !== opened.ino || now.dev !== opened.dev || fs.realpathSync.native(real) !== real) {
      throw new Refused("symlink", "a folder on the way was replaced")
    }
    return join(real, name)
  }
  return { fd, naming, at }
}

/** Waits for the disk to have the names in a folder. */
export const syncFolder = (folder: Folder): void => {
  try {
    fs.fsyncSync(folder.fd)
  } catch (error) {
    if (!["EINVAL", "ENOTSUP", "EBADF"].includes(errorCode(error))) throw error
  }
}

/** Waits for the disk to have the names in the folder at a path, which is no link. */
export const syncFolderAt = (path: string): void => {
  const folder = openFolder(path, path, defaultNaming)
  try {
    syncFolder(folder)
  } finally {
    fs.closeSync(folder.fd)
  }
}

/** Opens `root` and the folders below it in turn; `create` is the mode for those that are missing. */
export const withFolder = <A>(
  naming: Naming,
  root: string,
  folders: ReadonlyArray<string>,
  create: number | undefined,
  use: (folder: Folder) => A
): A => {
  if (create !== undefined && lstat(root) === undefined) fs.mkdirSync(root, { recursive: true, mode: create })
  let current = openFolder(root, root, naming)
  try {
    let real = root
    for (const name of folders) {
      const path = current.at(name)
      real = join(real, name)
      if (create !== undefined && lstat(path) === undefined) {
        try {
          fs.mkdirSync(path, { mode: create })
          syncFolder(current)
        } catch (error) {
          if (errorCode(error) !== "EEXIST") throw error
        }
      }
      const next = openFolder(path, real, naming)
      fs.closeSync(current.fd)
      current = next
    }
    return use(current)
  } finally {
    fs.closeSync(current.fd)
  }
}
