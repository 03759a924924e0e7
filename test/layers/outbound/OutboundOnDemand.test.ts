import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OutboundOnDemand from "../../../src/layers/outbound/OutboundOnDemand.ts"
import { Outbound } from "../../../src/services/outbound/Outbound.ts"

it.effect("keeps the rules of the outbound that it loads", () =>
  Effect.gen(function*() {
    const outbound = yield* Outbound
    yield* outbound.reserve(4567)
    const ask = (privateHosts: ReadonlyArray<string>) =>
      Effect.flip(Effect.scoped(outbound.send({
        method: "GET",
        url: "http://127.0.0.1:4567/",
        headers: {},
        body: undefined,
        privateHosts,
        maxBytes: 1
      })))
    assert.include((yield* ask([])).message, "Kiwi itself serves that port")
    assert.include((yield* ask(["127.0.0.1:4567"])).message, "Kiwi itself serves that port")
  }).pipe(Effect.scoped, Effect.provide(OutboundOnDemand.layer)))
