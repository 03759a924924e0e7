// Certificates: a real server, a private authority, and real processes for what only an environment can say.
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { execFileSync, spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import type { Outbound, OutboundRequest } from "../../../src/services/outbound/Outbound.ts"
import { compiled } from "../../support/compiled.ts"
import { describeWith } from "../../support/realParts.ts"

const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", [...args], { stdio: "ignore" })

const listening = (server: Net.Server) =>
  Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () => Effect.sync(() => server.close())
  )

/** An authority of its own, and a server for `localhost` with a certificate of that authority. */
const world = Effect.gen(function*() {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-tls-"))),
    (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true }))
  )
  const file = (name: string) => Path.join(folder, name)
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
  openssl(
    "req",
    "-x509",
    ...ec,
    "-days",
    "2",
    "-subj",
    "/CN=Private CA",
    "-keyout",
    file("ca.key"),
    "-out",
    file("ca.pem")
  )
  openssl("req", ...ec, "-subj", "/CN=localhost", "-keyout", file("key.pem"), "-out", file("request.pem"))
  Fs.writeFileSync(file("names"), "subjectAltName=DNS:localhost\n")
  openssl(
    "x509",
    "-req",
    "-in",
    file("request.pem"),
    "-CA",
    file("ca.pem"),
    "-CAkey",
    file("ca.key"),
    "-days",
    "2",
    "-extfile",
    file("names"),
    "-out",
    file("cert.pem")
  )
  const server = Https.createServer({
    key: Fs.readFileSync(file("key.pem")),
    cert: Fs.readFileSync(file("cert.pem"))
  }, (_request, response) => response.end("secure"))
  const port = yield* listening(server)
  yield* Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
  return { folder, ca: file("ca.pem"), pem: Fs.readFileSync(file("ca.pem"), "utf8"), port }
})

const text = (outbound: Outbound["Service"], url: string, privateHosts: ReadonlyArray<string>) =>
  Effect.scoped(Effect.gen(function*() {
    const asked: OutboundRequest = { method: "GET", url, headers: {}, body: undefined, privateHosts, maxBytes: 1_000 }
    const response = yield* outbound.send(asked)
    return Buffer.concat(yield* Stream.runCollect(response.body)).toString("utf8")
  }))

const loopback = () => Effect.succeed([{ address: "127.0.0.1", family: 4 as const }])

/** What a process with this environment says when it asks the server. */
const inProcess = (port: number, env: Record<string, string>) =>
  Effect.promise(() => {
    const source = new URL("../../../src/layers/outbound/", import.meta.url).href
    const script = `
      import { Effect, Stream } from "effect"
      import { layer } from ${JSON.stringify(`${source}OutboundNode.ts`)}
      import { Outbound } from ${
      JSON.stringify(new URL("../../../src/services/outbound/Outbound.ts", import.meta.url).href)
    }
      const url = "https://localhost:${port}/"
      const ask = Effect.scoped(Effect.gen(function*() {
        const outbound = yield* Outbound
        const asked = { method: "GET", url, headers: {}, body: undefined, privateHosts: ["localhost:${port}"], maxBytes: 1000 }
        const response = yield* outbound.send(asked)
        return Buffer.concat(yield* Stream.runCollect(response.body)).toString("utf8")
      }))
      const done = await Effect.runPromise(Effect.result(Effect.provide(ask, layer)))
      process.stdout.write(done._tag === "Success" ? done.success : done.failure.message)
      process.exit(0)`
    return new Promise<string>((resolve) => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
        cwd: new URL("../../../", import.meta.url).pathname,
        env: { PATH: process.env["PATH"] ?? "", ...compiled, ...env },
        stdio: ["ignore", "pipe", "ignore"]
      })
      let said = ""
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => said += chunk)
      child.on("close", () => resolve(said.trim().split("\n").at(-1) ?? ""))
    })
  })

describeWith(["openssl"], "Outbound over TLS", () => {
  it.live("believes the authorities that it was given, and no other", () =>
    Effect.gen(function*() {
      const { pem, port } = yield* world
      const get = (options: OutboundNode.OutboundOptions, host: string) =>
        Effect.flatMap(
          OutboundNode.make({ resolve: loopback, ...options }),
          (outbound) => text(outbound, `https://${host}:${port}/`, [`localhost:${port}`, `other.example:${port}`])
        )
      assert.strictEqual(yield* get({ ca: pem }, "localhost"), "secure")
      assert.include((yield* Effect.flip(get({}, "localhost"))).message, "not signed by a known authority")
      assert.include((yield* Effect.flip(get({ ca: pem }, "other.example"))).message, "for another host")
    }))

  it.live("takes further authorities from NODE_EXTRA_CA_CERTS and SSL_CERT_FILE", () =>
    Effect.gen(function*() {
      const { ca, folder, port } = yield* world
      assert.strictEqual(yield* inProcess(port, { NODE_EXTRA_CA_CERTS: ca }), "secure")
      assert.strictEqual(yield* inProcess(port, { SSL_CERT_FILE: ca }), "secure")
      assert.include(yield* inProcess(port, {}), "not signed by a known authority")
      const unreadable = yield* inProcess(port, { SSL_CERT_FILE: Path.join(folder, "none.pem") })
      assert.include(unreadable, "not signed by a known authority")
    }))

  it.live("judges the server's certificate through a proxy's tunnel too", () =>
    Effect.gen(function*() {
      const { pem, port } = yield* world
      const asked: Array<string> = []
      const proxy = Http.createServer()
      const sockets = new Set<Net.Socket>()
      proxy.on("connect", (incoming, socket) => {
        asked.push(`${incoming.url} ${incoming.headers["proxy-authorization"]}`)
        const onward = Net.connect(port, "127.0.0.1", () => {
          socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
          socket.pipe(onward)
          onward.pipe(socket)
        })
        sockets.add(onward)
        onward.on("error", () => socket.destroy())
        socket.on("error", () => onward.destroy())
      })
      const proxyPort = yield* listening(proxy)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          sockets.forEach((socket) => socket.destroy())
          proxy.closeAllConnections()
        })
      )
      const address = `http://me:word@127.0.0.1:${proxyPort}`
      const get = (options: OutboundNode.OutboundOptions, host: string) =>
        Effect.flatMap(
          OutboundNode.make({
            ...options,
            proxy: { http: address, https: address, except: [] },
            // Not known here: the proxy's to look up.
            resolve: () => Effect.fail({ code: "ENOTFOUND" })
          }),
          (outbound) => text(outbound, `https://${host}/`, [])
        )
      assert.strictEqual(yield* get({ ca: pem }, "localhost"), "secure")
      assert.include((yield* Effect.flip(get({}, "localhost"))).message, "not signed by a known authority")
      assert.include((yield* Effect.flip(get({ ca: pem }, "other.example"))).message, "for another host")
      assert.strictEqual(asked[0], `localhost:443 Basic ${Buffer.from("me:word").toString("base64")}`)
    }))
})
