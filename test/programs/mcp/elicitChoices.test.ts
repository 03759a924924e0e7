// The choices of a question, as a client that nobody here wrote sees them: revisions differ in how they write them.
import { assert, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/client"
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client"
import { Effect, FileSystem, Layer } from "effect"
import * as McpServer from "effect/ai/McpServer"
import { PassThrough } from "node:stream"
import * as Server from "../../../src/programs/mcp/server.ts"
import { stdioProtocols } from "../../../src/programs/mcp/transport/protocols.ts"
import { serve } from "../../../src/programs/mcp/transport/stdio.ts"
import { askingKernel } from "../askingKernel.ts"

/** A client's end of two streams, which asks for this revision. */
const transportOf = (input: PassThrough, output: PassThrough, protocolVersion: string): Transport => {
  let rest = ""
  const transport: Transport = {
    start: async () => {
      output.on("data", (data: Buffer) => {
        const lines = (rest + data.toString()).split("\n")
        rest = lines.pop() ?? ""
        for (const line of lines) transport.onmessage?.(JSON.parse(line) as JSONRPCMessage)
      })
    },
    send: async (message) => {
      const asks = "method" in message && message.method === "initialize"
      input.write(
        `${JSON.stringify(asks ? { ...message, params: { ...message.params, protocolVersion } } : message)}\n`
      )
    },
    close: async () => {
      input.end()
      transport.onclose?.()
    }
  }
  return transport
}

for (const revision of ["2025-06-18", "2025-11-25"]) {
  for (const [answer, status] of [["once", "success"], ["no", "error"]] as const) {
    it.live(`${revision}: a client sees what it may answer, and "${answer}" is taken`, () =>
      Effect.gen(function*() {
        const world = yield* askingKernel
        const { gate, registrations } = yield* Server.make({
          project: "",
          client: "ada",
          presence: { nobody: undefined, agent: undefined }
        })
        const files = FileSystem.layerNoop({ realPath: (path) => Effect.succeed(path) })
        const [input, output] = [new PassThrough(), new PassThrough()]
        yield* Effect.forkChild(serve(
          McpServer.layer({ ...Server.serverInfo, protocols: stdioProtocols, registrations }).pipe(
            Layer.provide(Layer.merge(world.layer, files))
          ),
          { input, output, before: gate }
        ))
        const client = new Client({ name: "official", version: "1" }, {
          versionNegotiation: { mode: "legacy" },
          capabilities: { elicitation: { form: {} } }
        })
        const asked: Array<unknown> = []
        client.setRequestHandler("elicitation/create", ({ params }) => {
          asked.push("requestedSchema" in params ? params.requestedSchema.properties["agree"] : undefined)
          return { action: "accept", content: { agree: answer } }
        })
        yield* Effect.promise(() => client.connect(transportOf(input, output, revision)))
        const { structuredContent } = yield* Effect.promise(() =>
          client.callTool({ name: "execute", arguments: { item_id: "edit", parameters: { path: "src/a.ts" } } })
        )
        assert.deepInclude(structuredContent, { status })
        assert.lengthOf(asked, 1)
        const { enum: values, enumNames, type } = asked[0] as Readonly<Record<string, unknown>>
        assert.deepStrictEqual([type, values], ["string", ["once", "session", "always", "no", "never"]])
        assert.lengthOf(enumNames as ReadonlyArray<string>, 5)
        assert.strictEqual(world.asking.ran, status === "success" ? 1 : 0)
        yield* Effect.promise(() => client.close())
      }).pipe(Effect.scoped))
  }
}
