// Looks at files below a root, and moves them: each folder on the way is opened without following a link, so that what
// is used is what is at the real path, however it was swapped.
import * as fs from "node:fs"
import { basename, join } from "node:path"
import type { FileRange, FileStat, FolderEntry, RealPath } from "../../services/files/SafeFiles.ts"
import { errorCode } from "../process/errorCode.ts"
import { components, type Folder, lstat, type Naming, syncFolder, withFolder } from "./folders.ts"
import { isInside } from "./isInside.ts"
import { readFolder } from "./listFolder.ts"
import { fill, openInFolder } from "./readRegular.ts"
import { isAbsent, Refused } from "./refused.ts"
import { kindOf, statOf } from "./statOf.ts"

/** proc, sysfs, debugfs, tracefs, securityfs, cgroup2, bpf: their files are the system's own. */
const ofTheSystem: ReadonlySet<number> = new Set([
  0x9fa0,
  0x62656572,
  0x64626720,
  0x74726163,
  0x73636673,
  0x63677270,
  0xcafe4a11
])

const notAFile = "it is not a regular file"

/** Opens a regular file. Its type is checked before it is opened too, since opening some devices has effects. */
export const readRange = (
  naming: Naming,
  root: string,
  path: string,
  range: { readonly offset: number; readonly length: number }
): FileRange => {
  const parts = components(path)
  const name = parts.at(-1)!
  return withFolder(naming, root, parts.slice(0, -1), undefined, (folder) => {
    const found = lstat(folder.at(name))
    if (found !== undefined && !found.isFile() && !found.isSymbolicLink()) throw new Refused("not-a-file", notAFile)
    const { descriptor, stat } = openInFolder(folder.at(name), { maxBytes: Number.MAX_SAFE_INTEGER })
    try {
      folder.at(name)
      if (naming === "descriptor" && ofTheSystem.has(fs.statfsSync(`/proc/self/fd/${descriptor}`).type)) {
        throw new Refused("not-a-file", "it belongs to the operating system")
      }
      const length = Math.max(0, Math.min(range.length, Number(stat.size) - range.offset))
      const bytes = length === 0 ? Buffer.alloc(0) : fill(descriptor, Buffer.allocUnsafeSlow(length), range.offset)
      return { bytes, stat: statOf(stat) }
    } finally {
      fs.closeSync(descriptor)
    }
  })
}

const below = (path: string): ReadonlyArray<string> => path === "." ? [] : components(path)

export const look = (naming: Naming, root: string, path: string): FileStat | undefined => {
  const parts = below(path)
  const name = parts.at(-1)
  return withFolder(naming, root, parts.slice(0, -1), undefined, (folder) => {
    const found = name === undefined ? fs.fstatSync(folder.fd, { bigint: true }) : lstat(folder.at(name))
    return found === undefined ? undefined : statOf(found)
  })
}

export const list = (naming: Naming, root: string, path: string, limit: number): ReadonlyArray<FolderEntry> =>
  withFolder(naming, root, below(path), undefined, (folder) =>
    readFolder(folder.at("."), limit)
      .map((entry) => ({ name: entry.name, kind: kindOf(entry) }))
      .toSorted((a, b) => a.name < b.name ? -1 : 1))

const rename = (from: Folder, oldName: string, to: Folder, newName: string, replace: boolean): void => {
  const moved = lstat(from.at(oldName))
  if (moved === undefined) throw new Refused("io", "it does not exist")
  const there = lstat(to.at(newName))
  if (there !== undefined && !(replace && there.isFile() && moved.isFile())) {
    throw new Refused("exists", "it is already there")
  }
  if (there === undefined && moved.isFile()) {
    // A rename would replace a file that was made meanwhile.
    try {
      fs.linkSync(from.at(oldName), to.at(newName))
      fs.unlinkSync(from.at(oldName))
      return
    } catch (error) {
      if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(errorCode(error))) throw error
    }
  }
  fs.renameSync(from.at(oldName), to.at(newName))
}

export const move = (naming: Naming, root: string, from: string, to: string, replace: boolean, mode: number): void => {
  const [old, next] = [components(from), components(to)]
  withFolder(
    naming,
    root,
    old.slice(0, -1),
    undefined,
    (source) =>
      withFolder(naming, root, next.slice(0, -1), mode, (target) => {
        rename(source, old.at(-1)!, target, next.at(-1)!, replace)
        syncFolder(source)
        syncFolder(target)
      })
  )
}

const real = (path: string): string => {
  try {
    return fs.realpathSync.native(path)
  } catch (error) {
    if (errorCode(error) === "ELOOP") throw new Refused("symlink", "its links lead in a circle")
    throw error
  }
}

/** The real path of a name in a folder that is there, or of the nearest folder that is, and the names below it. */
const resolve = (path: string, keepLast: boolean): { readonly path: string; readonly missing: boolean } => {
  const name = basename(path)
  const isName = name !== "" && name !== "." && name !== ".."
  const folder = path.slice(0, path.length - name.length)
  const found = lstat(path)
  if (found !== undefined && !(keepLast && isName && found.isSymbolicLink())) {
    try {
      return { path: real(path), missing: false }
    } catch (error) {
      if (found.isSymbolicLink() && isAbsent(error)) throw new Refused("symlink", "it is a link to nothing")
      throw error
    }
  }
  if (!isName) throw new Refused("outside", "a folder on the way does not exist")
  const trimmed = folder.replace(/\/+$/, "")
  const parent = resolve(trimmed === "" ? "/" : trimmed, false)
  if (!parent.missing && !fs.statSync(parent.path).isDirectory()) {
    throw new Refused("not-a-directory", "a component of the path is not a folder")
  }
  return { path: join(parent.path, name), missing: found === undefined }
}

export const realPath = (root: string, path: string, keepLast: boolean): RealPath => {
  if (path === "" || path.includes("\0")) throw new Refused("outside", "it is not a path")
  const whole = (path.startsWith("/") ? path : `${root}/${path}`).replace(/(?<=.)\/+$/, "")
  const found = resolve(whole, keepLast)
  const base = real(root)
  const shown = isInside(base, found.path) ? found.path.slice(base.length).replace(/^\/+/, "") : found.path
  const stat = found.missing ? undefined : lstat(found.path)
  return { path: shown === "" ? "." : shown, stat: stat === undefined ? undefined : statOf(stat) }
}
