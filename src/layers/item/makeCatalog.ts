// One tier's items of one type, from a walk of its folder. What was read from a folder is valid while the folder's own
// times are unchanged. A folder that changed less than two seconds before it was read is read again, since some file
// systems have such coarse times. Calls are synchronous, in batches: a hundred thousand files are listed in a fraction
// of a second. If there are many folders they are kept open (keptFolder.ts), which makes checking one three times
// cheaper.
import { Clock, Effect, Result, Semaphore } from "effect"
import * as Fs from "node:fs"
import type { ItemLocation } from "../../services/item/Item.ts"
import { showLocation, typeFolder } from "../../services/item/Item.ts"
import { ItemInvalid, ItemUnreadable } from "../../services/item/ItemErrors.ts"
import type { ItemId, ItemType, Tier } from "../../services/item/ItemId.ts"
import {
  folderManifest,
  locate,
  readCategory,
  readFileName,
  readFolderName,
  readId
} from "../../services/item/ItemPath.ts"
import type { NameIssue } from "../../services/item/ItemPath.ts"
import type { Entry, Listing } from "../../services/item/ItemSources.ts"
import { isSettled } from "../files/believe.ts"
import { asRead, isAbsent } from "../files/refused.ts"
import { errorCode } from "../process/errorCode.ts"
import { isSameStamp, keepFolder, releaseFolder, type Stamp, stampOf, statOpenFolder } from "./keptFolder.ts"

type Problem = ItemInvalid | ItemUnreadable

interface Folder {
  /** Relative to the type folder; "" for itself. */
  readonly path: string
  readonly children: Map<string, Folder>
  stamp: Stamp | undefined
  /** Whether every later change will be visible in the stamp. */
  settled: boolean
  /** The open folder, once it is settled. While no parent folder changed, it is the folder at `path`. */
  descriptor: number | undefined
  entries: ReadonlyArray<Entry>
  problems: ReadonlyArray<Problem>
}

/** Folders to check before other fibers may run. Reading a folder counts as several checks. */
const batch = 2048
const readingCosts = 8

/** With fewer folders, none is kept open. */
const fewFolders = 16

// Lists here may be very long, so they are never spread into a call: too many arguments overflow the stack.

/** A tier's real root, or why it cannot be used. Undefined if there is none. */
export type FoundRoot = Result.Result<string | undefined, ItemUnreadable>

export interface CatalogOptions {
  readonly type: ItemType
  readonly tier: Tier
  readonly root: () => FoundRoot
  /** Whether its files never change during the process. */
  readonly fixed: boolean
}

const emptyListing: Listing = { byId: new Map(), problems: [] }

const makeFolder = (path: string): Folder => ({
  path,
  children: new Map(),
  stamp: undefined,
  settled: false,
  descriptor: undefined,
  entries: [],
  problems: []
})

/** Undefined if the file is missing or cannot be read. */
export const statOf = (file: string): Fs.Stats | undefined => {
  try {
    return Fs.lstatSync(file, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

export const realPathOf = (file: string): string | undefined => {
  try {
    return Fs.realpathSync.native(file)
  } catch {
    return undefined
  }
}

const itemIssue = {
  symlink: "escapes",
  outside: "escapes",
  "too-large": "too-large",
  "not-a-file": "not-a-file",
  foreign: "permission",
  permission: "permission",
  io: "io"
} as const

/** Turns a file system error, or a refusal to read, into an item error. */
export const unreadable = (item: string, cause: unknown): ItemUnreadable => {
  if (isAbsent(cause)) return new ItemUnreadable({ item, issue: "vanished", detail: "it no longer exists" })
  const { detail, issue } = asRead(item)(cause)
  return new ItemUnreadable({ item, detail, issue: itemIssue[issue] })
}

export const make = ({ fixed, root: findRoot, tier, type }: CatalogOptions) => {
  const semaphore = Semaphore.makeUnsafe(1)
  const byId = new Map<string, ReadonlyArray<Entry>>()
  let top = makeFolder("")
  let root: string | undefined
  let extensions: ReadonlyArray<string> = []
  let listing: Listing = emptyListing
  let complete = false
  /** Every folder below the top, in the order of the last complete walk. */
  let order: ReadonlyArray<Folder> = []

  const show = (path: string): string => showLocation({ tier, type, path })
  const named = (path: string, reason: NameIssue): ItemInvalid =>
    new ItemInvalid({ item: show(path), line: 0, column: 0, found: "", ...reason })

  const setEntries = (folder: Folder, entries: ReadonlyArray<Entry>): void => {
    const gone = new Set(folder.entries)
    for (const { location } of gone) {
      const rest = (byId.get(location.id) ?? []).filter((e) => !gone.has(e))
      if (rest.length === 0) byId.delete(location.id)
      else byId.set(location.id, rest)
    }
    for (const entry of entries) {
      const known = byId.get(entry.location.id)
      byId.set(entry.location.id, known === undefined ? [entry] : [...known, entry])
    }
    folder.entries = entries
  }

  const release = (folder: Folder): void => {
    if (folder.descriptor === undefined) return
    releaseFolder(folder.descriptor)
    folder.descriptor = undefined
  }

  const releaseAll = (folder: Folder): void => {
    release(folder)
    for (const child of folder.children.values()) releaseAll(child)
  }

  const clear = (folder: Folder): void => {
    release(folder)
    for (const child of folder.children.values()) clear(child)
    folder.children.clear()
    setEntries(folder, [])
    folder.problems = []
    folder.stamp = undefined
  }

  const locationOf = (id: ItemId, category: string, name: string, kind: "file" | "folder"): ItemLocation =>
    locate({ type, tier, root: root!, id, category, name, kind })

  /** Reads a folder again: its entries and problems, and its child folders. */
  const scan = (folder: Folder, absolute: string): void => {
    const names = Fs.readdirSync(absolute, { withFileTypes: true })
    const problems: Array<Problem> = []
    const cut = folder.path.lastIndexOf("/")
    if (type === "tool" && folder.path !== "" && names.some((n) => n.name === folderManifest)) {
      for (const child of folder.children.values()) clear(child)
      folder.children.clear()
      const name = folder.path.slice(cut + 1)
      const reading = readId(name)
      if (reading._tag === "Id") {
        const category = cut === -1 ? "" : folder.path.slice(0, cut)
        setEntries(folder, [{ location: locationOf(reading.id, category, name, "folder"), kind: "plain" }])
      } else {
        setEntries(folder, [])
        if (reading._tag === "Invalid") problems.push(named(folder.path, reading.reason))
      }
      folder.problems = problems
      return
    }
    const wrong = readCategory(folder.path)
    if (wrong !== undefined) {
      clear(folder)
      folder.problems = [named(folder.path, wrong)]
      return
    }
    const entries: Array<Entry> = []
    const children = new Set<string>()
    for (const entry of names) {
      const path = folder.path === "" ? entry.name : `${folder.path}/${entry.name}`
      // On some file systems a listing does not include the types of entries.
      const known = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink() || entry.isFIFO() ||
        entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice()
      const is = known ? entry : statOf(`${absolute}/${entry.name}`) ?? entry
      if (is.isDirectory()) {
        const answer = readFolderName(path)
        if (answer === "enter") children.add(entry.name)
        else if (answer !== "skip") problems.push(named(path, answer))
        continue
      }
      const reading = readFileName(type, entry.name, extensions)
      if (reading._tag === "Id") {
        const kind = is.isFile() ? "plain" : is.isSymbolicLink() ? "link" : "special"
        entries.push({ location: locationOf(reading.id, folder.path, entry.name, "file"), kind })
      } else if (is.isSymbolicLink() && !entry.name.startsWith(".") && isFolder(`${absolute}/${entry.name}`)) {
        problems.push(
          new ItemUnreadable({ item: show(path), issue: "escapes", detail: "links to folders are not followed" })
        )
      } else if (reading._tag === "Invalid") problems.push(named(path, reading.reason))
    }
    for (const [name, child] of folder.children) {
      if (children.has(name)) continue
      clear(child)
      folder.children.delete(name)
    }
    for (const name of children) {
      if (!folder.children.has(name)) {
        folder.children.set(name, makeFolder(folder.path === "" ? name : `${folder.path}/${name}`))
      }
    }
    setEntries(folder, entries)
    folder.problems = problems
  }

  const absoluteOf = (folder: Folder, base: string): string => folder.path === "" ? base : `${base}/${folder.path}`

  /** Checks one folder. Returns whether it had to be read. */
  const visit = (folder: Folder, base: string, now: number): boolean => {
    const absolute = absoluteOf(folder, base)
    const stat = statOf(absolute)
    if (stat === undefined || !stat.isDirectory()) {
      clear(folder)
      return false
    }
    if (folder.settled && isSameStamp(folder.stamp, stat)) return false
    release(folder)
    try {
      scan(folder, absolute)
    } catch (cause) {
      if (errorCode(cause) === "") throw cause
      clear(folder)
      const failure = unreadable(show(folder.path), cause)
      if (failure.issue !== "vanished") folder.problems = [failure]
      return true
    }
    folder.stamp = stampOf(stat)
    folder.settled = isSettled(Math.max(stat.mtimeMs, stat.ctimeMs), now)
    return true
  }

  /** Whether nothing has changed since the last complete walk, by the folders' own times. `stat`: of the top folder. */
  const isCurrent = (base: string, stat: Fs.Stats | undefined): boolean => {
    if (stat?.isDirectory() !== true) return top.stamp === undefined && top.problems.length === 0
    if (!top.settled || !isSameStamp(top.stamp, stat)) return false
    for (const folder of order) {
      if (!folder.settled) return false
      const now = folder.descriptor === undefined
        ? statOf(absoluteOf(folder, base))
        : statOpenFolder(folder.descriptor)
      if (now === undefined || !isSameStamp(folder.stamp, now)) return false
    }
    return true
  }

  /** Keeps settled folders open. Their stamps are compared, so each is still the one that was read. */
  const keepOpen = (base: string): void => {
    if (fixed || order.length < fewFolders) return
    for (const folder of order) {
      if (!folder.settled || folder.descriptor !== undefined || folder.stamp === undefined) continue
      folder.descriptor = keepFolder(absoluteOf(folder, base), folder.stamp)
      if (folder.descriptor === undefined) return
    }
  }

  const collect = (folder: Folder, into: Array<Problem>): Array<Problem> => {
    for (const problem of folder.problems) into.push(problem)
    for (const child of folder.children.values()) collect(child, into)
    return into
  }

  const reset = (): void => {
    byId.clear()
    releaseAll(top)
    order = []
    top = makeFolder("")
    complete = false
  }

  const refresh = Effect.fnUntraced(function*(further: ReadonlyArray<string>, found: FoundRoot) {
    if (Result.isFailure(found)) {
      reset()
      listing = { byId, problems: [found.failure] }
      return listing
    }
    if (found.success !== root || further.join() !== extensions.join()) {
      reset()
      root = found.success
      extensions = further
    }
    if (root === undefined) return emptyListing
    const base = `${root}/${typeFolder[type]}`
    const stat = statOf(base)
    if (stat?.isSymbolicLink() === true) {
      reset()
      const problem = new ItemUnreadable({ item: show(""), issue: "escapes", detail: "the folder itself is a link" })
      listing = { byId, problems: [problem] }
      return listing
    }
    if (complete && isCurrent(base, stat)) return listing
    const now = yield* Clock.currentTimeMillis
    // A walk that is interrupted has changed entries. The next one makes another listing, so that this one is not taken
    // for what is there.
    complete = false
    const waiting = [top]
    const seen: Array<Folder> = []
    let cost = 0
    while (waiting.length > 0) {
      const folder = waiting.pop()!
      if (folder !== top) seen.push(folder)
      cost += visit(folder, base, now) ? readingCosts : 1
      for (const child of folder.children.values()) waiting.push(child)
      if (cost < batch) continue
      cost = 0
      yield* Effect.yieldNow
    }
    order = seen
    keepOpen(base)
    complete = true
    listing = {
      byId,
      get problems() {
        return collect(top, [])
      }
    }
    return listing
  })

  return {
    /** `found`: the root, if the caller has just looked for it. */
    listing: (further: ReadonlyArray<string>, found?: FoundRoot): Effect.Effect<Listing> =>
      fixed && complete
        ? Effect.succeed(listing)
        : semaphore.withPermit(Effect.suspend(() => refresh(further, found ?? findRoot()))),
    close: (): void => {
      releaseAll(top)
    }
  }
}

const isFolder = (file: string): boolean => {
  try {
    return Fs.statSync(file).isDirectory()
  } catch {
    return false
  }
}
