// Opens folders below a root one by one, without following links. An entry of a folder is addressed through the open
// descriptor (/proc/self/fd/N/name), so that swapping a component between check and use has no effect. Without /proc,
// paths are used, and each folder is compared with its descriptor around every use, which leaves a window of
// microseconds.
import * as fs from "node:fs"
import { isAbsolute, join } from "node:path"
import { errorCode } from "../process/errorCode.ts"
import { hasDescriptorNames } from "./readRegular.ts"
import { Refused } from "./refused.ts"

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = fs.constants

export const maxDepth = 64

/** An open folder. `at(name)` is the path of an entry in it; throws if the folder was replaced meanwhile. */
export interface Folder {
  readonly fd: number
  readonly naming: Naming
  readonly at: (name: string) => string
}

/** How entries of an open folder are addressed: through its descriptor, or by path. */
export type Naming = "descriptor" | "path"

export const defaultNaming: Naming = hasDescriptorNames ? "descriptor" : "path"

/** The components of a path below a root. Throws `Refused` if the path leaves the root. */
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
    throw found?.isSymbolicLink() === true ? new Refused("symlink", "a folder in the path is a link") : error
  }
  if (naming === "descriptor") return { fd, naming, at: (name) => `/proc/self/fd/${fd}/${name}` }
  const opened = fs.fstatSync(fd, { bigint: true })
  const at = (name: string): string => {
    const now = lstat(real)
    if (now?.ino !== opened.ino || now.dev !== opened.dev || fs.realpathSync.native(real) !== real) {
      throw new Refused("symlink", "a folder in the path was replaced")
    }
    return join(real, name)
  }
  return { fd, naming, at }
}

/** Flushes a folder's entries to the disk. */
export const syncFolder = (folder: Folder): void => {
  try {
    fs.fsyncSync(folder.fd)
  } catch (error) {
    if (!["EINVAL", "ENOTSUP", "EBADF"].includes(errorCode(error))) throw error
  }
}

/** Flushes the entries of the folder at a path, which must not be a link. */
export const syncFolderAt = (path: string): void => {
  const folder = openFolder(path, path, defaultNaming)
  try {
    syncFolder(folder)
  } finally {
    fs.closeSync(folder.fd)
  }
}

/** Opens `root` and the folders below it in turn. `create`: the mode for missing folders, which are created. */
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
