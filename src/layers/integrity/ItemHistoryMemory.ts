// Item histories in memory, for the life of the layer.
import { Effect, Layer } from "effect"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import * as ItemPast from "../../services/integrity/ItemPast.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ItemLocation } from "../../services/item/Item.ts"

export const make = Effect.sync(() => {
  const pasts = new Map<string, ItemPast.ItemPast>()
  const read = (location: ItemLocation): ItemPast.ItemPast =>
    pasts.get(showLocation(location)) ?? ItemPast.nothing(location)
  const write = (location: ItemLocation, past: ItemPast.ItemPast): void => void pasts.set(showLocation(location), past)

  return ItemHistory.of({
    past: (location) => Effect.sync(() => read(location)),
    checkForward: (location, version, digest) =>
      Effect.suspend(() => {
        if (location.tier === "system") return Effect.void
        const error = ItemPast.checkForward(read(location), location, version, digest)
        return error === undefined ? Effect.void : Effect.fail(error)
      }),
    ran: (location, version, digest, keyId) =>
      Effect.sync(() => {
        const past = read(location)
        if (location.tier === "system" || !ItemPast.isNews(past, version, digest)) return
        write(location, ItemPast.afterRun(past, version, digest, keyId))
      }),
    signed: (answers) =>
      Effect.sync(() => {
        for (const { location, ...answer } of answers) write(location, ItemPast.afterSigning(read(location), answer))
      }),
    acceptedHiding: (location, digest) => Effect.sync(() => ItemPast.acceptedHiding(read(location), digest))
  })
})

export const layer = Layer.effect(ItemHistory, make)
