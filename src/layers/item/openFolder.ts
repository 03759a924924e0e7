// A folder that is kept open: looking at it again by its descriptor walks no path. What a descriptor stands for is the
// folder itself, so its answer counts only while the folder above still has the times that it had, and with them the name.
import * as Fs from "node:fs"

/** What changes with every change of a folder's list of names. */
export interface Stamp {
  readonly dev: number
  readonly ino: number
  readonly mtimeMs: number
  readonly ctimeMs: number
}

export const stampOf = ({ ctimeMs, dev, ino, mtimeMs }: Stamp): Stamp => ({ dev, ino, mtimeMs, ctimeMs })

export const isSameStamp = (a: Stamp | undefined, b: Stamp): boolean =>
  a !== undefined && a.ino === b.ino && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.dev === b.dev

/** Windows has no such flags, and keeps others from deleting what is open: there no folder is. */
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = Fs.constants
const flags = O_DIRECTORY === undefined || O_NOFOLLOW === undefined ? undefined : O_RDONLY | O_DIRECTORY | O_NOFOLLOW

export const statOpenFolder = (descriptor: number): Stamp | undefined => {
  try {
    return Fs.fstatSync(descriptor)
  } catch {
    return undefined
  }
}

export const closeFolder = (descriptor: number): void => {
  try {
    Fs.closeSync(descriptor)
  } catch {
    // It is closed, which is what was wanted.
  }
}

/** `undefined` where it cannot be opened, or is not the folder that was read. */
export const openFolder = (path: string, expected: Stamp): number | undefined => {
  if (flags === undefined) return undefined
  let descriptor: number
  try {
    descriptor = Fs.openSync(path, flags)
  } catch {
    return undefined
  }
  const now = statOpenFolder(descriptor)
  if (now !== undefined && isSameStamp(expected, now)) return descriptor
  closeFolder(descriptor)
  return undefined
}
