// The index in memory, for the life of its scope: the same words and the same order of hits.
import { Effect, Layer } from "effect"
import { ItemIndex } from "../../services/search/ItemIndex.ts"
import * as ProcessLockMemory from "../workspace/ProcessLockMemory.ts"
import { makeIn } from "./ItemIndexSqlite.ts"

export const make = Effect.provide(makeIn(undefined), ProcessLockMemory.layer)

export const layer = Layer.effect(ItemIndex, make)
