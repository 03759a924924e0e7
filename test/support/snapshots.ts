// Items made of text, signed by a key of the test's own: what a store would have read.
import { Result } from "effect"
import { createHash } from "node:crypto"
import * as Ed25519 from "../../src/layers/identity/ed25519.ts"
import { folderDigest } from "../../src/layers/integrity/VerifierEd25519.ts"
import type { FolderFile, ItemLocation, ItemSnapshot, SignatureClaim } from "../../src/services/item/Item.ts"
import { typeFolder } from "../../src/services/item/Item.ts"
import { isItemId } from "../../src/services/item/ItemId.ts"
import type { ItemType, Tier } from "../../src/services/item/ItemId.ts"
import {
  commentSyntax,
  normalize,
  parseClaim,
  printClaim,
  signedMessage,
  splitSignature,
  withSignature
} from "../../src/services/item/SignatureLine.ts"

const sha256 = (data: Uint8Array | string) => createHash("sha256").update(data).digest("hex")

export const time = "20261121T210900Z"

/** `tools/math/add.py`, or `tools/web/fetch` for a folder, in a tier that lies nowhere. */
export const locationOf = (
  path: string,
  { kind = "file", root = "/nowhere/.ai", tier = "project" }: {
    readonly kind?: "file" | "folder"
    readonly root?: string
    readonly tier?: Tier
  } = {}
): ItemLocation => {
  const [folder, ...rest] = path.split("/")
  const type = (Object.keys(typeFolder) as Array<ItemType>).find((name) => typeFolder[name] === folder)
  const name = rest.at(-1) ?? ""
  const id = kind === "folder" ? name : name.slice(0, name.lastIndexOf("."))
  if (type === undefined || !isItemId(id)) throw new Error(`${path} is no item`)
  return { type, tier, id, category: rest.slice(0, -1).join("/"), path: rest.join("/"), file: `${root}/${path}`, root, kind }
}

/** `undefined`: the store refuses these bytes. */
export const fileSnapshot = (location: ItemLocation, raw: Uint8Array | string): ItemSnapshot | undefined => {
  const text = Result.getOrUndefined(normalize(Buffer.from(raw)))
  if (text === undefined) return undefined
  const { canonical, claim } = splitSignature(text, commentSyntax(location.path.split("/").at(-1)!))
  const bytes = Buffer.from(canonical)
  return {
    location,
    bytes,
    digest: sha256(bytes),
    claim: claim._tag === "Claim" ? { ...claim, detached: false } : claim,
    files: [],
    executable: false
  }
}

export const folderFile = (path: string, content: Uint8Array | string, executable = false): FolderFile => {
  const bytes = Buffer.from(content)
  return { path, bytes, digest: sha256(bytes), executable }
}

export const folderSnapshot = (
  location: ItemLocation,
  files: ReadonlyArray<FolderFile>,
  detached?: string
): ItemSnapshot => {
  const sorted = files.toSorted((a, b) => a.path < b.path ? -1 : 1)
  const claim = detached === undefined ? undefined : parseClaim(detached)
  return {
    location,
    bytes: sorted.find((file) => file.path === "tool.yaml")?.bytes ?? new Uint8Array(),
    digest: folderDigest(sorted),
    claim: detached === undefined
      ? { _tag: "None" }
      : claim === undefined
      ? { _tag: "Malformed", issue: "no signature" }
      : { _tag: "Claim", claim, detached: true },
    files: sorted,
    executable: false
  }
}

export interface TestSigner {
  readonly pair: Ed25519.KeyPair
  readonly keyId: string
}

export const makeSigner = (): TestSigner => {
  const pair = Ed25519.generate()
  return { pair, keyId: Ed25519.keyIdOf(pair.publicKey) }
}

export const claimFor = (
  { keyId, pair }: TestSigner,
  location: ItemLocation,
  digest: string,
  kind: SignatureClaim["kind"] = "person"
): SignatureClaim => {
  const claim = { time, kind, digest }
  return { ...claim, keyId, signature: Ed25519.sign(pair, [signedMessage(claim, location)])![0]! }
}

/** The raw text of a file, signed. */
export const signText = (signer: TestSigner, location: ItemLocation, raw: string): string =>
  withSignature(
    raw,
    commentSyntax(location.path.split("/").at(-1)!)!,
    claimFor(signer, location, fileSnapshot(location, raw)!.digest)
  )

/** The detached signature of a folder. */
export const signFolder = (signer: TestSigner, location: ItemLocation, files: ReadonlyArray<FolderFile>): string =>
  printClaim(claimFor(signer, location, folderSnapshot(location, files).digest))
