// Hostile and broken input over real pipes: each gets an answer that a client can read, or none where the protocol wants
// none; the server goes on, and stdout holds nothing but messages.
import { assert, describe, it } from "@effect/vitest"
import { afterAll, afterEach, beforeAll } from "vitest"
import { initialize, openStdio } from "../support/mcp/start.ts"
import type { Message } from "../support/mcp/start.ts"

type Opened = ReturnType<typeof openStdio>
type Server = Omit<Opened, "fromNow">
const open: Array<Server> = []
afterEach(() => {
  for (const { child } of open.splice(0)) child.kill("SIGKILL")
})

const started = async () => {
  const server = openStdio()
  server.send(initialize())
  await server.until(({ id }) => id === "init")
  server.send({ jsonrpc: "2.0", method: "notifications/initialized" })
  return server
}

/** A server of the test's own, killed after it. */
const start = async () => {
  const server = await started()
  open.push(server)
  return server
}

const errorCode = ({ error }: Message): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined

let next = 0
/** The server still runs a tool, and everything that it wrote is a message. */
const goesOn = async (server: Server) => {
  const n = next++
  const id = `after-${n}`
  // Another sum each time: the loop guard slows what is repeated.
  server.send({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "execute", arguments: { item_id: "add", parameters: { a: n, b: 1000 } } }
  })
  const answer = await server.until((message) => message["id"] === id)
  assert.match(JSON.stringify(answer["result"]), new RegExp(`sum\\\\*":${n + 1000}`))
  for (const message of server.messages()) assert.strictEqual(message["jsonrpc"], "2.0")
  assert.strictEqual(server.rest(), "")
}

describe("over stdio", () => {
  const lines: ReadonlyArray<readonly [string, string | Uint8Array, number]> = [
    ["garbage", "this is no JSON", -32700],
    ["half an object", "{\"jsonrpc\":\"2.0\",", -32700],
    ["invalid UTF-8", Uint8Array.of(0x22, 0xff, 0xfe, 0x22), -32700],
    ["a NUL", "{\"jsonrpc\":\"2.0\",\"id\":1,\u0000\"method\":\"ping\"}", -32700],
    ["a number", "5", -32600],
    ["null", "null", -32600],
    ["an empty batch, in a revision without", "[]", -32600],
    ["a batch, in a revision without", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600],
    ["no version", "{\"id\":1,\"method\":\"ping\"}", -32600],
    ["an id that is an object", "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600],
    ["an id that is null", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600],
    ["a method that is a number", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", -32600],
    ["parameters that are a list", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[1]}", -32600],
    ["neither request nor answer", "{\"jsonrpc\":\"2.0\",\"id\":1}", -32600],
    ["both result and error", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", -32600],
    ["headers of a transport", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"headers\":7}", -32600],
    ["a trace", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"spanId\":{},\"traceId\":[]}", -32600],
    ["an answer with a defect", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"_tag\":\"Defect\",\"data\":1}}", -32600],
    ["deep JSON", `{"jsonrpc":"2.0","id":1,"method":"ping","params":${"[".repeat(100_000)}`, -32600],
    [
      "a prototype",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"help\",\"arguments\":{\"__proto__\":{\"topic\":1}}}}",
      -32600
    ],
    [
      "a prototype, escaped",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":{\"\\u005f_proto__\":{}}}}",
      -32600
    ]
  ]
  // One server hears the input of every test that needs none of its own: none may harm what comes after it.
  let common: Opened
  beforeAll(async () => {
    common = await started()
  })
  afterAll(() => common.child.kill("SIGKILL"))
  describe("a broken line is refused, and the server goes on:", () => {
    for (const [what, line, code] of lines) {
      it(`${what}, with ${code}`, async () => {
        const server = common.fromNow()
        server.raw(line)
        server.raw("\n")
        await server.until(() => true)
        assert.deepStrictEqual(server.messages().map(errorCode), [code])
        await goesOn(server)
      })
    }
  })

  it("a broken line takes none of its neighbours with it", async () => {
    const server = common.fromNow()
    const ping = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" })
    server.raw(`${ping(1)}\nbroken\n${ping(2)}\r\n\n   \n${ping(3)}\n`)
    for (const id of [1, 2, 3]) await server.until((message) => message["id"] === id)
    await goesOn(server)
  })

  it("a message that comes byte by byte is one message", async () => {
    const server = common.fromNow()
    for (const byte of Buffer.from("{\"jsonrpc\":\"2.0\",\"id\":\"ü\",\"method\":\"ping\"}\n")) {
      server.raw(Uint8Array.of(byte))
    }
    await server.until((message) => message["id"] === "ü")
    await goesOn(server)
  })

  it("fifty megabytes on one line are refused once, without being kept", async () => {
    const server = common.fromNow()
    const piece = "x".repeat(1024 * 1024)
    server.raw("{\"method\":\"tools/call\",\"params\":{\"name\":\"")
    for (let i = 0; i < 50; i++) server.raw(piece)
    server.raw("\"},\"jsonrpc\":\"2.0\",\"id\":\"long\"}\n")
    const refused = await server.until(({ id }) => id === "long")
    assert.strictEqual(errorCode(refused), -32600)
    assert.include(JSON.stringify(refused), "at most")
    await goesOn(server)
    assert.strictEqual(server.messages().filter((message) => errorCode(message) !== undefined).length, 1)
  })

  it("unknown methods and tools, and wrong parameters, are answered", async () => {
    const server = common.fromNow()
    server.send({ jsonrpc: "2.0", id: 1, method: "no/such" })
    assert.strictEqual(errorCode(await server.until(({ id }) => id === 1)), -32601)
    server.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "no_such" } })
    assert.isDefined(errorCode(await server.until(({ id }) => id === 2)))
    server.send({ jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: 5 } })
    assert.strictEqual(errorCode(await server.until(({ id }) => id === 3)), -32602)
    server.send({ jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "help", arguments: "x" } })
    assert.strictEqual(errorCode(await server.until(({ id }) => id === 4)), -32602)
    server.send({ jsonrpc: "2.0", id: 5, method: "resources/read", params: { uri: "kiwi://tool/\u0000" } })
    assert.isDefined(errorCode(await server.until(({ id }) => id === 5)))
    server.send({ jsonrpc: "2.0", method: "no/such/notification", params: {} })
    server.send({ jsonrpc: "2.0", id: "nobody asked", result: {} })
    server.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "nothing" } })
    await goesOn(server)
  })

  it("lone surrogates, NULs and long keys in arguments come back as an error, whole", async () => {
    const server = common.fromNow()
    const args = ["\ud800", "a\u0000b", "\u202e", "k".repeat(100_000)]
    args.forEach((key, id) => {
      server.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "execute", arguments: { [key]: 1 } } })
    })
    for (const id of args.keys()) {
      const answer = await server.until((message) => message["id"] === id)
      assert.include(JSON.stringify(answer["result"]), "INVALID_ARGUMENTS")
      assert.isBelow(JSON.stringify(answer).length, 4000)
    }
    server.raw(
      "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"tools/call\",\"params\":{\"name\":\"execute\"," +
        "\"arguments\":{\"item_id\":\"\\ud800\"}}}\n"
    )
    const answer = await server.until(({ id }) => id === "s")
    assert.include(JSON.stringify(answer["result"]), "ITEM_ID_INVALID")
    await goesOn(server)
  })

  const modern = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "0" },
    "io.modelcontextprotocol/clientCapabilities": {}
  }
  for (const [revision, meta] of [["2025-11-25", {}], ["2026-07-28", modern]] as const) {
    it(`${revision}: all progress of a call comes before its answer, however many run at once`, async () => {
      const server = revision === "2026-07-28" ? openStdio() : common.fromNow()
      if (revision === "2026-07-28") open.push(server)
      const ids = Array.from({ length: 100 }, (_, i) => i + 1)
      for (const id of ids) {
        server.send({
          jsonrpc: "2.0",
          id,
          method: "tools/call",
          params: { name: "execute", arguments: { item_id: "slow" }, _meta: { ...meta, progressToken: id } }
        })
      }
      for (const asked of ids) await server.until(({ id }) => id === asked)
      const written = new Map<unknown, Array<unknown>>()
      for (const { id, params } of server.messages()) {
        const { progress, progressToken } = (params ?? {}) as Message
        const key = progressToken ?? id
        written.set(key, [...written.get(key) ?? [], progress ?? "answer"])
      }
      for (const id of ids) assert.deepStrictEqual(written.get(id), [1, 2, 3, "answer"])
    })
  }

  it("of two requests of one id that run at once, the second is refused, and no answer is lost", async () => {
    const server = common.fromNow()
    const call = (item_id: string, parameters: Message, id = "twice") => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "execute", arguments: { item_id, parameters } }
    })
    server.send(call("slow", { held: true }))
    server.send(call("add", { a: 1, b: 2 }))
    // By its own id the refusal would be taken for the answer of the first.
    const refusal = await server.until(({ error }) => error !== undefined)
    assert.deepInclude(refusal, { id: null })
    assert.strictEqual(errorCode(refusal), -32600)
    assert.match(JSON.stringify(refusal), /The id twice is that of a request that is still running/)
    server.send(call("slow", { release: true }, "release"))
    assert.match(JSON.stringify(await server.until(({ id }) => id === "twice")), /"there"/)
    // Over and answered, an id is as good as any other.
    server.send(call("add", { a: 4, b: 5 }))
    await server.until((message) => /sum\\*":9/.test(JSON.stringify(message)))
    assert.strictEqual(server.messages().filter(({ id }) => id === "twice").length, 2)
    await goesOn(server)
  })

  it("an id of a request that was called off is not used again", async () => {
    const server = await start()
    const call = (item_id: string, parameters: Message) => ({
      jsonrpc: "2.0",
      id: 7,
      method: "tools/call",
      params: { name: "execute", arguments: { item_id, parameters } }
    })
    server.send(call("slow", { forever: true }))
    server.send({ jsonrpc: "2.0", id: "7", method: "ping" })
    await server.until(({ id }) => id === "7")
    server.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } })
    await goesOn(server)
    server.send(call("add", { a: 4, b: 5 }))
    await server.until((message) => errorCode(message) === -32600 && message["id"] === null)
    await goesOn(server)
    assert.isUndefined(server.messages().find(({ id }) => id === 7))
  })

  it("an id that is used again in the same breath as it is called off is refused", async () => {
    const server = await start()
    const search = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "search", arguments: { query: "add" } }
    }
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }
    server.raw([search, cancel, search].map((message) => `${JSON.stringify(message)}\n`).join(""))
    await server.until((message) => errorCode(message) === -32600)
    await goesOn(server)
  })

  it("a request before initialize is refused, and initialize still works", async () => {
    const server = openStdio()
    open.push(server)
    server.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "help", arguments: {} } })
    assert.isDefined(errorCode(await server.until(({ id }) => id === 1)))
    server.send(initialize())
    await server.until(({ id }) => id === "init")
    await goesOn(server)
  })

  it("a second initialize does no harm", async () => {
    const server = common.fromNow()
    server.send(initialize("again"))
    await server.until(({ id }) => id === "again")
    await goesOn(server)
  })

  it("a hundred requests at once are all answered", async () => {
    const server = common.fromNow()
    for (let id = 0; id < 100; id++) {
      server.send({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "execute", arguments: { item_id: "add" } }
      })
    }
    for (let id = 0; id < 100; id++) await server.until((message) => message["id"] === id)
    await goesOn(server)
  })

  for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
    it(`speaks ${version}`, async () => {
      const server = openStdio()
      open.push(server)
      server.send(initialize("init", version))
      const { result } = await server.until(({ id }) => id === "init")
      assert.include(JSON.stringify(result), `"protocolVersion":"${version}"`)
      await goesOn(server)
    })
  }

  it("answers a revision that nobody has heard of with the newest that has sessions", async () => {
    const server = openStdio()
    open.push(server)
    server.send(initialize("init", "2099-01-01"))
    const { result } = await server.until(({ id }) => id === "init")
    assert.include(JSON.stringify(result), "\"protocolVersion\":\"2025-11-25\"")
  })

  it("takes a batch in 2025-03-26, and refuses the whole of one with a bad part", async () => {
    const server = openStdio()
    open.push(server)
    server.send(initialize("init", "2025-03-26"))
    await server.until(({ id }) => id === "init")
    server.raw("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},5]\n")
    await server.until((message) => errorCode(message) === -32600)
    server.send({ jsonrpc: "2.0", id: 2, method: "ping" })
    await server.until(({ id }) => id === 2)
  })
})

describe("the end of a stdio server", () => {
  const callForEver = {
    jsonrpc: "2.0",
    id: "slow",
    method: "tools/call",
    params: {
      name: "execute",
      arguments: { item_id: "slow", parameters: { forever: true } },
      _meta: { progressToken: 1 }
    }
  }
  const running = ({ method }: Message) => method === "notifications/progress"

  it("comes with 0 when stdin ends, after what was asked was answered", async () => {
    const server = openStdio()
    open.push(server)
    server.send(initialize())
    server.send({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "execute", arguments: { item_id: "add" } }
    })
    server.child.stdin.end()
    assert.deepStrictEqual(await server.over, { code: 0, signal: null })
    assert.deepStrictEqual(server.messages().map(({ id }) => id), ["init", 1])
    assert.include(server.said(), "ENDED interrupted=0")
  })

  it("interrupts what is still running when stdin ends, and ends with 0", async () => {
    const server = await start()
    server.send(callForEver)
    await server.until(running)
    server.child.stdin.end()
    assert.deepStrictEqual(await server.over, { code: 0, signal: null })
    assert.include(server.said(), "ENDED interrupted=1")
  })

  it("interrupts what is running when nobody reads its answers any more", async () => {
    const server = await start()
    server.send(callForEver)
    await server.until(running)
    server.child.stdout.destroy()
    server.send({ jsonrpc: "2.0", id: 1, method: "ping" })
    server.send({ jsonrpc: "2.0", id: 2, method: "ping" })
    assert.deepStrictEqual(await server.over, { code: 0, signal: null })
    assert.include(server.said(), "ENDED interrupted=1")
  })

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`runs every finalizer on ${signal}`, async () => {
      const server = await start()
      server.send(callForEver)
      await server.until(running)
      server.child.kill(signal)
      const { code } = await server.over
      assert.strictEqual(code, 130)
      assert.include(server.said(), "ENDED interrupted=1")
    })
  }

  it("sends what was written to stdout by anybody else to stderr", async () => {
    const server = await start()
    assert.include(server.said(), "this line must never reach the client")
    assert.include(server.said(), "nor this one")
    await goesOn(server)
  })
})
