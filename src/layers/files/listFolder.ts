import type { Dirent } from "node:fs"
import { opendirSync } from "node:fs"

/** More than any folder of a person's has. Listing so many takes a tenth of a second. */
const most = 100_000

/**
 * What lies in a folder, `limit` entries at most: in a folder that somebody else filled there can be any number. Throws
 * what the system says.
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

/** The same; nothing if it is no folder or cannot be read. */
export const listFolder = (path: string, limit: number = most): ReadonlyArray<Dirent> => {
  try {
    return readFolder(path, limit)
  } catch {
    return []
  }
}
