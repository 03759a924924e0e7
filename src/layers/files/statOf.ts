// What callers get to know of a file, from the system's answer.
import type { BigIntStats } from "node:fs"
import type { FileStat } from "../../services/files/SafeFiles.ts"

interface Kinds {
  readonly isFile: () => boolean
  readonly isDirectory: () => boolean
  readonly isSymbolicLink: () => boolean
}

export const kindOf = (found: Kinds): FileStat["kind"] =>
  found.isFile() ? "file" : found.isDirectory() ? "folder" : found.isSymbolicLink() ? "link" : "other"

export const statOf = (stat: BigIntStats): FileStat => ({
  kind: kindOf(stat),
  bytes: Number(stat.size),
  modified: Number(stat.mtimeMs),
  mode: Number(stat.mode) & 0o777,
  names: Number(stat.nlink),
  version: `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`
})
