// One tier's items of one type, by walking its folder. What is known of a folder holds as long as its own times do;
// a folder that changed less than two seconds before it was read is read again, since times are that coarse on some
// file systems. Synchronous calls, in batches: a hundred thousand files are listed in a fraction of a second.
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
import { errorCode } from "../process/errorCode.ts"
import type { Entry, Listing } from "./makeItemStore.ts"

type Problem = ItemInvalid | ItemUnreadable

interface Stamp {
  readonly dev: number
  readonly ino: number
  readonly mtimeMs: number
  readonly ctimeMs: number
}

interface Folder {
  /** Below the type folder; "" for itself. */
  readonly path: string
  readonly children: Map<string, Folder>
  stamp: Stamp | undefined
  /** Whether the stamp tells every later change. */
  settled: boolean
  entries: ReadonlyArray<Entry>
  problems: ReadonlyArray<Problem>
}

const settleTime = 2000

/** Folders looked at between two chances for other fibers. */
const batch = 256

// Lists here may be as long as a folder is large, and so are never spread into a call: an argument each is too many.

export interface CatalogOptions {
  readonly type: ItemType
  readonly tier: Tier
  /** The tier's real root, or what is wrong with it; `undefined` while there is none. */
  readonly root: () => Result.Result<string | undefined, ItemUnreadable>
  /** Whether its files never change while the process lives. */
  readonly fixed: boolean
}

const emptyListing: Listing = { byId: new Map(), problems: [] }

const makeFolder = (path: string): Folder => ({
  path,
  children: new Map(),
  stamp: undefined,
  settled: false,
  entries: [],
  problems: []
})

const sameStamp = (a: Stamp | undefined, b: Stamp): boolean =>
  a !== undefined && a.ino === b.ino && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.dev === b.dev

/** `undefined` for what is not there or cannot be looked at. */
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

/** A failure of the file system, said in our words. */
export const unreadable = (item: string, cause: unknown): ItemUnreadable => {
  const code = errorCode(cause)
  switch (code) {
    case "EACCES":
    case "EPERM":
      return new ItemUnreadable({ item, issue: "permission", detail: "you may not read it" })
    case "ENOENT":
    case "ENOTDIR":
      return new ItemUnreadable({ item, issue: "vanished", detail: "it is not there any more" })
    case "ELOOP":
      return new ItemUnreadable({ item, issue: "escapes", detail: "it is a link" })
    case "ENXIO":
    case "ENODEV":
      return new ItemUnreadable({ item, issue: "not-a-file", detail: "it is not a regular file" })
    default:
      return new ItemUnreadable({ item, issue: "io", detail: `the file system answered ${code}` })
  }
}

export const make = ({ fixed, root: findRoot, tier, type }: CatalogOptions) => {
  const semaphore = Semaphore.makeUnsafe(1)
  const byId = new Map<string, ReadonlyArray<Entry>>()
  let top = makeFolder("")
  let root: string | undefined
  let extensions: ReadonlyArray<string> = []
  let listing: Listing = emptyListing
  let complete = false

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

  const clear = (folder: Folder): void => {
    for (const child of folder.children.values()) clear(child)
    folder.children.clear()
    setEntries(folder, [])
    folder.problems = []
    folder.stamp = undefined
  }

  const locationOf = (id: ItemId, category: string, name: string, kind: "file" | "folder"): ItemLocation =>
    locate({ type, tier, root: root!, id, category, name, kind })

  /** Reads a folder anew: entries and problems of its own, children for what is in it. */
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
      // Some file systems do not tell in a listing what a name is.
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
      } else if (reading._tag === "Invalid") problems.push(named(path, reading.reason))
      else if (is.isSymbolicLink() && !entry.name.startsWith(".") && isFolder(`${absolute}/${entry.name}`)) {
        problems.push(
          new ItemUnreadable({ item: show(path), issue: "escapes", detail: "links to folders are not followed" })
        )
      }
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

  /** Looks at one folder and says where to go on. */
  const visit = (folder: Folder, base: string, now: number): Iterable<Folder> => {
    const absolute = folder.path === "" ? base : `${base}/${folder.path}`
    const stat = statOf(absolute)
    if (stat === undefined || !stat.isDirectory()) {
      clear(folder)
      return []
    }
    if (folder.settled && sameStamp(folder.stamp, stat)) return folder.children.values()
    try {
      scan(folder, absolute)
    } catch (cause) {
      if (errorCode(cause) === "") throw cause
      clear(folder)
      const failure = unreadable(show(folder.path), cause)
      if (failure.issue !== "vanished") folder.problems = [failure]
      return []
    }
    folder.stamp = { dev: stat.dev, ino: stat.ino, mtimeMs: stat.mtimeMs, ctimeMs: stat.ctimeMs }
    folder.settled = now - Math.max(stat.mtimeMs, stat.ctimeMs) > settleTime
    return folder.children.values()
  }

  const collect = (folder: Folder, into: Array<Problem>): Array<Problem> => {
    for (const problem of folder.problems) into.push(problem)
    for (const child of folder.children.values()) collect(child, into)
    return into
  }

  const reset = (): void => {
    byId.clear()
    top = makeFolder("")
  }

  const refresh = Effect.fnUntraced(function*(further: ReadonlyArray<string>) {
    const found = findRoot()
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
    if (statOf(base)?.isSymbolicLink() === true) {
      reset()
      const problem = new ItemUnreadable({ item: show(""), issue: "escapes", detail: "the folder itself is a link" })
      listing = { byId, problems: [problem] }
      return listing
    }
    const now = yield* Clock.currentTimeMillis
    const waiting = [top]
    let seen = 0
    while (waiting.length > 0) {
      for (const folder of visit(waiting.pop()!, base, now)) waiting.push(folder)
      if (++seen % batch === 0) yield* Effect.yieldNow
    }
    complete = true
    listing = {
      byId,
      get problems() {
        return collect(top, [])
      }
    }
    return listing
  })

  return (further: ReadonlyArray<string>): Effect.Effect<Listing> =>
    fixed && complete
      ? Effect.succeed(listing)
      : semaphore.withPermit(Effect.suspend(() => refresh(further)))
}

const isFolder = (file: string): boolean => {
  try {
    return Fs.statSync(file).isDirectory()
  } catch {
    return false
  }
}
