// The version of an item with a signature that counts as yours, but that this machine did not sign. A person who signs
// a change of it is shown the difference to that version, unless the item ran or was signed here before: whoever wrote
// the change can choose which version is found, so what this machine recorded takes precedence. The version is verified
// again, and a project that is not trusted is not read. A version signed by somebody who is trusted only as another person
// has not been accepted by anybody here, so it is not used.
import { Effect, Option, Result } from "effect"
import { dirname } from "node:path"
import { ItemParser } from "../../services/format/ItemParser.ts"
import { GitTree } from "../../services/git/GitTree.ts"
import type { CommitFiles } from "../../services/git/GitTree.ts"
import type { Before } from "../../services/integrity/SigningPlan.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import { isYours, Verifier } from "../../services/integrity/Verifier.ts"
import type { ItemLocation, ItemSnapshot } from "../../services/item/Item.ts"
import { detachedSuffix } from "../../services/item/ItemPath.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { sha256 } from "../identity/sha256.ts"
import { shownName } from "../identity/shownName.ts"
import { fileSnapshot, folderSnapshot } from "../item/makeSnapshot.ts"

export interface OthersVersion {
  readonly before: Before
  /** "bob's version 1.0.0". */
  readonly name: string
}

/** Finds the version for one of the given items. Undefined if there is none. */
export interface FindOthers {
  readonly version: (snapshot: ItemSnapshot) => Effect.Effect<OthersVersion | undefined>
  /** The committed version, if it has this digest. */
  readonly committed: (location: ItemLocation, digest: string) => Effect.Effect<Before | undefined>
}

export const findNothing: FindOthers = { version: () => Effect.undefined, committed: () => Effect.undefined }

/** Relative to the repository, as git names it. */
const pathOf = ({ file, root }: ItemLocation): string => `.ai/${file.slice(root.length + 1)}`

const committedSnapshot = (location: ItemLocation, { files }: CommitFiles): ItemSnapshot | undefined => {
  const path = pathOf(location)
  const detached = files.get(path + detachedSuffix)?.bytes
  if (location.kind === "file") {
    const bytes = files.get(path)?.bytes
    return bytes && Result.getOrUndefined(fileSnapshot(location, { bytes, executable: false, detached }))
  }
  const inside = [...files].flatMap(([at, { bytes }]) =>
    at.startsWith(`${path}/`) && bytes !== undefined
      ? [{ path: at.slice(path.length + 1), digest: sha256(bytes), bytes }]
      : []
  )
  return Result.getOrUndefined(folderSnapshot(location, { files: inside, detached }))
}

const beforeOf = ({ bytes, files, location }: ItemSnapshot): Before =>
  location.kind === "folder" ? { _tag: "Folder", files } : { _tag: "File", bytes }

export const make = Effect.gen(function*() {
  const copies = yield* VerifiedCopies
  const parser = yield* ItemParser
  const tree = yield* GitTree
  const trust = yield* ProjectTrust
  const verifier = yield* Verifier

  const judge = Effect.fnUntraced(function*(snapshot: ItemSnapshot | undefined) {
    if (snapshot === undefined) return undefined
    const by = Option.getOrUndefined(yield* Effect.option(verifier.verify(snapshot)))?.by
    if (by?._tag !== "Signer" || by.standing._tag === "Unknown" || !isYours(by)) return undefined
    const item = Option.getOrUndefined(yield* Effect.option(parser.parse(snapshot)))
    if (item === undefined) return undefined
    const whose = by.standing._tag === "You" ? "your" : `${shownName(by.standing.signer.name)}'s`
    return {
      before: beforeOf(snapshot),
      name: `${whose} version ${item.version}`
    }
  })

  /** The version that the item's own signature was made for, from the copy kept when it ran here. */
  const keptSnapshot = Effect.fnUntraced(function*(snapshot: ItemSnapshot) {
    const { claim, location } = snapshot
    if (claim._tag !== "Claim") return undefined
    const { digest } = claim.claim
    if (location.kind === "folder") {
      const files = yield* copies.recallFolder(digest)
      return files && { ...snapshot, digest, files }
    }
    const bytes = yield* copies.recall(digest, location.path.slice(location.path.lastIndexOf("/") + 1))
    return bytes && { ...snapshot, digest, bytes }
  })

  /** Reads the last commit once for all items, on first use. */
  return Effect.fnUntraced(function*(locations: ReadonlyArray<ItemLocation>) {
    const [first] = locations
    const paths = new Set(locations.map(pathOf))
    /** Whether a path is an item, a signature file, or in an item's folder. */
    const isWanted = (path: string): boolean =>
      paths.has(path) || (path.endsWith(detachedSuffix) && paths.has(path.slice(0, -detachedSuffix.length))) ||
      path.split("/").some((_, index, parts) => paths.has(parts.slice(0, index).join("/")))
    const head = yield* Effect.cached(
      first === undefined
        ? Effect.undefined
        : Effect.orElseSucceed(tree.read(dirname(first.root), "HEAD", isWanted), () => undefined)
    )
    const isReadable = Effect.fnUntraced(function*({ tier }: ItemLocation) {
      return tier === "project" && (yield* trust.state)._tag === "Trusted"
    })
    const committedAt = Effect.fnUntraced(function*(location: ItemLocation) {
      const commit = yield* head
      return commit && committedSnapshot(location, commit)
    })
    const version = Effect.fnUntraced(function*(snapshot: ItemSnapshot) {
      const { location } = snapshot
      if (!(yield* isReadable(location))) return undefined
      return (yield* judge(yield* keptSnapshot(snapshot))) ?? (yield* judge(yield* committedAt(location)))
    })
    const committed = Effect.fnUntraced(function*(location: ItemLocation, digest: string) {
      if (!(yield* isReadable(location))) return undefined
      const snapshot = yield* committedAt(location)
      return snapshot?.digest === digest ? beforeOf(snapshot) : undefined
    })
    return { version, committed }
  })
})
