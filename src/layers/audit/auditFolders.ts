// The folders with the sessions' files, and how the files are opened. No component of the path may be a link, since a
// repository can contain `.ai/logs` as one. An opened file is compared with the file at its path before anything is
// written.
import { Option, Result } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import type { AuditHead } from "../../services/audit/AuditEntry.ts"
import { AuditUnavailable } from "../../services/audit/AuditLog.ts"
import type { WriteRefused } from "../../services/files/SafeFiles.ts"
import type { Workspace } from "../../services/workspace/Workspace.ts"
import { syncFolderAt } from "../files/folders.ts"
import { readFolder } from "../files/listFolder.ts"
import { openRegular } from "../files/readRegular.ts"
import { isAbsent, refusalOf, Refused } from "../files/refused.ts"

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_WRONLY } = fs.constants

export const unavailable = (where: string) => (error: unknown): AuditUnavailable =>
  error instanceof AuditUnavailable ? error : new AuditUnavailable({ detail: `${where}: ${refusalOf(error).message}` })

export const refusedFolder = (error: WriteRefused): AuditUnavailable =>
  new AuditUnavailable({ detail: `${error.path}: ${error.detail}`, cause: error })

export interface AuditFolder {
  readonly name: AuditHead["place"]
  /** Real path. */
  readonly root: string
  /** Relative to `root`. */
  readonly path: string
  /** For messages. */
  readonly shown: string
}

export interface AuditFolders {
  readonly project: AuditFolder | undefined
  readonly home: AuditFolder
}

export const auditFolders = (workspace: Workspace["Service"]): AuditFolders => ({
  project: Option.getOrUndefined(Option.map(workspace.project, ({ root }): AuditFolder => ({
    name: "project",
    root,
    path: ".ai/logs/audit",
    shown: ".ai/logs/audit"
  }))),
  home: { name: "home", root: workspace.state, path: "audit", shown: "the audit in Kiwi's own folder" }
})

/** A call in a folder without `.ai` does not create one: its audit is kept with Kiwi's own state. */
export const currentFolder = ({ home, project }: AuditFolders): AuditFolder =>
  project !== undefined && fs.lstatSync(join(project.root, ".ai"), { throwIfNoEntry: false }) !== undefined
    ? project
    : home

/** `20261121T150405123Z-…`: starts with the time, so that a listing is in order of time. */
export const sessionId = (now: number, random: string): string =>
  `${new Date(now).toISOString().replace(/[-:.]/g, "")}-${random}`

const sessionPattern = /^(\d{4})(\d{2})(\d{2})T\d{9}Z-[0-9a-f]{16}$/

/** `2026-11-21/20261121T150405123Z-….jsonl`. Undefined if the name is not a session's. */
export const fileOf = (session: string): string | undefined => {
  const [, year, month, day] = sessionPattern.exec(session) ?? []
  return year === undefined ? undefined : `${year}-${month}-${day}/${session}.jsonl`
}

/** `2026-11-21`. */
export const dayOf = (file: string): string => file.slice(0, file.indexOf("/"))

export const sessionOf = (file: string): string => file.slice(file.indexOf("/") + 1, -".jsonl".length)

const pathOf = (place: AuditFolder, file: string): string => join(place.root, place.path, file)

const openWith = (path: string, flags?: number) => openRegular(path, { maxBytes: Infinity, follow: false }, flags)

/** The parent folder must exist. */
export const createFile = (place: AuditFolder, file: string): number =>
  openWith(pathOf(place, file), O_WRONLY | O_APPEND | O_CREAT | O_EXCL).descriptor

export const openToSeal = (place: AuditFolder, file: string): number => {
  const { descriptor, stat } = openWith(pathOf(place, file), O_RDWR | O_APPEND)
  if (stat.nlink === 1n) return descriptor
  fs.closeSync(descriptor)
  throw new Refused("io", "the file has a hard link")
}

/** A file of at least this size is checked for its ratio of holes. */
const large = 1_073_741_824n

/** Whether a file is larger than `most` or nearly all holes. Kiwi appends line by line, which leaves no holes. */
const isInflated = ({ blocks, size }: fs.BigIntStats, most: number): boolean =>
  size > most || (size > large && blocks * 512n < size / 64n)

/** Undefined if there is no such file. */
export const openToRead = (place: AuditFolder, file: string, most = Infinity): number | undefined => {
  try {
    const { descriptor, stat } = openWith(pathOf(place, file))
    if (!isInflated(stat, most)) return descriptor
    fs.closeSync(descriptor)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
  throw new Refused(
    "too-large",
    "it is larger than its entries can be, and was not read: inspect it, then move it away"
  )
}

export const removeFile = (place: AuditFolder, file: string): void => fs.rmSync(pathOf(place, file), { force: true })

/** Removes the file if it is the one that was opened, and its day's folder if that is empty then. */
export const removeSame = (place: AuditFolder, file: string, opened: fs.BigIntStats): boolean => {
  const path = pathOf(place, file)
  const now = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (now?.ino !== opened.ino || now.dev !== opened.dev || now.size !== opened.size) return false
  fs.rmSync(path)
  Result.try(() => fs.rmdirSync(dirname(path)))
  return true
}

/** Flushes the file's content and its directory entry to the disk. */
export const syncWithFolder = (fd: number, place: AuditFolder, file: string): void => {
  fs.fsyncSync(fd)
  syncFolderAt(dirname(pathOf(place, file)))
}

/** Writes all bytes or none: after a partial write, as on a full disk, the file is truncated to its old size. */
export const appendWhole = (fd: number, size: number, bytes: Uint8Array): void => {
  try {
    for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at)
  } catch (error) {
    cutBack(fd, size, bytes.length)
    throw error
  }
}

/**
 * Truncates the file to `size` if it is at most `most` bytes longer; more bytes would not be Kiwi's own. Returns
 * whether the file ends at `size` now.
 */
export const cutBack = (fd: number, size: number, most: number): boolean => {
  try {
    const now = fs.fstatSync(fd).size
    if (now > size && now <= size + most) fs.ftruncateSync(fd, size)
    return fs.fstatSync(fd).size === size
  } catch {
    return false
  }
}

/** The names of the folders of days: `2026-11-21`. */
export const daysOf = (place: AuditFolder): ReadonlyArray<string> => {
  try {
    return readFolder(join(place.root, place.path)).map(({ name }) => name).filter((name) =>
      /^\d{4}-\d\d-\d\d$/.test(name)
    )
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

export interface Listed {
  /** Relative to the folder. */
  readonly file: string
  /** Whether it is a regular file, and not a link, a folder or a device. */
  readonly regular: boolean
}

/** Everything in the folder with the name of a session's file, regular or not. */
export const listFiles = (place: AuditFolder): ReadonlyArray<Listed> => {
  const root = join(place.root, place.path)
  try {
    if (fs.realpathSync.native(root) !== root) return [{ file: ".", regular: false }]
    return readFolder(root).flatMap((entry) => {
      if (entry.isSymbolicLink()) return [{ file: entry.name, regular: false }]
      if (entry.isDirectory()) {
        return readFolder(join(root, entry.name))
          .filter((inner) => inner.name.endsWith(".jsonl"))
          .map((inner) => ({ file: `${entry.name}/${inner.name}`, regular: inner.isFile() }))
      }
      return entry.name.endsWith(".jsonl") ? [{ file: entry.name, regular: entry.isFile() }] : []
    })
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}
