// Verifies snapshots by Ed25519 and, in the system tier, by the manifest that the package was built with. Every cached
// result belongs to one immutable snapshot or is keyed by all of its inputs (key, whole message, signature). So it
// cannot become stale or apply to other bytes. Refusals are never cached.
import { Effect, Layer, Option, Result } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import {
  SignatureMalformed,
  SignerUntrusted,
  SystemItemAltered,
  Tampered,
  Unsigned,
  Verifier
} from "../../services/integrity/Verifier.ts"
import type { Verified, VerifyError } from "../../services/integrity/Verifier.ts"
import { showLocation, typeFolder } from "../../services/item/Item.ts"
import type { FolderFile, ItemLocation, ItemSnapshot, SignatureClaim } from "../../services/item/Item.ts"
import { normalize, signedMessage } from "../../services/item/SignatureLine.ts"
import { SignerTrust } from "../../services/trust/SignerTrust.ts"
import type { SignerStanding } from "../../services/trust/SignerTrust.ts"
import * as Ed25519 from "../identity/ed25519.ts"
import { sha256 } from "../identity/sha256.ts"
import { folderDigest } from "../item/makeSnapshot.ts"
import { SystemManifest } from "../item/system/SystemManifest.ts"

type Candidates = SignerTrust["Service"]["candidates"]

const remembered = 10_000
const rememberedKeys = 1_000

/** How many files of a changed folder a message names. */
const shownFiles = 5

const short = (digest: string): string => digest.slice(0, 12)

const signCommand = (location: ItemLocation): string => `kiwi sign ${location.type} ${location.id}`

const isSorted = (files: ReadonlyArray<FolderFile>): boolean =>
  files.every((file, index) => index === 0 || files[index - 1]!.path < file.path)

/** Whether `canonical` is the manifest's text: an item's metadata is parsed from it. */
const isReadFrom = (canonical: Uint8Array, manifest: FolderFile): boolean => {
  const text = normalize(manifest.bytes)
  return Result.isSuccess(text) && Buffer.from(text.success).equals(canonical)
}

/** The digest of the bytes in the snapshot, whatever the snapshot states. Undefined if they are not a valid item. */
const digestOf = (snapshot: ItemSnapshot): string | undefined => {
  if (snapshot.location.kind === "file") return sha256(snapshot.bytes)
  const { files } = snapshot
  const manifest = files.find((file) => file.path === "tool.yaml")
  if (manifest === undefined || !isReadFrom(snapshot.bytes, manifest) || !isSorted(files)) return undefined
  return files.every((file) => sha256(file.bytes) === file.digest)
    ? folderDigest(files)
    : undefined
}

const inManifest = (manifest: ReadonlyMap<string, string>, { digest, files, location }: ItemSnapshot): boolean => {
  const path = `${typeFolder[location.type]}/${location.path}`
  if (location.kind === "file") return manifest.get(path) === digest
  const expected = [...manifest.keys()].filter((key) => key.startsWith(`${path}/`)).length
  return files.length === expected && files.every((file) => manifest.get(`${path}/${file.path}`) === file.digest)
}

export const make = Effect.gen(function*() {
  const signers = yield* SignerTrust
  const manifest = yield* SystemManifest
  /** Only for better messages: what is kept of a folder does not affect any decision. */
  const copies = yield* Effect.serviceOption(VerifiedCopies)

  /** Snapshots are immutable, so the digest of each is computed once. */
  const hashed = new WeakSet<ItemSnapshot>()
  /** The public key that a snapshot was found to be signed with. */
  const signedWith = new WeakMap<ItemSnapshot, string>()
  const keys = new BoundedMap<string, NonNullable<ReturnType<typeof Ed25519.verifier>>>(rememberedKeys)
  const passed = new BoundedMap<string, true>(remembered)

  const isHonest = (snapshot: ItemSnapshot): boolean => {
    if (hashed.has(snapshot)) return true
    if (digestOf(snapshot) !== snapshot.digest) return false
    hashed.add(snapshot)
    return true
  }

  const isSignedBy = (publicKey: string, message: string, signature: string): boolean => {
    const name = `${publicKey} ${signature} ${message}`
    if (passed.get(name) === true) return true
    const verify = keys.get(publicKey) ?? Ed25519.verifier(publicKey)
    if (verify?.(message, signature) !== true) return false
    keys.set(publicKey, verify)
    passed.set(name, true)
    return true
  }

  const verifySystem = (snapshot: ItemSnapshot) =>
    isHonest(snapshot) && inManifest(manifest, snapshot)
      ? Effect.succeed<Verified>({ snapshot, by: { _tag: "System" } })
      : Effect.fail(new SystemItemAltered({ item: showLocation(snapshot.location) }))

  /** Which files of a folder differ, if the signed version is still kept. Names only files that were signed. */
  const differences = Effect.fnUntraced(function*({ files, location }: ItemSnapshot, digest: string) {
    const signed = location.kind === "folder" && Option.isSome(copies)
      ? yield* copies.value.recallFolder(digest)
      : undefined
    if (signed === undefined) return ""
    const now = new Map(files.map((file) => [file.path, file]))
    const found = signed.flatMap(({ digest: was, path }) => {
      const file = now.get(path)
      now.delete(path)
      if (file === undefined) return [`${path} was removed`]
      return file.digest === was ? [] : [`${path} has changed`]
    })
    const added = now.size === 0 ? [] : [now.size === 1 ? "one file is new" : `${now.size} files are new`]
    const more = found.length > shownFiles ? [`${found.length - shownFiles} more differ`] : []
    return `: ${[...found.slice(0, shownFiles), ...more, ...added].join(", ")}`
  })

  const verifyClaim = Effect.fnUntraced(function*(
    snapshot: ItemSnapshot,
    claim: SignatureClaim,
    candidatesFor: Candidates
  ) {
    const { location } = snapshot
    const candidates = yield* candidatesFor(claim.keyId, location.tier)
    const by = (standing: SignerStanding): Verified => ({
      snapshot,
      by: { _tag: "Signer", standing, kind: claim.kind, time: claim.time }
    })
    const key = signedWith.get(snapshot)
    const again = key === undefined
      ? undefined
      : candidates.find((s) => s._tag !== "Unknown" && s.signer.publicKey === key)
    if (again !== undefined) return by(again)

    const about = { item: showLocation(location), command: signCommand(location) }
    if (!isHonest(snapshot)) {
      return yield* new Tampered({ ...about, issue: "its files do not form one item" })
    }
    if (claim.digest !== snapshot.digest) {
      const issue = `its content is ${short(snapshot.digest)}, the signature is for ${short(claim.digest)}`
      return yield* new Tampered({ ...about, issue: issue + (yield* differences(snapshot, claim.digest)) })
    }
    if (!Ed25519.isCanonicalSignature(claim.signature)) {
      return yield* new SignatureMalformed({ ...about, issue: "the signature is not in the form that Kiwi writes" })
    }
    const known = candidates.filter((standing) => standing._tag !== "Unknown")
    // There are no certificates yet by which a person could vouch for an agent's key.
    if (known.length === 0 || claim.kind === "agent") {
      const cause = claim.kind === "agent" ? undefined : yield* signers.problem
      return yield* new SignerUntrusted({
        item: about.item,
        keyId: claim.keyId,
        kind: claim.kind,
        ...(claim.kind === "person" && location.tier === "project" && (yield* signers.outdated)
          ? { outdated: true }
          : {}),
        ...(cause === undefined ? {} : { cause })
      })
    }
    const message = signedMessage(claim, location)
    const standing = known.find(({ signer }) => isSignedBy(signer.publicKey, message, claim.signature))
    if (standing !== undefined) {
      signedWith.set(snapshot, standing.signer.publicKey)
      return by(standing)
    }
    return yield* new Tampered({
      ...about,
      issue: `its signature by ${claim.keyId} is not for ${location.type} "${location.id}" at ${location.path}: ` +
        "it was moved, renamed or forged"
    })
  })

  const verifyBy = Effect.fnUntracedEager(function*(snapshot: ItemSnapshot, candidatesFor: Candidates) {
    const { claim, location } = snapshot
    if (location.tier === "system") return yield* verifySystem(snapshot)
    switch (claim._tag) {
      case "None":
        return yield* new Unsigned({ item: showLocation(location), command: signCommand(location) })
      case "Malformed":
        return yield* new SignatureMalformed({
          item: showLocation(location),
          issue: claim.issue,
          command: signCommand(location)
        })
      case "Claim":
        return yield* verifyClaim(snapshot, claim.claim, candidatesFor)
    }
  })

  const verifyAll = Effect.fnUntracedEager(function*(snapshots: ReadonlyArray<ItemSnapshot>) {
    const asked = new Map<string, ReadonlyArray<SignerStanding>>()
    const candidatesFor: Candidates = (keyId, tier) => {
      const key = `${tier}:${keyId}`
      const known = asked.get(key)
      return known !== undefined ? Effect.succeed(known) : Effect.map(signers.candidates(keyId, tier), (found) => {
        asked.set(key, found)
        return found
      })
    }
    const results: Array<Result.Result<Verified, VerifyError>> = []
    for (const snapshot of snapshots) {
      const result = yield* Effect.result(verifyBy(snapshot, candidatesFor))
      results.push(result)
      if (Result.isFailure(result)) break
    }
    return results
  })

  return Verifier.of({ verify: (snapshot) => Effect.suspend(() => verifyBy(snapshot, signers.candidates)), verifyAll })
})

export const layer = Layer.effect(Verifier, make)
