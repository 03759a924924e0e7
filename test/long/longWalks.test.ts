// A server that walks over very many files hears what else its client says, and a ^C, before it is through.
import { assert, it } from "@effect/vitest"
import { afterEach, beforeEach } from "vitest"
import { kiwi, makeWorld, pythonTool } from "../support/mcp/project.ts"
import type { World } from "../support/mcp/project.ts"
import { openStdio } from "../support/mcp/start.ts"

let world: World
let server: ReturnType<typeof openStdio>

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "walks", version: "1.0.0" } }
}

const answerTo = (id: number) => server.until((message) => message["id"] === id)

const answered = () => server.messages().map(({ id }) => id)

const calls = {
  sign: { name: "sign", arguments: { item_id: "t*", item_type: "tool" } },
  search: { name: "search", arguments: { query: "subject" } }
}

beforeEach(async () => {
  world = makeWorld()
  for (let n = 0; n < 900; n++) world.write(`.ai/tools/test/t${n}.py`, pythonTool(`print(${n})`))
  server = openStdio([kiwi, "serve", "--project", world.project], world.env)
  server.send(initialize)
  await answerTo(0)
  server.send({ jsonrpc: "2.0", method: "notifications/initialized" })
})

afterEach(async () => {
  server.child.kill("SIGKILL")
  await server.over
  world.remove()
})

for (const [name, params] of Object.entries(calls)) {
  it(`answers a ping while it does a ${name} over 900 tools`, async () => {
    server.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params })
    server.send({ jsonrpc: "2.0", id: 2, method: "ping" })
    await answerTo(2)
    // Sent only now, so that it can be heard only while the walk goes on.
    server.send({ jsonrpc: "2.0", id: 3, method: "ping" })
    await answerTo(3)
    assert.notInclude(answered(), 1)
    // Signing has each of them read by its language.
    await server.until(({ id }) => id === 1, 90_000)
  })

  it(`ends by ^C while it does a ${name} over 900 tools`, async () => {
    server.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params })
    server.send({ jsonrpc: "2.0", id: 2, method: "ping" })
    await answerTo(2)
    server.child.kill("SIGINT")
    assert.strictEqual((await server.over).code, 130)
    const said = server.messages().find(({ id }) => id === 1)
    assert.isTrue(said === undefined || "error" in said, JSON.stringify(said)?.slice(0, 300))
  })
}
