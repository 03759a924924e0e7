import type { Dirent } from "node:fs"
import { opendirSync } from "node:fs"

/** More entries than any folder that a person keeps. Listing so many takes a tenth of a second. */
const most = 100_000

/**
 * The entries of a folder, at most `limit`: a folder that somebody else filled can have any number. Throws the system's
 * error.
 */
export const readFolder = (path: string, limit: number = most): ReadonlyArray<Dirent> => {
  const folder = opendirSync(path, { bufferSize: 1_024 })
  try {
    const entries: Array<Dirent> = []
    for (let entry = folder.readSync(); entry !== null && entries.length < limit; entry = folder.readSync()) {
      entries.push(entry)
    }
    return entries
  } finally {
    folder.closeSync()
  }
}

/** The same. Empty if it is not a folder or cannot be read. */
export const listFolder = (path: string, limit: number = most): ReadonlyArray<Dirent> => {
  try {
    return readFolder(path, limit)
  } catch {
    return []
  }
}
