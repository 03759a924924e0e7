import { Effect, Layer, Semaphore } from "effect"
import { type Intervention, Interventions } from "../../services/limit/Interventions.ts"
import { makeOver } from "./makeInterventions.ts"

export const make = Effect.gen(function*() {
  const one = yield* Semaphore.make(1)
  let waiting: ReadonlyArray<Intervention> = []
  return makeOver({
    read: Effect.sync(() => waiting),
    write: (next) =>
      Effect.sync(() => {
        waiting = next
      }),
    alone: one.withPermit
  })
})

export const layer = Layer.effect(Interventions, make)
