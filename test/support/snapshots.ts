// Items made of text, signed by a key of the test's own: what a store would have read.
import { Result } from "effect"
import * as Ed25519 from "../../src/layers/identity/ed25519.ts"
import { sha256 } from "../../src/layers/identity/sha256.ts"
import * as MakeSnapshot from "../../src/layers/item/makeSnapshot.ts"
import type { FolderFile, ItemLocation, ItemSnapshot, SignatureClaim } from "../../src/services/item/Item.ts"
import { typeFolder } from "../../src/services/item/Item.ts"
import { isItemId } from "../../src/services/item/ItemId.ts"
import type { ItemType, Tier } from "../../src/services/item/ItemId.ts"
import { commentSyntax, printClaim, signedMessage, withSignature } from "../../src/services/item/SignatureLine.ts"

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
  return {
    type,
    tier,
    id,
    category: rest.slice(0, -1).join("/"),
    path: rest.join("/"),
    file: `${root}/${path}`,
    root,
    kind
  }
}

/** `undefined`: the store refuses these bytes. */
export const fileSnapshot = (location: ItemLocation, raw: Uint8Array | string): ItemSnapshot | undefined =>
  Result.getOrUndefined(
    MakeSnapshot.fileSnapshot(location, { bytes: Buffer.from(raw), executable: false, detached: undefined })
  )

export const folderFile = (path: string, content: Uint8Array | string, executable = false): FolderFile => {
  const bytes = Buffer.from(content)
  return { path, bytes, digest: sha256(bytes), executable }
}

export const folderSnapshot = (
  location: ItemLocation,
  files: ReadonlyArray<FolderFile>,
  detached?: string
): ItemSnapshot =>
  Result.getOrThrow(
    MakeSnapshot.folderSnapshot(location, {
      files,
      detached: detached === undefined ? undefined : Buffer.from(detached)
    })
  )

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
