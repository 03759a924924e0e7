// Folders that are kept open: looking at one again by its descriptor walks no path. What a descriptor stands for is the
// folder itself, so its answer counts only while the folder above still has the times that it had, and with them the name.
// Descriptors belong to the process, and so does the number of them that may be kept.
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

/** A process may often have no more than 256 files open at all. */
const most = 128
let kept = 0

export const statOpenFolder = (descriptor: number): Stamp | undefined => {
  try {
    return Fs.fstatSync(descriptor)
  } catch {
    return undefined
  }
}

export const releaseFolder = (descriptor: number): void => {
  kept--
  try {
    Fs.closeSync(descriptor)
  } catch {
    // It is closed, which is what was wanted.
  }
}

/** `undefined` where enough are kept, it cannot be opened, or it is not the folder that was read. */
export const keepFolder = (path: string, expected: Stamp): number | undefined => {
  if (flags === undefined || kept === most) return undefined
  let descriptor: number
  try {
    descriptor = Fs.openSync(path, flags)
  } catch {
    return undefined
  }
  kept++
  const now = statOpenFolder(descriptor)
  if (now !== undefined && isSameStamp(expected, now)) return descriptor
  releaseFolder(descriptor)
  return undefined
}
