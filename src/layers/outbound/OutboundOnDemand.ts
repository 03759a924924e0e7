// Outbound over node:http, loaded by the first request: HTTP and TLS would be a third of the code loaded at the start,
// and most sessions send nothing.
import { Context, Effect, Layer } from "effect"
import { Outbound } from "../../services/outbound/Outbound.ts"

export const make = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const loaded = yield* Effect.promise(() => import("./OutboundNode.ts")).pipe(
    Effect.flatMap(({ layer }) => Layer.buildWithScope(layer, scope)),
    Effect.map((built) => Context.get(built, Outbound)),
    Effect.provideContext(context),
    // Otherwise an interruption of the first caller would be cached.
    Effect.uninterruptible,
    Effect.cached
  )
  return Outbound.of({
    send: (request) => Effect.flatMap(loaded, (outbound) => outbound.send(request)),
    reserve: (port) => Effect.flatMap(loaded, (outbound) => outbound.reserve(port))
  })
})

export const layer = Layer.effect(Outbound, make)
