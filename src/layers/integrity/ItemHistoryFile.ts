// One small file per item beside the other state of its tier. A read costs one stat; a write happens when somebody
// signs, or when a version runs that is newer than all before, or the newest one in other bytes.
import { Effect, Layer, Option, Schema } from "effect"
import { readFileSync, statSync } from "node:fs"
import { join, relative } from "node:path"
import { HistoryDamaged, ItemHistory } from "../../services/integrity/ItemHistory.ts"
import * as ItemPast from "../../services/integrity/ItemPast.ts"
import type { GoesBack } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { SafeFiles, WriteRefused } from "../../services/workspace/SafeFiles.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { sha256 } from "../identity/sha256.ts"

/** Pasts in memory; beyond it they are read again. */
const maxKnown = 10_000

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ItemPast.ItemPast))

/** Changes whenever the file is replaced; `undefined` where there is none, `damaged` where nobody can look. */
const stampOf = (file: string): string | undefined => {
  try {
    const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
    return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`
  } catch {
    return "damaged"
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

  const readFile = (file: string): ItemPast.ItemPast | undefined => {
    try {
      return Option.getOrUndefined(decode(readFileSync(file, "utf8")))
    } catch {
      return undefined
    }
  }

  /** `undefined`: there is a past, and it cannot be read. */
  const readSound = (location: ItemLocation): ItemPast.ItemPast | undefined => {
    const file = fileOf(location)
    const stamp = stampOf(file)
    if (stamp === undefined) return ItemPast.nothing(location)
    const found = known.get(file)
    if (found?.stamp === stamp) return found.past
    const past = readFile(file)
    if (past === undefined) {
      known.delete(file)
      return undefined
    }
    if (known.size >= maxKnown) known.clear()
    known.set(file, { stamp, past })
    return past
  }

  const read = (location: ItemLocation): ItemPast.ItemPast => readSound(location) ?? ItemPast.nothing(location)

  interface Change {
    readonly location: ItemLocation
    readonly next: (past: ItemPast.ItemPast) => ItemPast.ItemPast | undefined
  }

  const write = Effect.fnUntraced(
    function*(changes: ReadonlyArray<Change>) {
      const [first] = changes
      if (first === undefined) return
      const written = yield* locks.withLock(home, "history")(Effect.suspend(() =>
        files.writeAll(
          home,
          changes.flatMap(({ location, next }) => {
            const after = next(read(location))
            return after === undefined
              ? []
              : [{ path: relative(home, fileOf(location)), data: `${JSON.stringify(after)}\n` }]
          }),
          { mode: 0o600 }
        )
      )).pipe(
        Effect.catchTag(
          ["LockTimeout", "LockUnavailable"],
          (error) =>
            new WriteRefused({
              path: relative(home, fileOf(first.location)),
              issue: "io",
              detail: error.message,
              cause: error
            })
        )
      )
      yield* Effect.forEach(written, Effect.fromResult, { discard: true })
    }
  )

  const past = (location: ItemLocation) => Effect.sync(() => read(location))

  const checkForward = (location: ItemLocation, version: string, digest: string) =>
    Effect.suspend((): Effect.Effect<void, GoesBack | HistoryDamaged> => {
      if (location.tier === "system") return Effect.void
      const sound = readSound(location)
      if (sound === undefined) {
        return Effect.fail(
          new HistoryDamaged({
            item: showLocation(location),
            path: relative(home, fileOf(location)),
            command: `kiwi sign ${location.type} ${location.id}`
          })
        )
      }
      const error = ItemPast.checkForward(sound, location, version, digest)
      return error === undefined ? Effect.void : Effect.fail(error)
    })

  const ran = Effect.fnUntraced(function*(location: ItemLocation, version: string, digest: string, keyId?: string) {
    if (location.tier === "system") return
    // What is known in memory was read by the check before this run.
    const remembered = known.get(fileOf(location))?.past ?? readSound(location)
    // A damaged past is a person's to replace, by signing.
    if (remembered === undefined || !ItemPast.isNews(remembered, version, digest)) return
    yield* write([{
      location,
      next: (now) => ItemPast.isNews(now, version, digest) ? ItemPast.afterRun(now, version, digest, keyId) : undefined
    }])
  })

  const signed = Effect.fn("ItemHistory.signed")((answers: Parameters<ItemHistory["Service"]["signed"]>[0]) =>
    write(answers.map(({ location, ...answer }) => ({ location, next: (now) => ItemPast.afterSigning(now, answer) })))
  )

  const acceptedHiding = (location: ItemLocation, digest: string) =>
    Effect.sync(() => ItemPast.acceptedHiding(read(location), digest))

  return ItemHistory.of({ past, checkForward, ran, signed, acceptedHiding })
})

export const layer = Layer.effect(ItemHistory, make)
