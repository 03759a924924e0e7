// What http_client sends and takes back beyond text and JSON, and how a tool says what is repeated.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, type Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Fs from "node:fs"
import * as Http from "node:http"
import * as Os from "node:os"
import * as Path from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import * as HttpClientNode from "../../../src/layers/primitive/HttpClientNode.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import { SafeFiles } from "../../../src/services/files/SafeFiles.ts"
import { Outbound, OutboundFailed } from "../../../src/services/outbound/Outbound.ts"
import { outputId, Outputs } from "../../../src/services/primitive/Outputs.ts"
import { inputFor } from "./inputs.ts"

const limits = { inline: 10_000, spill: 1_000_000, timeout: 30_000 }

const scripted = (
  config: Schema.JsonObject,
  answers: ReadonlyArray<OutboundMemory.MemoryAnswer | OutboundFailed | "hang">
) =>
  Effect.gen(function*() {
    const times: Array<number> = []
    const outbound = OutboundMemory.layerWith(() =>
      Effect.gen(function*() {
        const answer = answers[Math.min(times.length, answers.length - 1)]!
        times.push(yield* Clock.currentTimeMillis)
        if (answer === "hang") return yield* Effect.never
        return answer instanceof OutboundFailed ? yield* answer : answer
      })
    )
    const http = yield* HttpClientNode.make(limits).pipe(Effect.provide(Layer.merge(outbound, OutputsMemory.layer)))
    const fiber = yield* Effect.forkChild(Effect.result(http.run(inputFor({ url: "https://a.example/", ...config }))))
    yield* TestClock.adjust("2 hours")
    const result = yield* Fiber.join(fiber)
    return { result, waits: times.slice(1).map((time, i) => time - times[i]!), attempts: times.length }
  })

const failed = (kind: NonNullable<OutboundFailed["kind"]>) =>
  new OutboundFailed({ target: "https://a.example", issue: "it broke", transient: true, sent: true, kind })

describe("no retry on 429 and 5xx: retry as a tool says", () => {
  it.effect("waits as listed, the last one for all that follow", () =>
    Effect.gen(function*() {
      const { attempts, waits } = yield* scripted(
        { retry: { max_attempts: 5, backoff_ms: [250, 1_000, 3_000] } },
        [{ status: 503 }]
      )
      assert.strictEqual(attempts, 5)
      for (const [i, asked] of [250, 1_000, 3_000, 3_000].entries()) {
        assert.isTrue(waits[i]! >= asked && waits[i]! <= asked * 1.1, `${i}: ${waits[i]}`)
      }
    }))

  it.effect("as many times as waits are listed, where nothing else is said", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* scripted({ retry: { backoff_ms: [10] } }, [{ status: 503 }])).attempts, 2)
    }))

  it.effect("after the failures that are listed, and no others", () =>
    Effect.gen(function*() {
      const attempts = (retryable: ReadonlyArray<string>, answer: OutboundMemory.MemoryAnswer | OutboundFailed) =>
        Effect.map(scripted({ retry: { retryable_errors: [...retryable] } }, [answer]), (r) => r.attempts)
      assert.strictEqual(yield* attempts(["503_SERVICE_UNAVAILABLE"], { status: 503 }), 3)
      assert.strictEqual(yield* attempts(["503_SERVICE_UNAVAILABLE"], { status: 502 }), 1)
      assert.strictEqual(yield* attempts(["409"], { status: 409 }), 3)
      assert.strictEqual(yield* attempts(["CONNECTION_RESET"], failed("CONNECTION_RESET")), 3)
      assert.strictEqual(yield* attempts(["CONNECTION_RESET"], failed("STREAM_INCOMPLETE")), 1)
      assert.strictEqual(yield* attempts(["STREAM_INCOMPLETE", "TIMEOUT"], failed("STREAM_INCOMPLETE")), 3)
      assert.strictEqual(yield* attempts([], { status: 503 }), 1)
    }))

  it.effect("of its own method where it lists failures, of listed methods where it lists those", () =>
    Effect.gen(function*() {
      const attempts = (retry: Schema.JsonObject) =>
        Effect.map(scripted({ method: "POST", retry }, [failed("CONNECTION_RESET")]), (r) => r.attempts)
      assert.strictEqual(yield* attempts({}), 1)
      assert.strictEqual(yield* attempts({ retryable_errors: ["CONNECTION_RESET"] }), 3)
      assert.strictEqual(yield* attempts({ retryable_errors: ["CONNECTION_RESET"], methods: ["GET"] }), 1)
    }))

  it.effect("an attempt that hangs leaves time for another", () =>
    Effect.gen(function*() {
      const { attempts, result, waits } = yield* scripted(
        { retry: { attempt_timeout: 2, backoff_ms: [0] } },
        ["hang", { body: "ok" }]
      )
      assert.strictEqual(attempts, 2)
      assert.strictEqual(result._tag === "Success" && result.success.metadata.attempts, 2)
      assert.strictEqual(waits[0], 2_000)
      const all = yield* scripted({ timeout: 5, retry: { attempt_timeout: 2, backoff_ms: [0] } }, ["hang"])
      assert.include(all.result._tag === "Failure" ? all.result.failure.message : "", "after 2 attempt(s)")
      const post = yield* scripted({ method: "POST", retry: { attempt_timeout: 2 } }, ["hang"])
      assert.strictEqual(post.attempts, 1)
    }))

  it.effect("Retry-After counts above the list", () =>
    Effect.gen(function*() {
      const { waits } = yield* scripted({ retry: { backoff_ms: [10] } }, [
        { status: 429, headers: { "retry-after": "5" } },
        { body: "ok" }
      ])
      assert.deepStrictEqual(waits, [5_000])
    }))
})

/** A server that keeps the bytes it gets. */
const byteServer = Effect.gen(function*() {
  const seen: Array<{ readonly headers: Http.IncomingHttpHeaders; readonly bytes: Buffer }> = []
  const server = Http.createServer((incoming, response) => {
    const chunks: Array<Buffer> = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      seen.push({ headers: incoming.headers, bytes: Buffer.concat(chunks) })
      const { pathname } = new URL(incoming.url ?? "", "http://x")
      if (pathname === "/again" && seen.length === 1) return void response.writeHead(503).end()
      if (pathname === "/image") {
        return void response.writeHead(200, { "content-type": "image/png" }).end(Buffer.from([0x89, 0x50, 0xff, 0]))
      }
      response.writeHead(200, {
        "content-type": "application/json",
        "x-ratelimit-remaining": "41",
        "set-cookie": "s=1",
        "www-authenticate": "Basic"
      }).end(JSON.stringify({ items: [{ id: 7, name: "first" }], total: 1 }))
    })
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  return { seen, url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}` }
})

describe("http_client", () => {
  const setup = Effect.gen(function*() {
    const server = yield* byteServer
    const root = yield* Effect.acquireRelease(
      Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-http-")))),
      (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true }))
    )
    const { read } = yield* SafeFiles
    const http = yield* HttpClientNode.make({ ...limits, read })
    const run = (config: Schema.JsonObject, path = "/") => {
      const whole = { url: `${server.url}${path}`, private_hosts: [server.host], ...config }
      return http.run(inputFor(whole, { cwd: root }))
    }
    const send = (config: Schema.JsonObject, path = "/") => run({ method: "POST", ...config }, path)
    const parts = () =>
      Effect.promise(async () => {
        const { bytes, headers } = server.seen.at(-1)!
        const form = await new Response(Uint8Array.from(bytes), {
          headers: { "content-type": headers["content-type"] ?? "" }
        }).formData()
        return Promise.all([...form].map(async ([name, value]) =>
          typeof value === "string"
            ? [name, value]
            : [name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString("latin1")]
        ))
      })
    return { server, root, http, run, send, parts, outputs: yield* Outputs }
  })

  const test = (name: string, body: (world: Effect.Success<typeof setup>) => Effect.Effect<void, unknown>) =>
    it.live(name, () =>
      Effect.flatMap(setup, body).pipe(
        Effect.provide(Layer.mergeAll(
          Layer.effect(Outbound, OutboundNode.make({})),
          OutputsMemory.layer,
          SafeFilesNode.layer.pipe(Layer.provide(KiwiHomeMemory.layer))
        )),
        Effect.scoped
      ))

  test("sends raw bytes for base64", ({ send, server }) =>
    Effect.gen(function*() {
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
      yield* send({ body_base64: Buffer.from(bytes).toString("base64") })
      assert.deepStrictEqual([...server.seen[0]!.bytes], [...bytes])
      assert.strictEqual(server.seen[0]!.headers["content-type"], "application/octet-stream")
      yield* send({ body_base64: "", headers: { "Content-Type": "image/png" } })
      assert.deepStrictEqual([server.seen[1]!.bytes.length, server.seen[1]!.headers["content-type"]], [0, "image/png"])
      assert.strictEqual((yield* Effect.flip(send({ body_base64: "%" })))._tag, "PrimitiveConfigInvalid")
    }))

  test("sends fields and files as parts, and the same again", ({ parts, root, send, server }) =>
    Effect.gen(function*() {
      Fs.mkdirSync(Path.join(root, "docs"))
      Fs.writeFileSync(Path.join(root, "docs/ä b.bin"), Buffer.from([0, 255, 13, 10, 45, 45]))
      const multipart = [
        { name: "title", value: "é" },
        { name: "meta", value: { a: [1] }, content_type: "application/json", filename: "meta.json" },
        { name: "left out", value: null },
        { name: "data", base64: "AP8=", filename: "d.png", content_type: "image/png" },
        { name: "file", path: "docs/ä b.bin" }
      ]
      yield* send({ multipart, retry: { methods: ["POST"], backoff_ms: [0] } }, "/again")
      assert.strictEqual(server.seen.length, 2)
      assert.isTrue(server.seen[0]!.bytes.equals(server.seen[1]!.bytes))
      assert.deepStrictEqual(yield* parts(), [
        ["title", "é"],
        ["meta", "meta.json", "application/json", "{\"a\":[1]}"],
        ["data", "d.png", "image/png", "\0\xff"],
        ["file", "ä b.bin", "application/octet-stream", "\0\xff\r\n--"]
      ])
    }))

  test("sends no file that is a link, a key, too large, no file, or elsewhere", ({ root, send, server }) =>
    Effect.gen(function*() {
      Fs.writeFileSync(Path.join(root, ".env"), "SECRET=1")
      Fs.mkdirSync(Path.join(root, ".git"))
      Fs.writeFileSync(Path.join(root, ".git/config"), "x")
      Fs.mkdirSync(Path.join(root, "folder"))
      Fs.writeFileSync(Path.join(root, "big"), "")
      Fs.truncateSync(Path.join(root, "big"), 70_000_000)
      Fs.symlinkSync("/etc/hostname", Path.join(root, "link"))
      Fs.symlinkSync("/etc", Path.join(root, "etc"))
      Fs.symlinkSync(".env", Path.join(root, "innocent.txt"))
      const paths = [
        "link",
        "etc/hostname",
        "innocent.txt",
        ".env",
        ".git/config",
        "folder",
        "none",
        "big",
        "/etc/hostname",
        "../x"
      ]
      for (const path of paths) {
        const error = yield* Effect.flip(send({ multipart: [{ name: "f", path }] }))
        assert.strictEqual(error._tag, "UploadRefused", path)
        assert.notInclude(error.message, root)
      }
      assert.strictEqual(server.seen.length, 0)
    }))

  test("reads no files where it was given no way to", ({ server }) =>
    Effect.gen(function*() {
      const http = yield* HttpClientNode.make(limits)
      const config = {
        url: `${server.url}/`,
        private_hosts: [server.host],
        method: "POST",
        multipart: [{ name: "f", path: "a" }]
      }
      assert.strictEqual((yield* Effect.flip(http.run(inputFor(config))))._tag, "UploadRefused")
    }).pipe(Effect.provide(Layer.merge(OutboundMemory.layer, OutputsMemory.layer))))

  test("has one body, and sets the type of parts itself", ({ send, server }) =>
    Effect.gen(function*() {
      const multipart = [{ name: "a", value: "b" }]
      for (
        const config of [
          { multipart, body: 1 },
          { multipart, form: {} },
          { body_base64: "AA==", body: 1 },
          { multipart, input: "body" },
          { multipart, method: "GET" },
          { multipart, headers: { "Content-Type": "multipart/form-data" } }
        ]
      ) assert.strictEqual((yield* Effect.flip(send(config)))._tag, "PrimitiveConfigInvalid", JSON.stringify(config))
      assert.strictEqual(server.seen.length, 0)
    }))

  test("answers that are no text are kept as the bytes that they are", ({ outputs, run }) =>
    Effect.gen(function*() {
      const { data, metadata } = yield* run({}, "/image")
      assert.deepInclude(data, { content_type: "image/png", bytes: 4 })
      const kept = yield* outputs.read(outputId(metadata.body?.spilled ?? "") ?? "", { offset: 0, length: 9 })
      assert.deepStrictEqual([...kept.bytes], [0x89, 0x50, 0xff, 0])
    }))

  test("gives the part of an answer that the tool wants", ({ run }) =>
    Effect.gen(function*() {
      assert.strictEqual((yield* run({ response_path: "/items/0/name" })).data, "first")
      assert.strictEqual((yield* run({ response_path: "items.0.id" })).data, 7)
      assert.deepStrictEqual(
        (yield* run({ response_path: { name: "/items/0/name", of: "total" } })).data,
        { name: "first", of: 1 }
      )
    }))

  test("says which path an answer does not have, and what it has instead", ({ run }) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run({ response_path: "/items/0/title" }))
      assert.strictEqual(error._tag, "ResponsePathMissing")
      assert.strictEqual(
        error.message,
        "probe: the answer has no /items/0/title: /items/0 in the answer is an object with id, name"
      )
      const image = yield* Effect.flip(run({ response_path: "/a" }, "/image"))
      assert.strictEqual(image._tag, "ToolOutputInvalid")
      for (const path of ["", "a..b", "/~x"]) {
        assert.strictEqual((yield* Effect.flip(run({ response_path: path })))._tag, "PrimitiveConfigInvalid")
      }
    }))

  test("shows further headers that the signed config names, and no credentials", ({ http, run, server }) =>
    Effect.gen(function*() {
      const { metadata } = yield* run({ response_headers: ["X-RateLimit-Remaining"] })
      assert.strictEqual(metadata.headers?.["x-ratelimit-remaining"], "41")
      for (const name of ["set-cookie", "WWW-Authenticate", "authorization", "{header}", "a b"]) {
        assert.strictEqual((yield* Effect.flip(run({ response_headers: [name] })))._tag, "PrimitiveConfigInvalid")
      }
      const config = {
        url: `${server.url}/`,
        private_hosts: [server.host],
        response_headers: ["x-ratelimit-remaining"]
      }
      const filled = yield* Effect.flip(
        http.run(inputFor(config, { signed: { ...config, response_headers: ["{h}"] } }))
      )
      assert.strictEqual(filled._tag, "PrimitiveConfigInvalid")
    }))
})
