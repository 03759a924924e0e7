// Counters of one process, gone with it.
import { Effect, Layer } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { CallLimits } from "../../services/limit/CallLimits.ts"
import { makeWith, mostBuckets } from "./makeCallLimits.ts"

export const make = Effect.sync(() =>
  makeWith({ known: new BoundedMap(mostBuckets), load: () => undefined, changed: () => undefined })
)

export const layer = Layer.effect(CallLimits, make)
