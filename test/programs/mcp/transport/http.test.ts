import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { connect, createServer } from "node:net"
import * as ClientsMemory from "../../../../src/layers/call/ClientsMemory.ts"
import { isLoopback, namesOf, parseAllowedHost } from "../../../../src/programs/mcp/transport/hosts.ts"
import * as Http from "../../../../src/programs/mcp/transport/http.ts"
import * as Notices from "../../../../src/programs/mcp/transport/notices.ts"
import { httpProtocols } from "../../../../src/programs/mcp/transport/protocols.ts"
import { Clients } from "../../../../src/services/call/Clients.ts"

interface Options extends Omit<Http.HttpOptions, "allowedHosts"> {
  readonly allowedHosts?: ReadonlyArray<string>
  readonly clients?: Clients["Service"]
}

const served = (options: Options) =>
  Effect.gen(function*() {
    let url = ""
    const clients = options.clients ?? (yield* ClientsMemory.make)
    yield* Layer.build(Layer.provide(
      Http.layer(
        {
          info: { name: "test", version: "0" },
          protocols: httpProtocols,
          registrations: Layer.empty,
          gate: { methods: new Set(), effect: Effect.void },
          notices: yield* Notices.make,
          endSession: () => Effect.void,
          answer: () => Effect.succeed({ status: 200, body: {} })
        },
        {
          allowedHosts: [],
          ...options,
          listening: (at) =>
            Effect.sync(() => {
              url = at
            })
        }
      ),
      Layer.succeed(Clients, clients)
    ))
    return url
  })

const start = (options: Parameters<typeof served>[0]) => Effect.scoped(served(options))

it.live("listens beyond this machine only with a token", () =>
  Effect.gen(function*() {
    for (const host of ["0.0.0.0", "::", "192.168.1.1", "example.com"]) {
      const error = yield* Effect.flip(start({ host, port: 0, token: undefined }))
      assert.strictEqual(error._tag, "HttpAuthRequired", host)
    }
    assert.match(yield* start({ host: "127.0.0.1", port: 0, token: undefined }), /^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    assert.match(yield* start({ host: "localhost", port: 0, token: undefined }), /^http:\/\/localhost:\d+\/mcp$/)
  }))

it.live("says what is wrong with a port", () =>
  Effect.gen(function*() {
    const port = yield* Effect.acquireRelease(
      Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
        const server = createServer()
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          resume(Effect.succeed({
            port: typeof address === "object" && address !== null ? address.port : 0,
            close: () => server.close()
          }))
        })
      }),
      ({ close }) => Effect.sync(close)
    )
    const error = yield* Effect.flip(start({ host: "127.0.0.1", port: port.port, token: undefined }))
    assert.strictEqual(error._tag, "HttpUnavailable")
    assert.include(error.message, "something else is listening there")
  }).pipe(Effect.scoped))

it.effect("a token has at least 256 bits", () =>
  Effect.gen(function*() {
    const made = yield* Http.makeToken
    assert.strictEqual(yield* Http.checkToken(made), made)
    assert.notStrictEqual(Redacted.value(yield* Http.makeToken), Redacted.value(made))
    assert.strictEqual((yield* Effect.flip(Http.checkToken(Redacted.make("x".repeat(42)))))._tag, "HttpTokenWeak")
  }))

it("knows this machine's own addresses", () => {
  assert.deepStrictEqual(
    ["127.0.0.1", "127.9.9.9", "localhost", "::1", "0.0.0.0", "127.0.0.1.evil.example", "10.0.0.1"].map(
      isLoopback
    ),
    [true, true, true, true, false, false, false]
  )
})

/** The status of a request that is written to the socket as it stands, without a token: 401 is a Host that counts. */
const statusOf = (port: number, lines: ReadonlyArray<string>, target = "/mcp") =>
  Effect.callback<number>((resume) => {
    const socket = connect(port, "127.0.0.1")
    let said = ""
    socket.on("data", (data) => said += data.toString())
    socket.on("close", () => resume(Effect.succeed(Number(/^HTTP\/1\.1 (\d{3})/.exec(said)?.[1]))))
    socket.end([`POST ${target} HTTP/1.1`, ...lines, "Content-Length: 0", "Connection: close", "", ""].join("\r\n"))
  })

const token = Redacted.make("t".repeat(43))

it.live("answers to its own addresses and to hosts that a person allowed, and to no other", () =>
  Effect.gen(function*() {
    const allowedHosts = ["build.example.org", "proxy.example:8443", "192.0.2.7", "2001:db8::7"].flatMap((one) =>
      parseAllowedHost(one) ?? []
    )
    for (const host of ["0.0.0.0", "127.0.0.1"]) {
      const port = Number(new URL(yield* served({ host, port: 0, token, allowedHosts })).port)
      const hosts: ReadonlyArray<readonly [host: string, status: number]> = [
        [`127.0.0.1:${port}`, 401],
        [`localhost:${port}`, 401],
        [`LOCALHOST:${port}`, 401],
        [`[::1]:${port}`, 401],
        [`build.example.org:${port}`, 401],
        [`Build.Example.ORG:${port}`, 401],
        ["build.example.org", 401],
        ["proxy.example:8443", 401],
        ["192.0.2.7", 401],
        [`192.0.2.7:${port}`, 401],
        [`[2001:db8::7]:${port}`, 401],
        // A port that was mapped, as of a container.
        ["build.example.org:8080", 401],
        ["192.0.2.7:8080", 401],
        ["[2001:db8::7]:8080", 401],
        ["build.example.org:0", 403],
        ["build.example.org:65536", 403],
        ["build.example.org:080", 403],
        ["build.example.org:", 403],
        ["build.example.org:80:80", 403],
        ["proxy.example:8444", 403],
        ["localhost:9", 403],
        ["127.0.0.1:9", 403],
        ["2001:db8::7:8080", 403],
        ["[2001:db8::7]8080", 403],
        ["proxy.example", 403],
        [`proxy.example:${port}`, 403],
        [`build.example.org.:${port}`, 403],
        [`localhost.:${port}`, 403],
        [`evil.build.example.org:${port}`, 403],
        [`build.example.org.evil.example:${port}`, 403],
        [`evil.example:${port}`, 403],
        [`192.0.2.8:${port}`, 403],
        [`[2001:db8::8]:${port}`, 403],
        [`2001:db8::7:${port}`, 403],
        [`127.0.0.1:${port}@evil.example`, 403],
        ["localhost", 403],
        ["", 403]
      ]
      for (const [name, status] of hosts) {
        assert.strictEqual(yield* statusOf(port, [`Host: ${name}`]), status, `${host} ${name}`)
      }
      assert.strictEqual(yield* statusOf(port, []), 400, "no Host")
      const own = `Host: build.example.org:${port}`
      const absolute = yield* statusOf(
        port,
        [own, `Authorization: Bearer ${Redacted.value(token)}`],
        "http://evil.example/mcp"
      )
      assert.strictEqual(absolute, 403)
      const origins: ReadonlyArray<readonly [origin: string, status: number]> = [
        [`http://localhost:${port}`, 401],
        [`http://build.example.org:${port}`, 401],
        ["https://build.example.org", 401],
        ["https://proxy.example:8443", 401],
        [`http://[::1]:${port}`, 401],
        ["https://proxy.example", 403],
        ["https://build.example.org:9", 403],
        ["http://build.example.org:8080", 403],
        ["http://evil.example", 403],
        [`https://localhost:${port}`, 403],
        [`http://build.example.org.evil.example:${port}`, 403],
        [`HTTP://BUILD.EXAMPLE.ORG:${port}`, 403],
        ["http://build.example.org.", 403],
        ["null", 403],
        ["", 403]
      ]
      for (const [origin, status] of origins) {
        assert.strictEqual(yield* statusOf(port, [own, `Origin: ${origin}`]), status, `${host} ${origin}`)
      }
    }
  }).pipe(Effect.scoped))

it.live("refuses a request that says twice who asks, or whom", () =>
  Effect.gen(function*() {
    const port = Number(new URL(yield* served({ host: "127.0.0.1", port: 0, token })).port)
    const own = `Host: 127.0.0.1:${port}`
    const bearer = `Authorization: Bearer ${Redacted.value(token)}`
    const origin = `Origin: http://127.0.0.1:${port}`
    const requests: ReadonlyArray<ReadonlyArray<string>> = [
      [own, own],
      [own, "Host: evil.example"],
      ["Host: evil.example", own],
      [own, "HOST: evil.example"],
      [own, "hOsT:evil.example"],
      [own, "Host:"],
      [own, "Host: evil.example", own],
      [own, bearer, "Host: evil.example"],
      [own, bearer, bearer],
      [own, bearer, "authorization: Bearer x"],
      [own, bearer, origin, "Origin: http://evil.example"],
      [own, bearer, origin, origin],
      [own, bearer, "Content-Type: application/json", "Content-Type: text/plain"],
      [own, "Host : evil.example"],
      [own, " Host: evil.example", bearer]
    ]
    for (const lines of requests) assert.strictEqual(yield* statusOf(port, lines), 400, lines.join(" | "))
    assert.strictEqual(yield* statusOf(port, [own, bearer, origin]), 415)
  }).pipe(Effect.scoped))

it.live("answers to localhost at a port that was mapped, if a person allows it", () =>
  Effect.gen(function*() {
    const options = { host: "0.0.0.0", port: 0, token }
    const strict = Number(new URL(yield* served(options)).port)
    const mapped = Number(new URL(yield* served({ ...options, allowedHosts: ["localhost"] })).port)
    assert.strictEqual(yield* statusOf(strict, ["Host: localhost:8080"]), 403)
    assert.strictEqual(yield* statusOf(mapped, ["Host: localhost:8080"]), 401)
    assert.strictEqual(yield* statusOf(mapped, ["Host: 127.0.0.1:8080"]), 403)
    assert.strictEqual(yield* statusOf(mapped, ["Host: localhost:8080", "Origin: http://localhost:8080"]), 403)
  }).pipe(Effect.scoped))

it.live("answers to a name with a scheme's own port as clients write it: without the port", () =>
  Effect.gen(function*() {
    const allowedHosts = ["secure.example:443", "plain.example:80", "other.example:8443", "[2001:db8::7]:443"]
    const port = Number(new URL(yield* served({ host: "127.0.0.1", port: 0, token, allowedHosts })).port)
    const hosts: ReadonlyArray<readonly [host: string, status: number]> = [
      ["secure.example", 401],
      ["SECURE.example", 401],
      ["secure.example:443", 401],
      ["plain.example", 401],
      ["plain.example:80", 401],
      ["[2001:db8::7]", 401],
      ["[2001:db8::7]:443", 401],
      ["other.example:8443", 401],
      ["other.example", 403],
      ["secure.example:80", 403],
      ["plain.example:443", 403],
      ["secure.example:4430", 403],
      [`secure.example:${port}`, 403],
      ["evil.secure.example", 403]
    ]
    for (const [host, status] of hosts) assert.strictEqual(yield* statusOf(port, [`Host: ${host}`]), status, host)
    const origins: ReadonlyArray<readonly [origin: string, status: number]> = [
      ["https://secure.example", 401],
      ["https://secure.example:443", 401],
      ["http://plain.example", 401],
      ["http://plain.example:80", 401],
      ["https://[2001:db8::7]", 401],
      ["https://other.example:8443", 401],
      ["http://secure.example", 403],
      ["https://plain.example", 403],
      ["https://other.example", 403],
      ["http://[2001:db8::7]", 403],
      ["https://secure.example:8443", 403],
      [`http://secure.example:${port}`, 403]
    ]
    for (const [origin, status] of origins) {
      assert.strictEqual(yield* statusOf(port, ["Host: secure.example", `Origin: ${origin}`]), status, origin)
    }
  }).pipe(Effect.scoped))

it.live("names the flag that lets a Host in", () =>
  Effect.gen(function*() {
    const url = yield* served({ host: "127.0.0.1", port: 0, token })
    const said = yield* Effect.callback<string>((resume) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1")
      let text = ""
      socket.on("data", (data) => text += data.toString())
      socket.on("close", () => resume(Effect.succeed(text)))
      socket.end("GET /mcp HTTP/1.1\r\nHost: build.example.org\r\nConnection: close\r\n\r\n")
    })
    assert.match(said, /403/)
    assert.include(said, "--allow-host NAME")
  }).pipe(Effect.scoped))

it.live("answers to no further host without a token", () =>
  Effect.gen(function*() {
    for (const allowed of ["build.example.org", "build.example.org:80", "192.0.2.7"]) {
      const error = yield* Effect.flip(start({ host: "127.0.0.1", port: 0, token: undefined, allowedHosts: [allowed] }))
      assert.strictEqual(error._tag, "HttpAuthRequired", allowed)
    }
    yield* start({ host: "127.0.0.1", port: 0, token: undefined, allowedHosts: ["localhost:8080"] })
  }))

it("takes a host as a Host header has it, and nothing wider", () => {
  const taken = ["a", "A.example", "a_b.example:1", "10.0.0.1", "10.0.0.1:65535", "::1", "[::1]", "[::1]:80"]
  assert.deepStrictEqual(taken.map(parseAllowedHost), [
    "a",
    "a.example",
    "a_b.example:1",
    "10.0.0.1",
    "10.0.0.1:65535",
    "[::1]",
    "[::1]",
    "[::1]:80"
  ])
  for (
    const wrong of [
      "",
      "*",
      "*.example",
      "http://a",
      "a/b",
      "a:",
      "a:0",
      "a:65536",
      "a:b",
      "a.",
      ".a",
      "a..b",
      "a b",
      "a@b",
      "[a]",
      "[::1",
      "[10.0.0.1]",
      "a\r\nb",
      "é.example",
      "x".repeat(300)
    ]
  ) assert.isUndefined(parseAllowedHost(wrong), wrong)
  assert.isTrue(namesOf("::", 80, []).hosts.has("[::1]"))
})
