// A server with the suite's fixtures on Kiwi's own HTTP stack: its routes, its checks before them, its protocols.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Layer } from "effect"
import * as ClientsMemory from "../../src/layers/call/ClientsMemory.ts"
import * as Http from "../../src/programs/mcp/transport/http.ts"
import * as Notices from "../../src/programs/mcp/transport/notices.ts"
import { httpProtocols } from "../../src/programs/mcp/transport/protocols.ts"
import * as FixtureItems from "./fixtureItems.ts"
import * as FixtureTools from "./fixtureTools.ts"

const program = Effect.gen(function*() {
  const server = Http.layer(
    {
      info: {
        name: "kiwi-conformance-fixture",
        version: "0.0.0",
        instructions: "A fixture for the conformance suite."
      },
      protocols: httpProtocols,
      registrations: FixtureItems.layer(FixtureTools.register, FixtureItems.register),
      gate: { methods: new Set(), effect: Effect.void },
      notices: yield* Notices.make,
      endSession: () => Effect.void,
      answer: () => Effect.succeed({ status: 200, body: {} })
    },
    {
      host: "127.0.0.1",
      port: 0,
      allowedHosts: [],
      token: undefined,
      listening: (url) => Console.error(`KIWI_MCP_URL=${url}`)
    }
  )
  return yield* Layer.launch(Layer.provide(server, ClientsMemory.layer))
})

NodeRuntime.runMain(program)
