// Read-only copies below `$KIWI_HOME/verified`. A folder there contains exactly one item and nothing else, since an
// interpreter would import whatever is beside its script. A copy is hashed again only when a stat in it changes.
import { Clock, Effect, Layer, Option, Order } from "effect"
import { randomUUID } from "node:crypto"
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import type { BigIntStats } from "node:fs"
import { basename, dirname, isAbsolute, join } from "node:path"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import type { FolderFile, ItemSnapshot } from "../../services/item/Item.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { changedAt, isSettled, stampOf, statOf } from "../files/believe.ts"
import { listFolder, readFolder } from "../files/listFolder.ts"
import { readAll, withRegular } from "../files/readRegular.ts"
import { asWrite, isAbsent, Refused } from "../files/refused.ts"
import { sha256 } from "../identity/sha256.ts"
import { folderDigest } from "../item/makeSnapshot.ts"
import { errorCode } from "../process/errorCode.ts"

/** How often a copy is retried while other processes make or remove it. */
const rounds = 5

/** In milliseconds: the age at which a killed writer's temporary folder is removed. */
const leftoverAge = 3_600_000

/** In milliseconds: a copy unused for so long is removed. A used copy is marked once a day. */
const unusedAge = 90 * 86_400_000
const markedEvery = 86_400_000

/** In milliseconds: a process looks for old copies once in this time, not with every copy that it makes. */
const sweptEvery = 3_600_000

/** The limit of copies that one sweep removes. */
const maxSwept = 100

/** The limit of cached checks. Other copies are hashed again. */
const maxChecked = 2_000

const copyName = /^[0-9a-f]{64}(?:\.[0-9a-f]{16})?$/

/** The content of a copy's folder, by relative path. */
interface Found {
  readonly files: ReadonlyMap<string, FolderFile>
  readonly stamps: ReadonlyMap<string, string>
  /** The latest change of any file or folder in it, in milliseconds. */
  readonly changed: number
}

/** In bytes: the maximum size of an item's file. */
const maxBytes = 16 * 1_048_576

/** Reads a copy's whole folder without following links. */
const survey = (folder: string): Found => {
  const files = new Map<string, FolderFile>()
  const stamps = new Map<string, string>()
  let changed = 0
  const note = (path: string, stat: BigIntStats): void => {
    stamps.set(path, stampOf(stat))
    changed = Math.max(changed, changedAt(stat))
  }
  const walk = (path: string, relative: string): void => {
    const stat = lstatSync(path, { bigint: true })
    if (stat.isSymbolicLink()) throw new Refused("symlink", "a link is in its place")
    if (stat.isDirectory()) {
      note(path, stat)
      for (const { name } of readFolder(path)) walk(join(path, name), relative === "" ? name : `${relative}/${name}`)
      return
    }
    withRegular(path, { maxBytes, follow: false }, (opened) => {
      const bytes = readAll(opened)
      note(path, opened.stat)
      const executable = (opened.stat.mode & 0o100n) !== 0n
      files.set(relative, { path: relative, bytes, digest: sha256(bytes), executable })
    })
  }
  walk(folder, "")
  return { files, stamps, changed }
}

const contentOf = ({ bytes, executable, files, location }: ItemSnapshot): ReadonlyMap<string, FolderFile> => {
  if (location.kind === "folder") return new Map(files.map((file) => [file.path, file]))
  const path = basename(location.path)
  return new Map([[path, { path, bytes, digest: sha256(bytes), executable }]])
}

const matches = (found: Found, wanted: ReadonlyMap<string, FolderFile>): boolean =>
  found.files.size === wanted.size && [...wanted].every(([path, file]) => {
    const copy = found.files.get(path)
    return copy !== undefined && copy.digest === file.digest && copy.executable === file.executable
  })

const isPlain = (path: string): boolean =>
  !isAbsolute(path) && !path.includes("\\") && path.split("/").every((part) => !["", ".", ".."].includes(part))

const writeAll = (folder: string, content: ReadonlyMap<string, FolderFile>): void => {
  const folders = new Set([folder])
  mkdirSync(folder, { mode: 0o700 })
  for (const [path, { bytes, executable }] of content) {
    const file = join(folder, path)
    for (let parent = dirname(file); parent !== folder; parent = dirname(parent)) folders.add(parent)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, bytes, { flag: "wx", mode: 0o600 })
    chmodSync(file, executable ? 0o500 : 0o400)
  }
  for (const path of folders) chmodSync(path, 0o500)
}

/** Removes a folder in which everything is read-only. */
const discard = (folder: string): void => {
  const open = (path: string): void => {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return
    chmodSync(path, 0o700)
    for (const { name } of readFolder(path, Infinity)) open(join(path, name))
  }
  open(folder)
  rmSync(folder, { recursive: true, force: true })
}

const isTaken = (error: unknown): boolean => ["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errorCode(error))

export const make = Effect.gen(function*() {
  const { home, verified } = yield* KiwiHome
  const safe = yield* SafeFiles

  interface Checked {
    readonly folder: string
    readonly stamps: ReadonlyMap<string, string>
    readonly settled: boolean
    /** When it was last marked as used. */
    readonly marked: number
  }
  const checked = new BoundedMap<string, Checked>(maxChecked)
  const sweptAt = new Map<string, number>()

  const attempt = <A>(path: string, run: () => A) => Effect.try({ try: run, catch: asWrite(`verified/${path}`) })

  /** Two files with the same content and different names get two folders, since a folder contains one file. */
  const namesOf = (digest: string, fileName: string | undefined): readonly [string, string?] =>
    fileName === undefined ? [digest] : [digest, `${digest}.${sha256(fileName).slice(0, 16)}`]

  /** Whether the folder contains a file of another name. */
  const isOthers = (folder: string, fileName: string): boolean => {
    const entries = listFolder(folder)
    return entries.length > 0 && !entries.some(({ name }) => name === fileName)
  }

  const nameFor = (base: string, digest: string, fileName: string | undefined): string => {
    const [plain, own] = namesOf(digest, fileName)
    return own !== undefined && fileName !== undefined && isOthers(join(base, plain), fileName) ? own : plain
  }

  const isUnchanged = ({ stamps }: Checked): boolean => {
    for (const [path, stamp] of stamps) {
      const stat = statOf(path)
      if (stat === undefined || stampOf(stat) !== stamp) return false
    }
    return true
  }

  const sweep = (base: string, now: number): void => {
    if (now - (sweptAt.get(base) ?? -Infinity) < sweptEvery) return
    sweptAt.set(base, now)
    const inUse = new Set(Array.from(checked.values(), ({ folder }) => folder))
    let left = maxSwept
    for (const { name } of listFolder(base)) {
      const folder = join(base, name)
      const isLeftover = name.startsWith(".")
      if (left === 0 || !(isLeftover || copyName.test(name)) || inUse.has(folder)) continue
      const stat = statOf(folder)
      const age = now - Number((isLeftover ? stat?.ctimeMs : stat?.mtimeMs) ?? now)
      if (age <= (isLeftover ? leftoverAge : unusedAge)) continue
      left--
      try {
        const old = isLeftover ? folder : join(base, `.old-${randomUUID()}`)
        if (!isLeftover) renameSync(folder, old)
        discard(old)
      } catch {
        // Another process is removing it, or another user owns it: neither prevents making a copy.
      }
    }
  }

  /** Marks a copy as used. Returns whether that changed it. */
  const mark = (folder: string, now: number): boolean => {
    const stat = statOf(folder)
    if (stat === undefined || now - Number(stat.mtimeMs) <= markedEvery) return false
    try {
      utimesSync(folder, now / 1000, now / 1000)
      return true
    } catch {
      // On a disk that cannot be written, nothing is swept either.
      return false
    }
  }

  /** Puts a whole copy at `name`, in place of what is there. If another process is first, its copy is as good. */
  const place = (base: string, name: string, content: ReadonlyMap<string, FolderFile>): void => {
    const fresh = join(base, `.new-${randomUUID()}`)
    try {
      writeAll(fresh, content)
      try {
        renameSync(fresh, join(base, name))
        return
      } catch (error) {
        if (!isTaken(error)) throw error
      }
      const old = join(base, `.old-${randomUUID()}`)
      try {
        renameSync(join(base, name), old)
        renameSync(fresh, join(base, name))
      } catch (error) {
        if (!isTaken(error) && errorCode(error) !== "ENOENT") throw error
      }
      discard(old)
    } finally {
      discard(fresh)
    }
  }

  /** The copy at `name`. Undefined if it is missing or its content differs. */
  const findCopy = (base: string, name: string, content: ReadonlyMap<string, FolderFile>): Found | undefined => {
    try {
      const found = survey(join(base, name))
      return matches(found, content) ? found : undefined
    } catch (error) {
      // There is none, another process is just replacing it, or it contains something that is not an item's file.
      if (isAbsent(error) || (error instanceof Refused && error.issue !== "symlink")) return undefined
      throw error
    }
  }

  const prepare = Effect.fnUntraced(function*(
    key: string,
    below: string,
    digest: string,
    fileName: string | undefined,
    content: ReadonlyMap<string, FolderFile>
  ) {
    if (![...content.keys()].every(isPlain)) {
      return yield* new WriteRefused({ path: `verified/${digest}`, issue: "outside", detail: "a path leaves the item" })
    }
    yield* safe.makeDirectory(home, below, { mode: 0o700 })
    const base = join(home, below)
    const now = yield* Clock.currentTimeMillis
    return yield* attempt(digest, () => {
      const name = nameFor(base, digest, fileName)
      let found = findCopy(base, name, content)
      if (found === undefined) sweep(base, now)
      for (let round = 0; found === undefined && round < rounds; round++) {
        place(base, name, content)
        found = findCopy(base, name, content)
      }
      if (found === undefined) throw new Error("a copy changed right after it was made")
      const folder = join(base, name)
      if (mark(folder, now)) found = findCopy(base, name, content) ?? found
      const entry: Checked = {
        folder,
        stamps: found.stamps,
        settled: isSettled(found.changed, now),
        marked: Math.max(now, found.changed)
      }
      checked.set(key, entry)
      return entry
    })
  })

  const materialize = Effect.fnUntraced(function*(
    { snapshot }: Verified,
    entrypoint: string | undefined,
    below: string = "verified"
  ) {
    const { digest, executable, files, location } = snapshot
    const fileName = location.kind === "file" ? basename(location.path) : undefined
    if (entrypoint !== undefined && entrypoint !== fileName && !files.some((file) => file.path === entrypoint)) {
      return yield* new WriteRefused({
        path: `verified/${digest}`,
        issue: "io",
        detail: `the entrypoint "${entrypoint}" is not one of the item's files`
      })
    }
    const key = `${below} ${digest} ${executable} ${fileName ?? ""}`
    const known = checked.get(key)
    const now = yield* Clock.currentTimeMillis
    const isFresh = known !== undefined && known.settled && now - known.marked <= markedEvery
    const current = isFresh && (yield* attempt(digest, () => isUnchanged(known)))
      ? known
      : yield* prepare(key, below, digest, fileName, contentOf(snapshot))
    return {
      folder: current.folder,
      file: entrypoint === undefined ? undefined : join(current.folder, entrypoint)
    }
  })

  const surveyed = (name: string): Effect.Effect<Found | undefined> =>
    Effect.map(
      Effect.option(Effect.try({
        try: () => statOf(join(verified, name))?.isDirectory() === true ? survey(join(verified, name)) : undefined,
        catch: () => undefined
      })),
      Option.getOrUndefined
    )

  const recall = Effect.fn("VerifiedCopies.recall")(function*(digest: string, fileName: string) {
    for (const name of namesOf(digest, fileName).filter((each) => each !== undefined)) {
      const file = (yield* surveyed(name))?.files.get(fileName)
      if (file?.digest === digest) return file.bytes
    }
    return undefined
  })

  const recallFolder = Effect.fn("VerifiedCopies.recallFolder")(function*(digest: string) {
    const found = yield* surveyed(digest)
    if (found === undefined) return undefined
    const files = [...found.files.values()].toSorted(Order.mapInput(Order.String, (file) => file.path))
    return folderDigest(files) === digest ? files : undefined
  })

  return VerifiedCopies.of({ materialize, recall, recallFolder })
})

export const layer = Layer.effect(VerifiedCopies, make)
