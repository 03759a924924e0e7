// What a manifest of the system tier says of files.
import { Result } from "effect"
import { sha256 } from "../src/layers/identity/sha256.ts"
import { folderManifest } from "../src/services/item/ItemPath.ts"
import { commentSyntax, normalize, splitSignature } from "../src/services/item/SignatureLine.ts"

/** The digests of files as an item store reads them: of a file's canonical text, of the bytes of a folder's part. */
export const manifestOf = (files: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, string> => {
  const folders = [...files.keys()].filter((path) => path.endsWith(`/${folderManifest}`))
    .map((path) => path.slice(0, -folderManifest.length))
  return new Map([...files].map(([path, bytes]) => {
    const text = folders.some((folder) => path.startsWith(folder)) ? Result.fail(undefined) : normalize(bytes)
    const name = path.slice(path.lastIndexOf("/") + 1)
    const canonical = Result.isSuccess(text) ? splitSignature(text.success, commentSyntax(name)).canonical : bytes
    return [path, sha256(canonical)]
  }))
}
