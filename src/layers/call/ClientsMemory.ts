// Clients in memory, for tests and for programs that name their own.
import { Effect, Layer, Ref } from "effect"
import { Clients } from "../../services/call/Clients.ts"
import type { KeptClient } from "./clients.ts"
import { makeClients } from "./clients.ts"

export const make = Effect.map(Ref.make<ReadonlyArray<KeptClient>>([]), (all) =>
  makeClients({
    load: Ref.get(all),
    known: Ref.get(all),
    update: (change) => Effect.flatMap(Effect.flatMap(Ref.get(all), change), (next) => Ref.set(all, next))
  }))

export const layer = Layer.effect(Clients, make)
