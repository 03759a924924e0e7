// Where sessions' files lie, and how they are opened: nothing on the way may be a link, since a repository can bring
// `.ai/logs` as one, and what was opened is compared with what stands at its path before anything is written.
import { Option } from "effect"
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

export interface Place {
  readonly name: AuditHead["place"]
  /** Real path. */
  readonly root: string
  /** Below `root`. */
  readonly path: string
  /** For people. */
  readonly shown: string
}

export interface Places {
  readonly project: Place | undefined
  readonly home: Place
}

export const placesOf = (workspace: Workspace["Service"]): Places => ({
  project: Option.getOrUndefined(Option.map(workspace.project, ({ root }): Place => ({
    name: "project",
    root,
    path: ".ai/logs/audit",
    shown: ".ai/logs/audit"
  }))),
  home: { name: "home", root: workspace.state, path: "audit", shown: "the audit in Kiwi's own folder" }
})

/** A folder without `.ai` is not made a project by a call in it: its audit is kept with Kiwi's own state. */
export const placeNow = ({ home, project }: Places): Place =>
  project !== undefined && fs.lstatSync(join(project.root, ".ai"), { throwIfNoEntry: false }) !== undefined
    ? project
    : home

/** `20261121T150405123Z-…`: begins with the time, so that a folder lists its sessions in order. */
export const sessionId = (now: number, random: string): string =>
  `${new Date(now).toISOString().replace(/[-:.]/g, "")}-${random}`

const sessionPattern = /^(\d{4})(\d{2})(\d{2})T\d{9}Z-[0-9a-f]{16}$/

/** `2026-11-21/20261121T150405123Z-….jsonl`; `undefined` for what is no session. */
export const fileOf = (session: string): string | undefined => {
  const [, year, month, day] = sessionPattern.exec(session) ?? []
  return year === undefined ? undefined : `${year}-${month}-${day}/${session}.jsonl`
}

export const sessionOf = (file: string): string => file.slice(file.indexOf("/") + 1, -".jsonl".length)

const pathOf = (place: Place, file: string): string => join(place.root, place.path, file)

const openWith = (path: string, flags?: number) => openRegular(path, { maxBytes: Infinity, follow: false }, flags)

/** Its folder is there already. */
export const createFile = (place: Place, file: string): number =>
  openWith(pathOf(place, file), O_WRONLY | O_APPEND | O_CREAT | O_EXCL).descriptor

export const openToSeal = (place: Place, file: string): number => {
  const { descriptor, stat } = openWith(pathOf(place, file), O_RDWR | O_APPEND)
  if (stat.nlink === 1n) return descriptor
  fs.closeSync(descriptor)
  throw new Refused("io", "the file has a second name")
}

/** A file of this size is looked at more closely. */
const large = 1_073_741_824n

/** Larger than `most`, or almost nothing but holes: Kiwi appends line by line, and leaves none. */
const isInflated = ({ blocks, size }: fs.BigIntStats, most: number): boolean =>
  size > most || (size > large && blocks * 512n < size / 64n)

/** `undefined` when there is no such file. */
export const openToRead = (place: Place, file: string, most = Infinity): number | undefined => {
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
    "it is larger than its entries can be, and was not read: look at it, and move it away"
  )
}

export const removeFile = (place: Place, file: string): void => fs.rmSync(pathOf(place, file), { force: true })

/** Waits for the disk: the file's bytes, and the entry of its name. */
export const syncWithFolder = (fd: number, place: Place, file: string): void => {
  fs.fsyncSync(fd)
  syncFolderAt(dirname(pathOf(place, file)))
}

/** Writes all of it, or nothing that stays: what a full disk still took in is cut off again. */
export const appendWhole = (fd: number, size: number, bytes: Uint8Array): void => {
  try {
    for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at)
  } catch (error) {
    cutBack(fd, size, bytes.length)
    throw error
  }
}

/** Whether the file ends at `size` now. Cuts off no more than `most` bytes: more would not be Kiwi's own. */
export const cutBack = (fd: number, size: number, most: number): boolean => {
  try {
    const now = fs.fstatSync(fd).size
    if (now > size && now <= size + most) fs.ftruncateSync(fd, size)
    return fs.fstatSync(fd).size === size
  } catch {
    return false
  }
}

export interface Listed {
  /** Relative to the place. */
  readonly file: string
  /** Neither a link nor anything else that stands for a file. */
  readonly regular: boolean
}

/** Everything in the place that is, or pretends to be, a session's file. */
export const listFiles = (place: Place): ReadonlyArray<Listed> => {
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
