// One small file for each item, beside the other state of its tier. A read costs one stat. A write happens only when
// somebody signs, or when a version runs that is newer than all before, or when the newest version runs with other
// bytes. A file that another user may have written counts as damaged, since it decides what may run.
import { Effect, Layer, Option, Schema } from "effect"
import { join, relative } from "node:path"
import { type FileWrite, SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { HistoryDamaged, ItemHistory } from "../../services/integrity/ItemHistory.ts"
import * as ItemPast from "../../services/integrity/ItemPast.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { Readings } from "../files/believe.ts"
import { sha256 } from "../identity/sha256.ts"

/** The limit of cached pasts. */
const maxKnown = 10_000
const maxBytes = 1_048_576

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ItemPast.ItemPast))

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const workspace = yield* Workspace
  const files = yield* SafeFiles
  const locks = yield* ProcessLock

  const readings = new Readings<ItemPast.ItemPast | "damaged">({ most: maxKnown })

  const folderOf = (location: ItemLocation): string =>
    join(location.tier === "project" ? workspace.state : join(home, "user"), "history")

  const fileOf = (location: ItemLocation): string =>
    join(folderOf(location), `${location.type}-${sha256(location.path).slice(0, 32)}.json`)

  const readFile = (file: string) =>
    files.read(home, relative(home, file), { maxBytes, own: true }).pipe(
      Effect.map((bytes) => Option.getOrUndefined(decode(new TextDecoder().decode(bytes))) ?? "damaged" as const),
      Effect.orElseSucceed(() => "damaged" as const)
    )

  const readSound = Effect.fnUntraced(function*(location: ItemLocation) {
    const file = fileOf(location)
    return (yield* readings.getEffect(file, readFile(file))) ?? ItemPast.nothing(location)
  })

  const read = Effect.fnUntraced(function*(location: ItemLocation) {
    const past = yield* readSound(location)
    return past === "damaged" ? ItemPast.nothing(location) : past
  })

  interface Change {
    readonly location: ItemLocation
    readonly next: (past: ItemPast.ItemPast) => ItemPast.ItemPast | undefined
  }

  const write = Effect.fnUntraced(
    function*(changes: ReadonlyArray<Change>) {
      const [first] = changes
      if (first === undefined) return
      const written = yield* locks.withLock(home, "history")(Effect.gen(function*() {
        const due: Array<FileWrite> = []
        for (const { location, next } of changes) {
          const after = next(yield* read(location))
          if (after === undefined) continue
          due.push({ path: relative(home, fileOf(location)), data: `${JSON.stringify(after)}\n` })
        }
        return yield* files.writeAll(home, due, { mode: 0o600 })
      })).pipe(
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

  const checkForward = Effect.fnUntraced(function*(location: ItemLocation, version: string, digest: string) {
    if (location.tier === "system") return
    const past = yield* readSound(location)
    if (past === "damaged") {
      return yield* new HistoryDamaged({
        item: showLocation(location),
        path: relative(home, fileOf(location)),
        command: `kiwi sign ${location.type} ${location.id}`
      })
    }
    const error = ItemPast.checkForward(past, location, version, digest)
    if (error !== undefined) return yield* error
  })

  const ran = Effect.fnUntraced(function*(location: ItemLocation, version: string, digest: string, keyId?: string) {
    if (location.tier === "system") return
    // The check before this run has read the past already.
    const past = readings.last(fileOf(location)) ?? (yield* readSound(location))
    // Only a person replaces a damaged past, by signing.
    if (past === "damaged" || !ItemPast.isNews(past, version, digest)) return
    yield* write([{
      location,
      next: (now) => ItemPast.isNews(now, version, digest) ? ItemPast.afterRun(now, version, digest, keyId) : undefined
    }])
  })

  const signed = Effect.fn("ItemHistory.signed")((answers: Parameters<ItemHistory["Service"]["signed"]>[0]) =>
    write(answers.map(({ location, ...answer }) => ({ location, next: (now) => ItemPast.afterSigning(now, answer) })))
  )

  const acceptedHiding = (location: ItemLocation, digest: string) =>
    Effect.map(read(location), (past) => ItemPast.acceptedHiding(past, digest))

  return ItemHistory.of({ past: read, checkForward, ran, signed, acceptedHiding })
})

export const layer = Layer.effect(ItemHistory, make)
