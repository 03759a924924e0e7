import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import { serveHttp } from "../../../src/programs/mcp/serve.ts"
import { Outbound } from "../../../src/services/outbound/Outbound.ts"
import * as MemoryProject from "./memoryProject.ts"

it.live("no tool reaches the port that it serves, whatever its config grants", () =>
  Effect.gen(function*() {
    const project = yield* MemoryProject.make
    const outbound = yield* OutboundNode.make({})
    const reserved = yield* Deferred.make<number>()
    const watched = Outbound.of({
      ...outbound,
      reserve: (port) => Effect.andThen(outbound.reserve(port), Deferred.succeed(reserved, port))
    })
    const server = yield* Effect.forkChild(
      serveHttp({
        project: "",
        client: "tester",
        host: "127.0.0.1",
        port: 0,
        allowedHosts: [],
        presence: { nobody: undefined, agent: undefined },
        token: undefined,
        noAuth: true,
        user: "somebody"
      }).pipe(Effect.provide(Layer.merge(project.layer, Layer.succeed(Outbound, watched))))
    )
    const port = yield* Deferred.await(reserved)
    const send = Effect.scoped(outbound.send({
      method: "GET",
      url: `http://127.0.0.1:${port}/mcp`,
      headers: {},
      body: undefined,
      privateHosts: [`127.0.0.1:${port}`],
      maxBytes: 1000
    }))
    const error = yield* Effect.flip(send)
    assert.include(error.message, "Kiwi itself serves that port")
    yield* Fiber.interrupt(server)
  }).pipe(Effect.scoped))
