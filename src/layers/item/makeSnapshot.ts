// Makes a snapshot from an item's bytes; the same for every store.
import { Order, Result } from "effect"
import { isLeftOut, isProgram } from "../../services/item/folder/folderFiles.ts"
import type { FolderFile, ItemLocation, ItemSnapshot } from "../../services/item/Item.ts"
import { showLocation } from "../../services/item/Item.ts"
import { ItemInvalid } from "../../services/item/ItemErrors.ts"
import { folderManifest } from "../../services/item/ItemPath.ts"
import {
  commentSyntax,
  normalize,
  parseDetached,
  splitSignature,
  strayClaim
} from "../../services/item/SignatureLine.ts"
import { conflictIssue, toolFileIssue } from "../../services/item/text/toolText.ts"
import { sha256 } from "../identity/sha256.ts"

type Claim = ItemSnapshot["claim"]

const none: Claim = { _tag: "None" }

/** Parses a detached signature. Undefined bytes: there is none. */
const readDetached = (bytes: Uint8Array | undefined): Claim => {
  if (bytes === undefined) return none
  const text = Result.getOrUndefined(normalize(bytes))
  const claim = text === undefined ? undefined : parseDetached(text)
  return claim === undefined
    ? { _tag: "Malformed", issue: "the file of its detached signature does not have the form that Kiwi writes" }
    : { _tag: "Claim", claim, detached: true }
}

const canonicalText = (location: ItemLocation, bytes: Uint8Array): Result.Result<string, ItemInvalid> =>
  Result.mapError(
    Result.flatMap(normalize(bytes), (text) => {
      const syntax = commentSyntax(location.path.slice(location.path.lastIndexOf("/") + 1))
      const issue = conflictIssue(text, location.path) ?? strayClaim(text, syntax)
      return issue === undefined ? Result.succeed(text) : Result.fail(issue)
    }),
    (problem) => new ItemInvalid({ item: showLocation(location), found: "", ...problem })
  )

/**
 * Refuses a file that a person could not be shown as programs read it: a tool's only file, or any file of its folder.
 */
const checkToolFile = (item: string, path: string, bytes: Uint8Array): Result.Result<void, ItemInvalid> => {
  const issue = toolFileIssue(path, bytes)
  return issue === undefined ? Result.void : Result.fail(new ItemInvalid({ item, found: "", ...issue }))
}

/** Whether the item's signature is in a separate file, `<name>.kiwi-sig`. */
export const isDetached = (location: ItemLocation): boolean =>
  location.kind === "folder" || commentSyntax(location.path.slice(location.path.lastIndexOf("/") + 1)) === undefined

export const fileSnapshot = (location: ItemLocation, source: {
  readonly bytes: Uint8Array
  readonly executable: boolean
  readonly detached: Uint8Array | undefined
}): Result.Result<ItemSnapshot, ItemInvalid> => {
  const checked = location.type === "tool"
    ? checkToolFile(showLocation(location), location.path, source.bytes)
    : Result.void
  if (Result.isFailure(checked)) return Result.fail(checked.failure)
  return Result.map(canonicalText(location, source.bytes), (text): ItemSnapshot => {
    const syntax = commentSyntax(location.path.slice(location.path.lastIndexOf("/") + 1))
    const { canonical, claim } = splitSignature(text, syntax)
    const bytes = new TextEncoder().encode(canonical)
    return {
      location,
      bytes,
      digest: sha256(bytes),
      claim: syntax === undefined
        ? readDetached(source.detached)
        : claim._tag === "Claim"
        ? { ...claim, detached: false }
        : claim,
      files: [],
      executable: source.executable
    }
  })
}

/** Compares by UTF-16 code units, as RFC 8785 sorts keys. */
const byPath = Order.mapInput(Order.String, (file: FolderFile) => file.path)

/**
 * The digest that a folder's signature covers: of the RFC 8785 JSON of the sorted list of [path, sha256, executable].
 */
export const folderDigest = (files: ReadonlyArray<FolderFile>): string =>
  sha256(JSON.stringify(files.toSorted(byPath).map((f) => [f.path, f.digest, f.executable])))

export const folderSnapshot = (location: ItemLocation, source: {
  readonly files: ReadonlyArray<Omit<FolderFile, "executable">>
  readonly detached: Uint8Array | undefined
}): Result.Result<ItemSnapshot, ItemInvalid> => {
  const files = source.files
    .filter(({ path }) => !path.split("/").some(isLeftOut))
    .map(({ bytes, digest, path }) => ({ path, digest, executable: isProgram(bytes), bytes }))
    .toSorted(byPath)
  const manifest = files.find((f) => f.path === folderManifest)
  if (manifest === undefined) {
    return Result.fail(
      new ItemInvalid({
        item: showLocation(location),
        line: 0,
        column: 0,
        issue: `the folder has no ${folderManifest}`,
        found: "",
        hint: `Write its metadata to ${folderManifest}`
      })
    )
  }
  for (const { bytes, path } of files) {
    const checked = checkToolFile(`${showLocation(location)}/${path}`, path, bytes)
    if (Result.isFailure(checked)) return Result.fail(checked.failure)
  }
  return Result.map(canonicalText(location, manifest.bytes), (text): ItemSnapshot => ({
    location,
    bytes: new TextEncoder().encode(text),
    digest: folderDigest(files),
    claim: readDetached(source.detached),
    files,
    executable: false
  }))
}
