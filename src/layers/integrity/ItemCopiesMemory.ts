// Copies of items in memory, into the maps that the store reads.
import { Effect, Layer } from "effect"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { ItemCopies } from "../../services/integrity/ItemCopies.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import type { MemoryTiers } from "../item/ItemStoreMemory.ts"
import * as ItemCopiesFile from "./ItemCopiesFile.ts"
import { filesOf } from "./SignaturesMemory.ts"

export const make = Effect.fnUntraced(function*(tiers: MemoryTiers) {
  const store = yield* ItemStore
  return yield* Effect.provideService(ItemCopiesFile.make, SafeFiles, filesOf(tiers, store))
})

export const layerWith = (tiers: MemoryTiers) => Layer.effect(ItemCopies, make(tiers))
