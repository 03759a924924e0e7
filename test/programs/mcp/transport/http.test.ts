import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { createServer } from "node:net"
import * as Http from "../../../../src/programs/mcp/transport/http.ts"
import * as Notices from "../../../../src/programs/mcp/transport/notices.ts"
import { httpProtocols } from "../../../../src/programs/mcp/transport/protocols.ts"

const start = (options: Http.HttpOptions) =>
  Effect.gen(function*() {
    let url = ""
    yield* Layer.build(Http.layer(
      {
        info: { name: "test", version: "0" },
        protocols: httpProtocols,
        registrations: Layer.empty,
        gate: { methods: new Set(), effect: Effect.void },
        notices: yield* Notices.make
      },
      {
        ...options,
        listening: (at) =>
          Effect.sync(() => {
            url = at
          })
      }
    ))
    return url
  }).pipe(Effect.scoped)

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
      Http.isLoopback
    ),
    [true, true, true, true, false, false, false]
  )
})
