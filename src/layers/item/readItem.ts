// Reads an item once: one open that neither follows links nor blocks on a pipe, a check of the opened file, a bounded
// read. Everything later uses these bytes and never the file. A folder is read completely: no file that the signer did
// not see may be skipped.
import { Result } from "effect"
import { Buffer } from "node:buffer"
import * as Fs from "node:fs"
import { isLeftOut } from "../../services/item/folder/folderFiles.ts"
import { showLocation, typeFolder } from "../../services/item/Item.ts"
import type { FolderFile, ItemLocation, ItemSnapshot } from "../../services/item/Item.ts"
import { ItemInvalid, ItemUnreadable } from "../../services/item/ItemErrors.ts"
import { detachedSuffix, folderManifest } from "../../services/item/ItemPath.ts"
import { stampOf } from "../files/believe.ts"
import { readAll, withRegular } from "../files/readRegular.ts"
import { sha256 } from "../identity/sha256.ts"
import { errorCode } from "../process/errorCode.ts"
import { unreadable } from "./makeCatalog.ts"
import { fileSnapshot, folderSnapshot, isDetached } from "./makeSnapshot.ts"

const maxItem = 1024 * 1024
const maxFolder = 16 * 1024 * 1024
const maxFiles = 1000
const maxDepth = 16
const maxSignature = 1024

export type ReadFailure = ItemInvalid | ItemUnreadable

export interface ReadItem {
  readonly snapshot: ItemSnapshot
  readonly identity: string
  /** The latest change time of any file that was read, in milliseconds. */
  readonly changed: number
}

interface OpenedFile {
  readonly bytes: Buffer
  readonly executable: boolean
  readonly stat: Fs.BigIntStats
}

const fail = (item: string, issue: ItemUnreadable["issue"], detail: string): Result.Result<never, ItemUnreadable> =>
  Result.fail(new ItemUnreadable({ item, issue, detail }))

const readFile = (item: string, file: string, limit: number): Result.Result<OpenedFile, ItemUnreadable> => {
  try {
    return Result.succeed(withRegular(file, { maxBytes: limit, follow: false }, (opened) => ({
      bytes: readAll(opened),
      executable: (opened.stat.mode & 0o100n) !== 0n,
      stat: opened.stat
    })))
  } catch (cause) {
    return Result.fail(unreadable(item, cause))
  }
}

const milliseconds = (stat: Fs.BigIntStats): number =>
  Number((stat.ctimeNs > stat.mtimeNs ? stat.ctimeNs : stat.mtimeNs) / 1_000_000n)

interface Detached {
  readonly bytes: Uint8Array | undefined
  readonly identity: string
  readonly changed: number
}

const noSignature: Detached = { bytes: undefined, identity: "-", changed: 0 }

const readDetached = (location: ItemLocation): Result.Result<Detached, ItemUnreadable> => {
  const file = location.file + detachedSuffix
  if (Fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) return Result.succeed(noSignature)
  return Result.map(readFile(showLocation(location) + detachedSuffix, file, maxSignature), (opened) => ({
    bytes: opened.bytes,
    identity: stampOf(opened.stat),
    changed: milliseconds(opened.stat)
  }))
}

interface Walked {
  readonly path: string
  readonly stat: Fs.BigIntStats
}

/** Control characters, backslashes, and the replacement character for invalid UTF-8. */
const unprintable = /[\p{Cc}\\\ufffd]/u

/** Every file and folder of a folder item. Fails on an entry that is neither. */
const walk = (location: ItemLocation): Result.Result<ReadonlyArray<Walked>, ReadFailure> => {
  const found: Array<Walked> = []
  const waiting = [""]
  let files = 0
  while (waiting.length > 0) {
    const at = waiting.pop()!
    const absolute = at === "" ? location.file : `${location.file}/${at}`
    const stat = Fs.lstatSync(absolute, { bigint: true })
    if (!stat.isDirectory()) return fail(showLocation(location), "not-a-file", "it is no longer a folder")
    found.push({ path: at === "" ? "/" : `${at}/`, stat })
    if (found.length - files > maxFiles) {
      return fail(showLocation(location), "too-large", `it has more than ${maxFiles} folders`)
    }
    for (const name of Fs.readdirSync(absolute)) {
      if (isLeftOut(name)) continue
      const path = at === "" ? name : `${at}/${name}`
      const item = `${showLocation(location)}/${path}`
      if (unprintable.test(name)) {
        return Result.fail(
          new ItemInvalid({
            item: showLocation(location),
            line: 0,
            column: 0,
            issue: "a file of the folder has a control character, a backslash or invalid UTF-8 in its name",
            found: JSON.stringify(name).slice(0, 200),
            hint: "Rename the file"
          })
        )
      }
      const entry = Fs.lstatSync(`${location.file}/${path}`, { bigint: true })
      if (entry.isDirectory()) {
        if (path.split("/").length > maxDepth) {
          return fail(item, "too-large", `it lies more than ${maxDepth} folders deep`)
        }
        waiting.push(path)
      } else if (entry.isFile()) {
        files++
        if (files > maxFiles) return fail(showLocation(location), "too-large", `it has more than ${maxFiles} files`)
        found.push({ path, stat: entry })
      } else {
        return fail(
          item,
          "not-a-file",
          entry.isSymbolicLink() ? "a folder tool cannot contain links" : "it is not a regular file"
        )
      }
    }
  }
  return Result.succeed(found)
}

const readFolder = (location: ItemLocation): Result.Result<ReadItem, ReadFailure> =>
  Result.gen(function*() {
    const walked = yield* walk(location)
    const files: Array<Omit<FolderFile, "executable">> = []
    let total = 0
    let changed = 0
    for (const { path, stat } of walked) {
      changed = Math.max(changed, milliseconds(stat))
      if (path.endsWith("/")) continue
      const item = `${showLocation(location)}/${path}`
      const limit = path === folderManifest ? maxItem : maxFolder
      const opened = yield* readFile(item, `${location.file}/${path}`, limit)
      if (stampOf(opened.stat) !== stampOf(stat)) return yield* fail(item, "io", "it changed while being read")
      total += opened.bytes.length
      if (total > maxFolder) return yield* fail(showLocation(location), "too-large", "it has more than 16 MiB")
      files.push({ path, digest: sha256(opened.bytes), bytes: opened.bytes })
    }
    const detached = yield* readDetached(location)
    const snapshot = yield* folderSnapshot(location, { files, detached: detached.bytes })
    return {
      snapshot,
      identity: `${walked.map((w) => `${w.path}=${stampOf(w.stat)}`).join("|")}|${detached.identity}`,
      changed: Math.max(changed, detached.changed)
    }
  })

const readSingle = (location: ItemLocation): Result.Result<ReadItem, ReadFailure> =>
  Result.gen(function*() {
    const opened = yield* readFile(showLocation(location), location.file, maxItem)
    const detached = isDetached(location) ? yield* readDetached(location) : noSignature
    const snapshot = yield* fileSnapshot(location, { ...opened, detached: detached.bytes })
    return {
      snapshot,
      identity: `${stampOf(opened.stat)}|${detached.identity}`,
      changed: Math.max(milliseconds(opened.stat), detached.changed)
    }
  })

/** Turns a file system error into an item error. Any other error is a bug and is thrown on. */
const guarded = <A>(
  location: ItemLocation,
  body: () => Result.Result<A, ReadFailure>
): Result.Result<A, ReadFailure> => {
  try {
    return body()
  } catch (cause) {
    if (errorCode(cause) === "") throw cause
    return Result.fail(unreadable(showLocation(location), cause))
  }
}

export const readItem = (location: ItemLocation): Result.Result<ReadItem, ReadFailure> => {
  if (!location.file.startsWith(`${location.root}/${typeFolder[location.type]}/`)) {
    return fail(showLocation(location), "escapes", "it is outside its tier's folder")
  }
  return guarded(location, () => location.kind === "folder" ? readFolder(location) : readSingle(location))
}

/** The identity that `readItem` would return now. Undefined if it is unknown. A few stats, no read. */
export const currentIdentity = (location: ItemLocation): string | undefined => {
  const answer = guarded(location, () => {
    const signature = isDetached(location)
      ? Fs.lstatSync(location.file + detachedSuffix, { bigint: true, throwIfNoEntry: false })
      : undefined
    const detached = signature === undefined ? noSignature.identity : stampOf(signature)
    if (location.kind === "folder") {
      return Result.map(
        walk(location),
        (walked) => `${walked.map((w) => `${w.path}=${stampOf(w.stat)}`).join("|")}|${detached}`
      )
    }
    return Result.succeed(`${stampOf(Fs.lstatSync(location.file, { bigint: true }))}|${detached}`)
  })
  return Result.getOrUndefined(answer)
}
