// What stands before every route of the HTTP transport, over real sockets.
import { assert, describe, it } from "@effect/vitest"
import { request } from "node:http"
import { connect } from "node:net"
import { afterAll, beforeAll } from "vitest"
import { listen } from "../support/mcp/start.ts"

const message = { jsonrpc: "2.0", id: 1, method: "ping" }
const init = {
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "0" } }
}

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string | Uint8Array
}

/** One request with exactly these headers: `fetch` would not let Host be chosen. */
const send = (url: string, { body, headers = {}, method = "POST", path }: Sent) =>
  new Promise<{ status: number; headers: NodeJS.Dict<string | Array<string>>; text: string }>((resolve, reject) => {
    const target = new URL(url)
    const all: Record<string, string | undefined> = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers
    }
    const sent = request({
      host: target.hostname,
      port: target.port,
      path: path ?? target.pathname,
      method,
      headers: Object.fromEntries(Object.entries(all).flatMap(([k, v]) => v === undefined ? [] : [[k, v]]))
    }, (response) => {
      let text = ""
      response.on("data", (data: Buffer) => text += data.toString())
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      response.on("error", reject)
    })
    sent.on("error", reject)
    sent.end(body ?? (method === "POST" ? JSON.stringify(init) : undefined))
  })

describe("with a token", () => {
  let server: Awaited<ReturnType<typeof listen>>
  beforeAll(async () => {
    server = await listen()
  })
  afterAll(() => server.close())
  const authorized = () => ({ authorization: `Bearer ${server.token}` })

  it("makes one of 256 bits, shows it once on stderr, and nothing on stdout", () => {
    assert.strictEqual(Buffer.from(server.token ?? "", "base64url").length, 32)
    assert.strictEqual(server.said().split(server.token ?? "-").length, 2)
    assert.strictEqual(server.printed(), "")
    assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
  })

  it("lets in who has it", async () => {
    const { headers, status } = await send(server.url, { headers: authorized() })
    assert.strictEqual(status, 200)
    assert.isDefined(headers["mcp-session-id"])
  })

  const foreign: ReadonlyArray<readonly [string, () => Sent, number]> = [
    ["no token", () => ({}), 401],
    ["a wrong token", () => ({ headers: { authorization: `Bearer ${"x".repeat(43)}` } }), 401],
    ["a token that is cut", () => ({ headers: { authorization: `Bearer ${server.token?.slice(0, -1)}` } }), 401],
    ["another scheme", () => ({ headers: { authorization: `Basic ${server.token}` } }), 401],
    ["the token in the URL", () => ({ path: `/mcp?access_token=${server.token}&token=${server.token}` }), 401],
    ["no token, on a route that does not exist", () => ({ path: "/other" }), 401],
    ["no token, to GET", () => ({ method: "GET" }), 401],
    ["no token, to DELETE", () => ({ method: "DELETE" }), 401],
    ["no token, to OPTIONS", () => ({ method: "OPTIONS" }), 401],
    ["a foreign Host", () => ({ headers: { ...authorized(), host: "evil.example" } }), 403],
    ["a foreign Host with the port", () => ({
      headers: { ...authorized(), host: `evil.example:${new URL(server.url).port}` }
    }), 403],
    ["a Host without the port", () => ({ headers: { ...authorized(), host: "127.0.0.1" } }), 403],
    ["a Host with another port", () => ({ headers: { ...authorized(), host: "localhost:1" } }), 403],
    ["a foreign Host on a route that does not exist", () => ({
      path: "/other",
      headers: { ...authorized(), host: "evil.example" }
    }), 403],
    ["a foreign Origin", () => ({ headers: { ...authorized(), origin: "http://evil.example" } }), 403],
    ["the Origin null", () => ({ headers: { ...authorized(), origin: "null" } }), 403],
    ["an Origin of another port", () => ({ headers: { ...authorized(), origin: "http://localhost:1" } }), 403],
    ["an Origin of another scheme", () => ({
      headers: { ...authorized(), origin: `https://${new URL(server.url).host}` }
    }), 403],
    ["text", () => ({ headers: { ...authorized(), "content-type": "text/plain" } }), 415],
    ["a form", () => ({ headers: { ...authorized(), "content-type": "application/x-www-form-urlencoded" } }), 415],
    ["no content type", () => ({ headers: { ...authorized(), "content-type": undefined } }), 415],
    ["something that is no JSON", () => ({ headers: authorized(), body: "{" }), 400],
    ["deep JSON", () => ({ headers: authorized(), body: "[".repeat(100_000) }), 400],
    ["a prototype", () => ({ headers: authorized(), body: "{\"jsonrpc\":\"2.0\",\"__proto__\":1}" }), 400],
    ["headers in the message", () => ({
      headers: authorized(),
      body: JSON.stringify({ ...init, headers: [["mcp-session-id", "x"]] })
    }), 400],
    ["a message without a session", () => ({ headers: authorized(), body: JSON.stringify(message) }), 400],
    ["a session that is not there", () => ({
      headers: { ...authorized(), "mcp-session-id": "00000000-0000-4000-8000-000000000000" },
      body: JSON.stringify(message)
    }), 404],
    ["a route that does not exist", () => ({ headers: authorized(), path: "/other" }), 404],
    ...["//mcp", "/MCP", "/%6dcp", "/mcp/", "/mcp;x"].map((path): readonly [string, () => Sent, number] => [
      `another spelling of its route (${path})`,
      () => ({ headers: authorized(), path }),
      404
    ]),
    ["another method", () => ({ headers: authorized(), method: "PUT" }), 405],
    ["a browser's preflight", () => ({ headers: authorized(), method: "OPTIONS" }), 405],
    ["17 MiB", () => ({ headers: authorized(), body: Buffer.alloc(17 * 1024 * 1024, 0x20) }), 413]
  ]
  for (const [what, sent, status] of foreign) {
    it(`answers ${what} with ${status}, and without CORS`, async () => {
      const answer = await send(server.url, sent())
      assert.strictEqual(answer.status, status, answer.text)
      assert.isFalse(Object.keys(answer.headers).some((name) => name.startsWith("access-control-")))
      assert.notMatch(answer.text, /\n\s+at /)
    })
  }

  it("reads no more than it may of a body that does not say its length", async () => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const answer: Array<string> = []
    socket.on("data", (data) => answer.push(data.toString()))
    socket.on("error", () => {})
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${server.token}\r\n` +
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    const piece = "100000\r\n" + " ".repeat(0x100000) + "\r\n"
    for (let i = 0; i < 20 && answer.length === 0 && !socket.destroyed; i++) {
      socket.write(piece)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    socket.write("0\r\n\r\n")
    for (let i = 0; i < 100 && answer.length === 0; i++) await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    assert.match(answer.join(""), /^HTTP\/1\.1 413 /)
  })

  it("answers loopback's other names with the port that was bound", async () => {
    const { port } = new URL(server.url)
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      const { status } = await send(server.url, { headers: { ...authorized(), host, origin: `http://${host}` } })
      assert.strictEqual(status, 200, host)
    }
  })

  it("does not offer 2024-11-05", async () => {
    const body = JSON.stringify({ ...init, params: { ...init.params, protocolVersion: "2024-11-05" } })
    const { text } = await send(server.url, { headers: authorized(), body })
    assert.include(text, "\"protocolVersion\":\"2025-11-25\"")
  })

  const open = async () => {
    const { headers } = await send(server.url, { headers: authorized() })
    const session = String(headers["mcp-session-id"])
    return {
      session,
      post: (body: unknown) =>
        send(server.url, { headers: { ...authorized(), "mcp-session-id": session }, body: JSON.stringify(body) })
    }
  }

  it("ends a session that its client ends", async () => {
    const { post, session } = await open()
    assert.strictEqual((await post(message)).status, 200)
    const ended = await send(server.url, { method: "DELETE", headers: { ...authorized(), "mcp-session-id": session } })
    assert.strictEqual(ended.status, 204)
    assert.strictEqual((await post(message)).status, 404)
  })

  it("keeps at most 64 sessions: the longest idle one makes room", async () => {
    const first = await open()
    const second = await open()
    for (let i = 0; i < 62; i++) await open()
    assert.strictEqual((await first.post(message)).status, 200)
    await open()
    assert.strictEqual((await second.post(message)).status, 404)
    assert.strictEqual((await first.post(message)).status, 200)
  })

  it("tells a session on its stream of what it subscribed to, and ends the stream with the session", async () => {
    const { post, session } = await open()
    const subscribed = await post({
      jsonrpc: "2.0",
      id: 2,
      method: "resources/subscribe",
      params: { uri: "kiwi://x/y" }
    })
    assert.deepStrictEqual(JSON.parse(subscribed.text), { jsonrpc: "2.0", id: 2, result: {} })
    const headers = { ...authorized(), "mcp-session-id": session }
    const stream = send(server.url, { method: "GET", headers })
    await new Promise((resolve) => setTimeout(resolve, 200))
    const second = await send(server.url, { method: "GET", headers })
    assert.strictEqual(second.status, 409)
    await send(server.url, { method: "DELETE", headers })
    const { headers: answered, status } = await stream
    assert.strictEqual(status, 200)
    assert.include(String(answered["content-type"]), "text/event-stream")
  })
})

describe("a client that goes away in the middle of a call", () => {
  const call = (meta: object) => ({
    jsonrpc: "2.0",
    id: 7,
    method: "tools/call",
    params: {
      name: "execute",
      arguments: { item_id: "slow", parameters: { forever: true } },
      _meta: { progressToken: 1, ...meta }
    }
  })
  const modern = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {}
  }

  for (const revision of ["2025-11-25", "2026-07-28"]) {
    it(`stops it in ${revision}`, async () => {
      const server = await listen({ noAuth: true })
      const opened = revision === "2025-11-25" ? await send(server.url, {}) : undefined
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": revision,
        ...(opened === undefined
          ? { "mcp-method": "tools/call", "mcp-name": "execute" }
          : { "mcp-session-id": String(opened.headers["mcp-session-id"]) })
      }
      const stop = new AbortController()
      const answer = await fetch(server.url, {
        method: "POST",
        headers,
        body: JSON.stringify(call(opened === undefined ? modern : {})),
        signal: stop.signal
      })
      assert.strictEqual(answer.status, 200)
      const first = await answer.body?.getReader().read()
      assert.include(Buffer.from(first?.value ?? []).toString(), "notifications/progress")
      assert.notInclude(server.said(), "INTERRUPTED")
      stop.abort()
      for (let i = 0; i < 100 && !server.said().includes("INTERRUPTED"); i++) {
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      assert.include(server.said(), "INTERRUPTED")
      await server.close()
    })
  }
})

describe("with a token from the environment", () => {
  it("uses it and does not print it", async () => {
    const token = "t".repeat(43)
    const server = await listen({ token })
    const { status } = await send(server.url, { headers: { authorization: `Bearer ${token}` } })
    assert.strictEqual(status, 200)
    assert.notInclude(server.said(), token)
    await server.close()
  })

  it("refuses one that could be guessed", async () => {
    const failed = await listen({ token: "secret" }).then(() => "it started", String)
    assert.include(failed, "KIWI_HTTP_TOKEN is too short")
    assert.notInclude(failed, "\"secret\"")
  })
})

it("without a token, says who can now act as you", async () => {
  const server = await listen({ noAuth: true })
  assert.include(server.said(), "every user and every program of this machine can now act as somebody")
  assert.strictEqual((await send(server.url, {})).status, 200)
  assert.strictEqual((await send(server.url, { headers: { host: "evil.example" } })).status, 403)
  await server.close()
})
