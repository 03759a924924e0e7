// One small file per item beside the other state of its tier. A read costs one stat; a write happens when somebody
// signs, or when a version runs that is newer than all before.
import { Effect, Layer, Option, Schema } from "effect"
import { readFileSync, statSync } from "node:fs"
import { join, relative } from "node:path"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import * as ItemPast from "../../services/integrity/ItemPast.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { SafeFiles, WriteRefused } from "../../services/workspace/SafeFiles.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { sha256 } from "../identity/sha256.ts"

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ItemPast.ItemPast))

/** Changes whenever the file is replaced; `undefined` where there is none to be read. */
const stampOf = (file: string): string | undefined => {
  try {
    const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
    return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`
  } catch {
    return undefined
  }
}

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const workspace = yield* Workspace
  const files = yield* SafeFiles
  const locks = yield* ProcessLock

  const known = new Map<string, { readonly stamp: string; readonly past: ItemPast.ItemPast }>()

  const folderOf = (location: ItemLocation): string =>
    join(location.tier === "project" ? workspace.state : join(home, "user"), "history")

  const fileOf = (location: ItemLocation): string =>
    join(folderOf(location), `${location.type}-${sha256(location.path).slice(0, 32)}.json`)

  const readFile = (file: string, location: ItemLocation): ItemPast.ItemPast => {
    try {
      return Option.getOrElse(decode(readFileSync(file, "utf8")), () => ItemPast.nothing(location))
    } catch {
      return ItemPast.nothing(location)
    }
  }

  /** A file that cannot be read is no past: then nothing is accepted that would need one. */
  const read = (location: ItemLocation): ItemPast.ItemPast => {
    const file = fileOf(location)
    const stamp = stampOf(file)
    if (stamp === undefined) return ItemPast.nothing(location)
    const found = known.get(file)
    if (found?.stamp === stamp) return found.past
    const past = readFile(file, location)
    known.set(file, { stamp, past })
    return past
  }

  const write = Effect.fnUntraced(
    function*(location: ItemLocation, change: (past: ItemPast.ItemPast) => ItemPast.ItemPast | undefined) {
      const path = relative(home, fileOf(location))
      yield* locks.withLock(home, "history")(Effect.suspend(() => {
        const next = change(read(location))
        return next === undefined ? Effect.void : files.write(home, path, `${JSON.stringify(next)}\n`, { mode: 0o600 })
      })).pipe(
        Effect.catchTag(
          ["LockTimeout", "LockUnavailable"],
          (error) => Effect.fail(new WriteRefused({ path, issue: "io", detail: error.message, cause: error }))
        )
      )
    }
  )

  const past = (location: ItemLocation) => Effect.sync(() => read(location))

  const checkForward = (location: ItemLocation, version: string, digest: string) =>
    Effect.suspend(() => {
      if (location.tier === "system") return Effect.void
      const error = ItemPast.checkForward(read(location), location, version, digest)
      return error === undefined ? Effect.void : Effect.fail(error)
    })

  const ran = Effect.fnUntraced(function*(location: ItemLocation, version: string, digest: string) {
    if (location.tier === "system") return
    // What is known in memory may be old, but the newest version only ever grows.
    const remembered = known.get(fileOf(location))?.past ?? read(location)
    if (!ItemPast.isNewer(remembered, version)) return
    yield* write(
      location,
      (now) => ItemPast.isNewer(now, version) ? ItemPast.afterRun(now, version, digest) : undefined
    )
  })

  const signed = Effect.fn("ItemHistory.signed")(
    function*(location: ItemLocation, digest: string, hides: boolean) {
      yield* write(location, (now) => ItemPast.afterSigning(now, digest, hides))
    }
  )

  const acceptedHiding = (location: ItemLocation, digest: string) =>
    Effect.sync(() => ItemPast.acceptedHiding(read(location), digest))

  return ItemHistory.of({ past, checkForward, ran, signed, acceptedHiding })
})

export const layer = Layer.effect(ItemHistory, make)
