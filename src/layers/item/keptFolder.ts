// Folders that are kept open: a stat by descriptor resolves no path. A descriptor refers to the folder itself, so its
// stat counts only while the parent folder's times, and so its entries, are unchanged. Descriptors belong to the
// process, so their limit is for the process.
import * as Fs from "node:fs"

/** The parts of a stat that change with every change of a folder's entries. */
export interface Stamp {
  readonly dev: number
  readonly ino: number
  readonly mtimeMs: number
  readonly ctimeMs: number
}

export const stampOf = ({ ctimeMs, dev, ino, mtimeMs }: Stamp): Stamp => ({ dev, ino, mtimeMs, ctimeMs })

export const isSameStamp = (a: Stamp | undefined, b: Stamp): boolean =>
  a !== undefined && a.ino === b.ino && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.dev === b.dev

/** Windows has none of these flags, and an open file there cannot be deleted, so no folder is kept open. */
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = Fs.constants
const flags = O_DIRECTORY === undefined || O_NOFOLLOW === undefined ? undefined : O_RDONLY | O_DIRECTORY | O_NOFOLLOW

/** Many systems allow a process only 256 open files. */
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
    // A failure to close leaves nothing to do.
  }
}

/** Undefined if the limit is reached, the folder cannot be opened, or it is not the folder that was read. */
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
