import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, type Schema } from "effect"
import { TestClock } from "effect/testing"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import * as HttpClientNode from "../../../src/layers/primitive/HttpClientNode.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import { Outbound, OutboundFailed } from "../../../src/services/outbound/Outbound.ts"
import { retryAfter } from "../../../src/services/outbound/retry.ts"
import { outputId, Outputs } from "../../../src/services/primitive/Outputs.ts"
import type { PrimitiveInput } from "../../../src/services/primitive/Primitive.ts"
import { localServer, rawServer } from "../../support/localServer.ts"
import { inputFor } from "./inputs.ts"

const limits = { inline: 10_000, spill: 1_000_000, timeout: 30_000 }

/** Against a network that answers what the test says, on the test's clock. */
const scripted = (config: Schema.JsonObject, answers: ReadonlyArray<OutboundMemory.MemoryAnswer | OutboundFailed>) =>
  Effect.gen(function*() {
    const times: Array<number> = []
    const outbound = OutboundMemory.layerWith(() =>
      Effect.gen(function*() {
        const answer = answers[Math.min(times.length, answers.length - 1)]!
        times.push(yield* Clock.currentTimeMillis)
        return answer instanceof OutboundFailed ? yield* answer : answer
      })
    )
    const http = yield* HttpClientNode.make(limits).pipe(Effect.provide(Layer.merge(outbound, OutputsMemory.layer)))
    const fiber = yield* Effect.forkChild(
      Effect.result(http.run(inputFor({ url: "https://a.example/", ...config })))
    )
    yield* TestClock.adjust("2 hours")
    return { result: yield* Fiber.join(fiber), times }
  })

const failure = (sent: boolean, transient = true) =>
  new OutboundFailed({ target: "https://a.example", issue: "the connection was reset", transient, sent })

const codeOf = (result: { readonly _tag: string; readonly failure?: { readonly _tag: string } }) =>
  result._tag === "Failure" ? result.failure?._tag : "ok"

describe("retry", () => {
  it.effect("repeats what says \"not now\", up to three attempts", () =>
    Effect.gen(function*() {
      for (const status of [408, 425, 429, 500, 502, 503, 504, 507, 520, 599]) {
        const { result, times } = yield* scripted({}, [{ status }, { status }, { body: "ok" }])
        assert.deepStrictEqual([codeOf(result), times.length], ["ok", 3], String(status))
      }
      const { result, times } = yield* scripted({}, [{ status: 503, body: "later" }])
      assert.deepStrictEqual([codeOf(result), times.length], ["ToolFailed", 3])
    }))

  it.effect("does not repeat what is final", () =>
    Effect.gen(function*() {
      for (const status of [400, 401, 404, 409, 501, 505]) {
        const { times } = yield* scripted({}, [{ status }])
        assert.strictEqual(times.length, 1, String(status))
      }
      assert.strictEqual((yield* scripted({}, [failure(true, false)])).times.length, 1)
    }))

  it.effect("repeats only idempotent methods, unless the tool says otherwise", () =>
    Effect.gen(function*() {
      const attempts = (config: Schema.JsonObject) =>
        Effect.map(scripted(config, [{ status: 503 }]), ({ times }) => times.length)
      assert.strictEqual(yield* attempts({ method: "POST" }), 1)
      assert.strictEqual(yield* attempts({ method: "PATCH" }), 1)
      assert.strictEqual(yield* attempts({ method: "PUT" }), 3)
      assert.strictEqual(yield* attempts({ method: "DELETE" }), 3)
      assert.strictEqual(yield* attempts({ method: "POST", retry: { methods: ["POST"] } }), 3)
      assert.strictEqual(yield* attempts({ method: "GET", retry: { methods: [] } }), 1)
      assert.strictEqual(yield* attempts({ retry: { max_attempts: 1 } }), 1)
      assert.strictEqual(yield* attempts({ retry: { max_attempts: 5 } }), 5)
    }))

  it.effect("repeats any method that the other side has not seen", () =>
    Effect.gen(function*() {
      const unseen = yield* scripted({ method: "POST" }, [failure(false), { body: "ok" }])
      assert.deepStrictEqual([codeOf(unseen.result), unseen.times.length], ["ok", 2])
      const seen = yield* scripted({ method: "POST" }, [failure(true)])
      assert.deepStrictEqual([codeOf(seen.result), seen.times.length], ["RequestFailed", 1])
    }))

  it.effect("waits twice as long each time, give or take", () =>
    Effect.gen(function*() {
      const { times } = yield* scripted({ retry: { max_attempts: 5 } }, [{ status: 503 }])
      const waits = times.slice(1).map((time, i) => time - times[i]!)
      for (const [i, wait] of waits.entries()) {
        const most = 500 * 2 ** i
        assert.isTrue(wait >= most / 2 && wait <= most, `${i}: ${wait}`)
      }
      const constant = yield* scripted({ retry: { max_attempts: 5, backoff: "constant" } }, [{ status: 503 }])
      assert.isTrue(constant.times.slice(1).every((time, i) => time - constant.times[i]! <= 500))
    }))

  it.effect("waits as long as it is asked to, in seconds or until a date", () =>
    Effect.gen(function*() {
      const seconds = yield* scripted({}, [{ status: 429, headers: { "retry-after": "7" } }, { body: "ok" }])
      assert.deepStrictEqual(seconds.times, [seconds.times[0], seconds.times[0]! + 7_000])
      const date = new Date(seconds.times[0]! + 2 * 3_600_000 + 9_000).toUTCString()
      const until = yield* scripted({}, [{ status: 503, headers: { "retry-after": date } }, { body: "ok" }])
      assert.deepStrictEqual(until.times, [until.times[0], until.times[0]! + 9_000])
    }))

  it.effect("does not come back earlier than asked: it gives up", () =>
    Effect.gen(function*() {
      for (const config of [{ timeout: 3_600 }, { timeout: 20 }]) {
        const wait = config.timeout === 20 ? "25" : "31"
        const { result, times } = yield* scripted(config, [{ status: 429, headers: { "retry-after": wait } }])
        assert.deepStrictEqual([codeOf(result), times.length], ["ToolFailed", 1])
      }
    }))

  it.effect("reads nothing into a wrong Retry-After", () =>
    Effect.sync(() => {
      for (const text of ["soon", "-5", "1.5", "", "2026-01-01", "9".repeat(20)]) {
        assert.isUndefined(retryAfter(text, 0), text)
      }
      assert.strictEqual(retryAfter("Thu, 01 Jan 1970 00:00:05 GMT", 10_000), 0)
    }))

  it.effect("everything together stays within the timeout", () =>
    Effect.gen(function*() {
      const times: Array<number> = []
      const outbound = OutboundMemory.layerWith(() => Effect.never)
      const http = yield* HttpClientNode.make(limits).pipe(Effect.provide(Layer.merge(outbound, OutputsMemory.layer)))
      const fiber = yield* Effect.forkChild(
        Effect.flip(http.run(inputFor({ url: "https://a.example/", timeout: 12 })))
      )
      yield* TestClock.adjust("11999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)
      assert.include(error.message, "no complete answer within 12 s")
      assert.isTrue(error._tag === "RequestFailed" && error.retryable)
      assert.strictEqual(times.length, 0)
    }))
})

describe("http_client", () => {
  const setup = Effect.gen(function*() {
    const server = yield* localServer((incoming, response, body) => {
      const url = new URL(incoming.url ?? "", "http://x")
      const give = (type: string, content: string | Uint8Array, status = 200) =>
        response.writeHead(status, { "content-type": type, "set-cookie": "s=1", "x-secret": "s", etag: "e" }).end(
          content
        )
      switch (url.pathname) {
        case "/json":
          return give("application/problem+json; charset=utf-8", "{\"a\":[1]}")
        case "/notjson":
          return give("application/json", "{oops")
        case "/text":
          return give("text/plain", "{\"a\":1}")
        case "/latin":
          return give("text/plain; charset=ISO-8859-1", Uint8Array.from([0x63, 0x61, 0x66, 0xe9]))
        case "/binary":
          return give("image/png", Uint8Array.from([0x89, 0x50, 0, 255]))
        case "/big":
          return give("text/plain", "x".repeat(50_000))
        case "/empty":
          return response.writeHead(204).end()
        case "/fails":
          return give("application/json", "{\"error\":\"no such user\"}", 404)
        default:
          return give("application/json", JSON.stringify({ method: incoming.method, url: incoming.url, body }))
      }
    })
    const outputs = yield* Outputs
    const http = yield* HttpClientNode.make(limits)
    const run = (path: string, config: Schema.JsonObject = {}, more: Partial<PrimitiveInput> = {}) =>
      http.run(inputFor({ url: `${server.url}${path}`, private_hosts: [server.host], ...config }, more))
    return { server, outputs, http, run }
  })

  const test = (name: string, body: (parts: Effect.Success<typeof setup>) => Effect.Effect<void, unknown>) =>
    it.live(name, () =>
      Effect.flatMap(setup, body).pipe(
        Effect.provide(Layer.provideMerge(Layer.effect(Outbound, OutboundNode.make({})), OutputsMemory.layer)),
        Effect.scoped
      ))

  test("answers with data by content type, or as declared", ({ outputs, run }) =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* run("/json")).data, { a: [1] })
      assert.strictEqual((yield* run("/notjson")).data, "{oops")
      assert.strictEqual((yield* Effect.flip(run("/notjson", { output: "json" })))._tag, "ToolOutputInvalid")
      assert.strictEqual((yield* run("/text")).data, "{\"a\":1}")
      assert.deepStrictEqual((yield* run("/text", { output: "json" })).data, { a: 1 })
      assert.strictEqual((yield* run("/json", { output: "text" })).data, "{\"a\":[1]}")
      assert.strictEqual((yield* run("/latin")).data, "café")
      assert.isNull((yield* run("/empty")).data)
      const { data } = yield* run("/binary")
      assert.isTrue(typeof data === "object" && data !== null && "output" in data)
      const id = outputId(String((data as { readonly output: string }).output)) ?? ""
      assert.deepStrictEqual([...(yield* outputs.read(id, { offset: 0, length: 10 })).bytes], [0x89, 0x50, 0, 255])
    }))

  test("keeps a long answer and returns its head and tail", ({ run }) =>
    Effect.gen(function*() {
      const { data, metadata } = yield* run("/big")
      assert.isBelow(String(data).length, 12_000)
      assert.isDefined(metadata.body?.spilled)
    }))

  test("only 2xx is success; a failure holds what the server said", ({ run }) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run("/fails"))
      assert.deepStrictEqual(error._tag === "ToolFailed" && [error.how, error.output], [
        "HTTP 404",
        "{\"error\":\"no such user\"}"
      ])
    }))

  test("shows few headers, and none that holds a credential", ({ run }) =>
    Effect.gen(function*() {
      const { metadata } = yield* run("/text")
      assert.strictEqual(metadata.headers?.["etag"], "e")
      assert.isUndefined(metadata.headers?.["set-cookie"])
      assert.isUndefined(metadata.headers?.["x-secret"])
    }))

  test("sends any JSON value as a body, with its type", ({ run, server }) =>
    Effect.gen(function*() {
      for (const body of [{}, [], 0, false, null, { a: 1 }] as const) {
        yield* run("/", { method: "POST", body })
        assert.deepStrictEqual([server.seen.at(-1)?.body, server.seen.at(-1)?.headers["content-type"]], [
          JSON.stringify(body),
          "application/json"
        ])
      }
      yield* run("/", { method: "PUT", body: "plain é" })
      assert.deepStrictEqual([server.seen.at(-1)?.body, server.seen.at(-1)?.headers["content-type"]], [
        "plain é",
        "text/plain; charset=utf-8"
      ])
      yield* run("/", { method: "POST", body: "<a/>", headers: { "Content-Type": "application/xml" } })
      assert.strictEqual(server.seen.at(-1)?.headers["content-type"], "application/xml")
      yield* run("/", { method: "POST", form: { a: "b c&d", list: [1, 2], none: null } })
      assert.strictEqual(server.seen.at(-1)?.body, "a=b+c%26d&list=1&list=2")
      yield* run("/")
      assert.isUndefined(server.seen.at(-1)?.headers["content-type"])
    }))

  test("adds queries to the url's own", ({ run, server }) =>
    Effect.gen(function*() {
      yield* run("/p?x=1", { query: { q: "a&b=c #", list: [1, true], none: null } })
      assert.strictEqual(server.seen.at(-1)?.url, "/p?x=1&q=a%26b%3Dc+%23&list=1&list=true")
    }))

  test("sends parameters as the config says, and those only that it did not place", ({ run, server }) =>
    Effect.gen(function*() {
      const parameters = { id: 7, tag: ["a", "b"] }
      const placed = new Set(["id"])
      yield* run("/7", { input: "query" }, { parameters, placed })
      assert.strictEqual(server.seen.at(-1)?.url, "/7?tag=a&tag=b")
      yield* run("/7", { method: "POST", input: "body" }, { parameters, placed })
      assert.strictEqual(server.seen.at(-1)?.body, "{\"tag\":[\"a\",\"b\"]}")
      yield* run("/7", {}, { parameters })
      assert.strictEqual(server.seen.at(-1)?.url, "/7")
      const error = yield* Effect.flip(run("/", { input: "query" }, { parameters: { deep: { a: 1 } } }))
      assert.strictEqual(error._tag, "ParametersUnpassable")
    }))

  test("authenticates by bearer, key and basic", ({ run, server }) =>
    Effect.gen(function*() {
      yield* run("/", { auth: { type: "bearer", token: "t" } })
      assert.strictEqual(server.seen.at(-1)?.headers.authorization, "Bearer t")
      yield* run("/", { auth: { type: "api_key", key: "k" } })
      assert.strictEqual(server.seen.at(-1)?.headers["x-api-key"], "k")
      yield* run("/", { auth: { type: "api_key", key: "k", header: "X-Other" } })
      assert.strictEqual(server.seen.at(-1)?.headers["x-other"], "k")
      yield* run("/", { auth: { type: "basic", username: "é", password: "p:q" } })
      assert.strictEqual(
        server.seen.at(-1)?.headers.authorization,
        `Basic ${Buffer.from("é:p:q").toString("base64")}`
      )
    }))

  test("refuses config that would make one request into another", ({ run, server }) =>
    Effect.gen(function*() {
      const bad: ReadonlyArray<Schema.JsonObject> = [
        { headers: { "X-A": "1\r\nX-B: 2" } },
        { headers: { "X A": "1" } },
        { headers: { Host: "evil.example" } },
        { headers: { "Transfer-Encoding": "chunked" } },
        { headers: { "Content-Length": "0" } },
        { headers: { "X-A": "1", "x-a": "2" } },
        { auth: { type: "bearer", token: "a\nb" } },
        { auth: { type: "api_key", key: "k", header: "a b" } },
        { body: { a: 1 } },
        { method: "POST", body: 1, form: {} },
        { method: "TRACE" },
        { url: "/relative" },
        { timeout: 0 },
        { retry: { max_attempts: 100 } }
      ]
      for (const config of bad) {
        const error = yield* Effect.flip(run("/", config))
        assert.strictEqual(error._tag, "PrimitiveConfigInvalid", JSON.stringify(config))
      }
      assert.strictEqual(server.seen.length, 0)
    }))

  test("a call cannot fill a grant", ({ http, server }) =>
    Effect.gen(function*() {
      const config = { url: `${server.url}/`, private_hosts: [server.host] }
      const error = yield* Effect.flip(
        http.run(inputFor(config, { signed: { url: "{url}", private_hosts: ["{host}"] } }))
      )
      assert.strictEqual(error._tag, "PrimitiveConfigInvalid")
      const without = yield* Effect.flip(http.run(inputFor(config, { signed: { url: "{url}" } })))
      assert.strictEqual(without._tag, "RequestRefused")
      assert.strictEqual(server.seen.length, 0)
    }))

  test("an answer that comes drop by drop ends with the timeout", ({ http }) =>
    Effect.scoped(Effect.gen(function*() {
      const slow = yield* rawServer((socket) => {
        socket.once("data", () => {
          socket.write("HTTP/1.1 200 OK\r\n")
          const timer = setInterval(() => socket.write("x: y\r\n"), 20)
          socket.on("close", () => clearInterval(timer))
        })
      })
      const error = yield* Effect.flip(
        http.run(inputFor({ url: slow.url, private_hosts: [slow.host], timeout: 0.2 }))
      )
      assert.include(error.message, "within 0.2 s")
    })))

  test("an answer beyond the cap is a failure", ({ http }) =>
    Effect.scoped(Effect.gen(function*() {
      const endless = yield* localServer((_request, response) => response.end("x".repeat(1_000_001)))
      const error = yield* Effect.flip(http.run(inputFor({ url: endless.url, private_hosts: [endless.host] })))
      assert.include(error.message, "larger than")
    })))
})
