import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import { PassThrough } from "node:stream"
import { stdioProtocols } from "../../../../src/programs/mcp/transport/protocols.ts"
import { serve } from "../../../../src/programs/mcp/transport/stdio.ts"

const big = "x".repeat(100_000)

const registrations = Layer.effectDiscard(Effect.gen(function*() {
  const server = yield* McpServer.McpServer
  yield* server.addTool({
    tool: new McpSchema.Tool({ name: "big", inputSchema: { type: "object" } }),
    annotations: Context.empty(),
    handle: () => Effect.succeed(new McpSchema.CallToolResult({ content: [{ type: "text", text: big }] }))
  })
}))

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }
}
const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "big", arguments: {} } })

it.live("a client that reads slowly gets every answer, and leaves no listener behind", () =>
  Effect.gen(function*() {
    const input = new PassThrough()
    const output = new PassThrough({ highWaterMark: 16_384 })
    const listeners = () => ["drain", "close", "error"].map((event) => output.listenerCount(event))
    const running = yield* Effect.forkChild(serve(
      McpServer.layer({ name: "test", version: "1", protocols: stdioProtocols, registrations }),
      { input, output, before: { methods: new Set(), effect: Effect.void } }
    ))
    input.write(`${JSON.stringify(initialize)}\n`)
    let said = ""
    const lines = () => said.split("\n").slice(0, -1).map((line) => JSON.parse(line))
    const until = (count: number) =>
      Effect.callback<void>((resume) => {
        const read = (chunk: Uint8Array) => {
          said += chunk.toString()
          if (lines().length < count) return
          output.off("data", read)
          resume(Effect.void)
        }
        output.on("data", read).resume()
      })
    yield* until(1)
    const before = listeners()
    output.pause()
    const messages = Array.from({ length: 30 }, (_, i) => JSON.stringify(call(i + 1)))
    // The last message has no newline.
    input.end(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n${messages.join("\n")}`)
    yield* until(31)
    assert.sameMembers(lines().map(({ id }) => id), Array.from({ length: 31 }, (_, i) => i))
    assert.deepStrictEqual(listeners(), before)
    yield* Fiber.join(running)
  }))

it.live("a client that reads nothing does not keep the server from its end", () =>
  Effect.gen(function*() {
    const input = new PassThrough()
    const output = new PassThrough({ highWaterMark: 16_384 })
    const running = yield* Effect.forkChild(serve(
      McpServer.layer({ name: "test", version: "1", protocols: stdioProtocols, registrations }),
      { input, output, before: { methods: new Set(), effect: Effect.void } }
    ))
    input.end([initialize, call(1), call(2), call(3)].map((message) => `${JSON.stringify(message)}\n`).join(""))
    yield* Fiber.join(running)
  }))
