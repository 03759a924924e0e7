// Copies items between tiers by the bytes of a verified snapshot: what the file says by now does not matter.
import { Effect, Layer, Option } from "effect"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { ItemParser } from "../../services/format/ItemParser.ts"
import { CopyRefused, ItemCopies } from "../../services/integrity/ItemCopies.ts"
import type { PlannedCopy } from "../../services/integrity/ItemCopies.ts"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import { isBelow } from "../../services/integrity/ItemPast.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import { showLocation, typeFolder } from "../../services/item/Item.ts"
import type { ItemLocation, ItemSnapshot } from "../../services/item/Item.ts"
import { detachedSuffix } from "../../services/item/ItemPath.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import type { ItemQuery } from "../../services/item/ItemStore.ts"
import { commentSyntax, printClaim, withSignature } from "../../services/item/SignatureLine.ts"

interface CopiedFile {
  readonly path: string
  readonly data: Uint8Array | string
  readonly mode: number
}

/** A file's bytes with its signature line, if it has one. */
const signed = ({ bytes, claim, location }: ItemSnapshot): Uint8Array | string => {
  const syntax = commentSyntax(location.path.slice(location.path.lastIndexOf("/") + 1))
  return claim._tag !== "Claim" || claim.detached || syntax === undefined
    ? bytes
    : withSignature(new TextDecoder().decode(bytes), syntax, claim.claim)
}

/** The item's files, then its detached signature. */
const filesOf = (snapshot: ItemSnapshot): ReadonlyArray<CopiedFile> => {
  const { claim, files, location } = snapshot
  const path = `${typeFolder[location.type]}/${location.path}`
  const modeOf = ({ executable }: { readonly executable: boolean }) => executable ? 0o755 : 0o644
  return [
    ...(location.kind === "folder"
      ? files.map((file) => ({ path: `${path}/${file.path}`, data: file.bytes, mode: modeOf(file) }))
      : [{ path, data: signed(snapshot), mode: modeOf(snapshot) }]),
    ...(claim._tag === "Claim" && claim.detached
      ? [{ path: path + detachedSuffix, data: `${printClaim(claim.claim)}\n`, mode: 0o644 }]
      : [])
  ]
}

export const make = Effect.gen(function*() {
  const files = yield* SafeFiles
  const history = yield* ItemHistory
  const parser = yield* ItemParser
  const store = yield* ItemStore
  const verifier = yield* Verifier

  /** The item that has this id in the other tier. */
  const findThere = Effect.fnUntraced(function*({ id, tier, type }: ItemLocation) {
    const location = (yield* store.list({ type, tier })).find((one) => one.id === id)
    if (location === undefined) return undefined
    const snapshot = yield* store.read(location)
    const isSigned = Option.isSome(yield* Effect.option(verifier.verify(snapshot)))
    return { snapshot, isSigned, item: yield* parser.parse(snapshot) }
  })

  const plan = Effect.fn("ItemCopies.plan")(function*(query: ItemQuery, to: "project" | "user", version?: string) {
    const { location } = yield* store.find(query)
    const snapshot = yield* store.read(location)
    const item = yield* parser.parse(snapshot)
    const refused = (issue: CopyRefused["issue"], there = "") =>
      new CopyRefused({ item: showLocation(location), to, issue, version: item.version, there })
    if (version !== undefined && version !== item.version) return yield* refused("version", version)
    const root = Option.getOrUndefined(store.rootOf(to))
    if (root === undefined) return yield* refused("no-project")
    if (location.tier === "system" || location.source !== undefined) return yield* refused("unsigned")
    const target: ItemLocation = {
      ...location,
      tier: to,
      root,
      file: `${root}/${typeFolder[location.type]}/${location.path}`
    }
    const verified = yield* verifier.verify({ ...snapshot, location: target })
    const there = location.tier === to ? undefined : yield* findThere(target)
    const same = location.tier === to || (there !== undefined && there.snapshot.digest === snapshot.digest)
    if (there !== undefined && !same) {
      if (isBelow(item.version, there.item.version)) return yield* refused("newer", there.item.version)
      const isOlder = there.snapshot.location.path === location.path && isBelow(there.item.version, item.version)
      if (!isOlder) return yield* refused("different", there.item.version)
    }
    return {
      item,
      verified,
      to: target,
      replaces: same ? undefined : there?.item.version,
      same: same && (there === undefined || there.isSigned)
    }
  })

  const perform = Effect.fn("ItemCopies.perform")(function*({ same, to, verified: { snapshot } }: PlannedCopy) {
    if (same) return
    const path = `${typeFolder[to.type]}/${to.path}`
    // A file that only the older version had would belong to the new one.
    if (to.kind === "folder") {
      yield* files.remove(to.root, path + detachedSuffix)
      yield* files.remove(to.root, path)
    }
    yield* Effect.forEach(
      filesOf(snapshot),
      (file) => files.write(to.root, file.path, file.data, { mode: file.mode }),
      { discard: true }
    )
    // The same bytes, wherever they are: hiding the ones that they were copied from hides nothing.
    yield* history.signed([{ location: to, digest: snapshot.digest, goesBack: false, hides: true }])
  })

  return ItemCopies.of({ plan, perform })
})

export const layer = Layer.effect(ItemCopies, make)
