import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Scope, Stream } from "effect"
import * as Http from "node:http"
import * as Net from "node:net"
import * as Zlib from "node:zlib"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import { proxyFor, proxyFromEnvironment } from "../../../src/layers/outbound/proxyChoice.ts"
import type { Outbound, OutboundRequest } from "../../../src/services/outbound/Outbound.ts"
import { localServer, rawServer } from "../../support/localServer.ts"

const request = (url: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
  method: "GET",
  url,
  headers: {},
  body: undefined,
  privateHosts: [],
  maxBytes: 1_000_000,
  ...more
})

const text = (outbound: Outbound["Service"], asked: OutboundRequest) =>
  Effect.scoped(Effect.gen(function*() {
    const response = yield* outbound.send(asked)
    const chunks = yield* Stream.runCollect(response.body)
    return { ...response, text: Buffer.concat(chunks).toString("utf8") }
  }))

const at = (address: string) => () =>
  Effect.succeed([{ address, family: Net.isIP(address) === 6 ? 6 as const : 4 as const }])

describe("Outbound", () => {
  it.live("refuses every spelling of an address that is not public, before any connection", () =>
    Effect.gen(function*() {
      const server = yield* localServer((_request, response) => response.end("inside"))
      const outbound = yield* OutboundNode.make({})
      const { port } = server
      const urls = [
        `http://127.0.0.1:${port}/`,
        `http://localhost:${port}/`,
        `http://localhost.:${port}/`,
        `http://127.1:${port}/`,
        `http://2130706433:${port}/`,
        `http://0x7f000001:${port}/`,
        `http://0177.0.0.1:${port}/`,
        `http://0.0.0.0:${port}/`,
        `http://0:${port}/`,
        `http://[::1]:${port}/`,
        `http://[::]:${port}/`,
        `http://[::ffff:127.0.0.1]:${port}/`,
        `http://[64:ff9b::7f00:1]:${port}/`,
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://[fe80::1]/"
      ]
      for (const url of urls) {
        const error = yield* Effect.flip(text(outbound, request(url)))
        assert.strictEqual(error._tag, "OutboundRefused", url)
        if (url.includes("127.0.0.1")) assert.include(error.remediation, "private_hosts")
      }
      assert.strictEqual(server.seen.length, 0)
    }))

  it.live("refuses other schemes and credentials in the url", () =>
    Effect.gen(function*() {
      const outbound = yield* OutboundNode.make({ resolve: () => Effect.die("looked up") })
      for (
        const url of ["file:///etc/passwd", "ftp://a.example/", "gopher://a.example/", "https://u:p@a.example/", "x"]
      ) {
        const error = yield* Effect.flip(text(outbound, request(url)))
        assert.strictEqual(error._tag, "OutboundRefused", url)
        assert.notInclude(error.message, "u:p")
      }
    }))

  it.live("judges a name by the address that it has", () =>
    Effect.gen(function*() {
      const server = yield* localServer((_request, response) => response.end("inside"))
      const outbound = yield* OutboundNode.make({ resolve: at("127.0.0.1") })
      const error = yield* Effect.flip(text(outbound, request(`http://innocent.example:${server.port}/`)))
      assert.strictEqual(error._tag, "OutboundRefused")
      assert.strictEqual(server.seen.length, 0)
    }))

  it.live("connects to the address that was judged, not to a later answer", () =>
    Effect.gen(function*() {
      const server = yield* localServer((_request, response) => response.end("pinned"))
      let asked = 0
      const outbound = yield* OutboundNode.make({
        resolve: () =>
          Effect.sync(() => [{ address: asked++ === 0 ? "127.0.0.1" : "10.255.255.1", family: 4 as const }])
      })
      const host = `rebind.example:${server.port}`
      const answer = yield* text(outbound, request(`http://${host}/`, { privateHosts: [host] }))
      assert.deepStrictEqual([answer.text, asked], ["pinned", 1])
    }))

  it.live("a grant opens one host and port, and no other", () =>
    Effect.gen(function*() {
      const server = yield* localServer((_request, response) => response.end("hello"))
      const other = yield* localServer((_request, response) => response.end("other"))
      const outbound = yield* OutboundNode.make({})
      const privateHosts = [server.host]
      assert.strictEqual((yield* text(outbound, request(server.url, { privateHosts }))).text, "hello")
      for (const url of [other.url, `http://localhost:${server.port}/`]) {
        assert.strictEqual((yield* Effect.flip(text(outbound, request(url, { privateHosts }))))._tag, "OutboundRefused")
      }
      // Nor is the connection left for a tool without the grant.
      assert.strictEqual((yield* Effect.flip(text(outbound, request(server.url))))._tag, "OutboundRefused")
      assert.strictEqual(other.seen.length, 0)
    }))

  it.live("a granted name does not reach where clouds keep credentials", () =>
    Effect.gen(function*() {
      for (const address of ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"]) {
        const outbound = yield* OutboundNode.make({ resolve: at(address) })
        const error = yield* Effect.flip(
          text(outbound, request("http://db.example:80/", { privateHosts: ["db.example:80"] }))
        )
        assert.strictEqual(error._tag, "OutboundRefused", address)
      }
    }))

  it.live("a name that rebinds between two requests, or by a redirect, is judged each time", () =>
    Effect.gen(function*() {
      const inner = yield* localServer((_request, response) => response.end("inside"))
      const start = yield* localServer((_request, response) =>
        response.writeHead(302, { location: `http://rebind.example:${inner.port}/` }).end()
      )
      let asked = 0
      const outbound = yield* OutboundNode.make({
        resolve: () => Effect.sync(() => [{ address: asked++ === 0 ? "192.0.2.1" : "127.0.0.1", family: 4 as const }])
      })
      for (const url of [`http://rebind.example:${inner.port}/`, `http://rebind.example:${inner.port}/`, start.url]) {
        const error = yield* Effect.flip(text(outbound, request(url, { privateHosts: [start.host] })))
        assert.strictEqual(error._tag, "OutboundRefused", url)
      }
      assert.strictEqual(inner.seen.length, 0)
    }))

  it.live("of a name with several addresses only the public ones are tried", () =>
    Effect.gen(function*() {
      const inner = yield* localServer((_request, response) => response.end("inside"))
      const outbound = yield* OutboundNode.make({
        resolve: () =>
          Effect.succeed([{ address: "127.0.0.1", family: 4 as const }, {
            address: "255.255.255.255",
            family: 4 as const
          }])
      })
      const error = yield* Effect.flip(text(outbound, request(`http://mixed.example:${inner.port}/`)))
      assert.strictEqual(error._tag, "OutboundRefused")
      assert.strictEqual(inner.seen.length, 0)
    }))

  it.live("never reaches a port that Kiwi serves, whatever is granted", () =>
    Effect.gen(function*() {
      const server = yield* localServer((_request, response) => response.end("me"))
      const outbound = yield* OutboundNode.make({})
      const scope = yield* Scope.make()
      yield* outbound.reserve(server.port).pipe(Scope.provide(scope))
      const asked = request(server.url, { privateHosts: [server.host] })
      const error = yield* Effect.flip(text(outbound, asked))
      assert.include(error.message, "Kiwi itself")
      assert.strictEqual(server.seen.length, 0)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* text(outbound, asked)).text, "me")
    }))

  describe("redirects", () => {
    const secret = { authorization: "Bearer s", cookie: "c=1", "x-api-key": "k", accept: "text/plain" }

    it.live("carry no credentials to another origin, and keep them within one", () =>
      Effect.gen(function*() {
        const target = yield* localServer((_request, response) => response.end("there"))
        const server = yield* localServer((incoming, response) => {
          if (incoming.url === "/end") response.end("here")
          else response.writeHead(302, { location: incoming.url === "/same" ? "/end" : `${target.url}/x` }).end()
        })
        const outbound = yield* OutboundNode.make({})
        const privateHosts = [server.host, target.host]
        const away = yield* text(outbound, request(`${server.url}/away`, { headers: secret, privateHosts }))
        assert.deepStrictEqual([away.text, away.origin], ["there", target.url])
        const got = target.seen[0]?.headers ?? {}
        assert.deepStrictEqual([got.authorization, got.cookie, got["x-api-key"], got.accept], [
          undefined,
          undefined,
          undefined,
          "text/plain"
        ])
        yield* text(outbound, request(`${server.url}/same`, { headers: secret, privateHosts }))
        assert.strictEqual(server.seen.at(-1)?.headers.authorization, "Bearer s")
      }))

    it.live("take no body to another origin", () =>
      Effect.gen(function*() {
        const target = yield* localServer((_request, response) => response.end("got it"))
        const server = yield* localServer((_request, response) =>
          response.writeHead(307, { location: `${target.url}/` }).end()
        )
        const outbound = yield* OutboundNode.make({})
        const error = yield* Effect.flip(text(
          outbound,
          request(server.url, {
            method: "POST",
            body: Buffer.from("password"),
            privateHosts: [server.host, target.host]
          })
        ))
        assert.strictEqual(error._tag, "OutboundRefused")
        assert.strictEqual(target.seen.length, 0)
      }))

    it.live("change POST to GET as browsers do, and nothing else", () =>
      Effect.gen(function*() {
        const server = yield* localServer((incoming, response) => {
          if (incoming.url === "/end") response.end(incoming.method)
          else response.writeHead(Number(incoming.url?.slice(1)), { location: "/end" }).end()
        })
        const outbound = yield* OutboundNode.make({})
        const results: Array<string> = []
        for (const status of [301, 302, 303, 307, 308]) {
          for (const method of ["POST", "PUT"]) {
            const answer = yield* text(
              outbound,
              request(`${server.url}/${status}`, { method, body: Buffer.from("b"), privateHosts: [server.host] })
            )
            results.push(`${status} ${method} ${answer.text} ${server.seen.at(-1)?.body}`)
          }
        }
        assert.deepStrictEqual(results, [
          "301 POST GET ",
          "301 PUT PUT b",
          "302 POST GET ",
          "302 PUT PUT b",
          "303 POST GET ",
          "303 PUT GET ",
          "307 POST POST b",
          "307 PUT PUT b",
          "308 POST POST b",
          "308 PUT PUT b"
        ])
      }))

    it.live("are judged anew: scheme, address, credentials", () =>
      Effect.gen(function*() {
        const inner = yield* localServer((_request, response) => response.end("inside"))
        const places = [
          "file:///etc/passwd",
          "http://169.254.169.254/",
          "http://u:p@a.example/",
          inner.url,
          "http://[::1]/"
        ]
        const server = yield* localServer((incoming, response) =>
          response.writeHead(302, { location: places[Number(incoming.url?.slice(1))] }).end()
        )
        const outbound = yield* OutboundNode.make({})
        for (const index of places.keys()) {
          const asked = request(`${server.url}/${index}`, { privateHosts: [server.host] })
          assert.strictEqual((yield* Effect.flip(text(outbound, asked)))._tag, "OutboundRefused", places[index])
        }
        assert.strictEqual(inner.seen.length, 0)
      }))

    it.live("end after ten", () =>
      Effect.gen(function*() {
        const server = yield* localServer((_request, response) => response.writeHead(302, { location: "/" }).end())
        const outbound = yield* OutboundNode.make({})
        const error = yield* Effect.flip(text(outbound, request(server.url, { privateHosts: [server.host] })))
        assert.include(error.message, "more than 10 times")
        assert.strictEqual(server.seen.length, 11)
      }))
  })

  describe("answers", () => {
    const encodings = [
      ["gzip", Zlib.gzipSync],
      ["deflate", Zlib.deflateSync],
      ["br", Zlib.brotliCompressSync],
      ["zstd", Zlib.zstdCompressSync]
    ] as const

    for (const [name, compress] of encodings) {
      it.live(`in ${name} are decoded, and a bomb is not`, () =>
        Effect.gen(function*() {
          const bomb = compress(Buffer.alloc(20_000_000))
          const server = yield* localServer((incoming, response) => {
            response.setHeader("content-encoding", name)
            response.end(incoming.url === "/bomb" ? bomb : compress(Buffer.from("plain")))
          })
          const outbound = yield* OutboundNode.make({})
          const privateHosts = [server.host]
          assert.strictEqual((yield* text(outbound, request(server.url, { privateHosts }))).text, "plain")
          assert.isBelow(bomb.length, 100_000)
          const error = yield* Effect.flip(text(outbound, request(`${server.url}/bomb`, { privateHosts })))
          assert.include(error.message, "larger than 1,000,000 bytes")
        }))
    }

    it.live("that are cut, malformed or too much in their heads are failures", () =>
      Effect.gen(function*() {
        const cases = [
          ["HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort", "closed early"],
          ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel", "closed early"],
          ["HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nplain", "malformed"],
          ["HTTP/1.1 200 OK\r\ncontent-encoding: rot13\r\ncontent-length: 1\r\n\r\nx", "unknown encoding"],
          [
            `HTTP/1.1 200 OK\r\n${"x-pad: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(2_000)}\r\n`,
            "more headers"
          ],
          [`HTTP/1.1 200 OK\r\n${"a:b\r\n".repeat(201)}\r\n`, "more headers"],
          ["SSH-2.0-OpenSSH_9\r\n", "malformed"],
          ["", "closed early"]
        ] as const
        const outbound = yield* OutboundNode.make({})
        for (const [bytes, issue] of cases) {
          const server = yield* rawServer((socket) => {
            socket.once("data", () => socket.end(bytes))
          })
          const error = yield* Effect.flip(text(outbound, request(server.url, { privateHosts: [server.host] })))
          assert.include(error.message, issue, bytes.slice(0, 60))
        }
      }))

    it.live("never hold set-cookie", () =>
      Effect.gen(function*() {
        const server = yield* localServer((_request, response) => {
          response.writeHead(200, { "set-cookie": ["a=1", "b=2"], etag: "x" }).end()
        })
        const outbound = yield* OutboundNode.make({})
        const { headers } = yield* text(outbound, request(server.url, { privateHosts: [server.host] }))
        assert.deepStrictEqual([headers.has("set-cookie"), headers.get("etag")], [false, "x"])
      }))

    it.live("nobody reads harm nobody when they break", () =>
      Effect.gen(function*() {
        const server = yield* rawServer((socket) => {
          socket.once("data", () => {
            socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx")
            setTimeout(() => socket.resetAndDestroy(), 20)
          })
        })
        const outbound = yield* OutboundNode.make({})
        yield* Effect.scoped(Effect.andThen(
          outbound.send(request(server.url, { privateHosts: [server.host] })),
          Effect.sleep(80)
        ))
      }))

    it.live("a request that is interrupted is cut off", () =>
      Effect.gen(function*() {
        let closed = false
        const server = yield* rawServer((socket) => socket.resume().on("close", () => (closed = true)))
        const outbound = yield* OutboundNode.make({})
        const done = yield* Effect.timeoutOption(
          text(outbound, request(server.url, { privateHosts: [server.host] })),
          50
        )
        assert.strictEqual(done._tag, "None")
        yield* Effect.sleep(50)
        assert.isTrue(closed)
      }))
  })

  describe("failures", () => {
    it.live("say whether the request may have been seen", () =>
      Effect.gen(function*() {
        const outbound = yield* OutboundNode.make({
          resolve: (host) => Effect.fail({ code: host.startsWith("later") ? "EAI_AGAIN" : "ENOTFOUND" })
        })
        const cut = yield* rawServer((socket) => socket.once("data", () => socket.resetAndDestroy()))
        const results: Array<unknown> = []
        for (const url of ["http://127.0.0.1:1/", cut.url, "http://gone.example/", "http://later.example/"]) {
          const error = yield* Effect.flip(text(outbound, request(url, { privateHosts: ["127.0.0.1:1", cut.host] })))
          results.push(error._tag === "OutboundFailed" ? [error.transient, error.sent] : error._tag)
        }
        assert.deepStrictEqual(results, [[true, false], [true, true], [false, false], [true, false]])
      }))
  })

  describe("proxy", () => {
    const environment = (values: Record<string, string>) =>
      proxyFromEnvironment.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: values }))))

    it.effect("is chosen as curl does", () =>
      Effect.gen(function*() {
        const settings = yield* environment({
          https_proxy: "http://p:1",
          HTTP_PROXY: "http://q:2",
          NO_PROXY: "internal.example, .corp.example,localhost:8080"
        })
        const chosen = (url: string) => proxyFor(new URL(url), settings)
        assert.strictEqual(chosen("https://a.example/"), "http://p:1")
        assert.strictEqual(chosen("http://a.example/"), "http://q:2")
        for (
          const url of [
            "https://internal.example/",
            "http://x.internal.example/",
            "http://corp.example/",
            "http://git.corp.example/",
            "http://localhost:8080/"
          ]
        ) assert.isUndefined(chosen(url), url)
        for (const url of ["http://notinternal.example/", "http://localhost:8081/"]) {
          assert.strictEqual(chosen(url), "http://q:2", url)
        }
        assert.isUndefined(proxyFor(new URL("http://a.example/"), yield* environment({})))
      }))

    it.effect("is left out for networks, ports and addresses", () =>
      Effect.gen(function*() {
        const settings = yield* environment({
          ALL_PROXY: "http://p:1",
          no_proxy: "10.0.0.0/8, 192.168.1.7:8080 fd00::/8,[::1]:9000,::2,*.wild.example,dotted.example.,,/,10.0.0.0/99"
        })
        const direct = [
          "http://10.1.2.3/",
          "https://10.255.255.255:8443/",
          "http://192.168.1.7:8080/",
          "http://[fd12::1]/",
          "http://[::1]:9000/",
          "http://[::2]/",
          "http://a.wild.example/",
          "http://dotted.example/",
          "http://dotted.example./"
        ]
        for (const url of direct) assert.isUndefined(proxyFor(new URL(url), settings), url)
        const proxied = [
          "http://11.1.2.3/",
          "http://192.168.1.7/",
          "http://192.168.1.8:8080/",
          "http://[fe80::1]/",
          "http://[::1]/",
          "http://x10.0.0.1.example/",
          "http://wildexample/"
        ]
        for (const url of proxied) assert.strictEqual(proxyFor(new URL(url), settings), "http://p:1", url)
        assert.isUndefined(
          proxyFor(new URL("https://a.example/"), yield* environment({ HTTPS_PROXY: "p", NO_PROXY: "*" }))
        )
      }))

    it.live("that is none is refused, not gone around", () =>
      Effect.gen(function*() {
        for (const proxy of ["socks5://127.0.0.1:1080", "http://", "ftp://p", "http://p:99999", "not a proxy"]) {
          const outbound = yield* OutboundNode.make({
            proxy: { http: proxy, https: proxy, except: [] },
            resolve: at("1.1.1.1")
          })
          for (const url of ["http://outside.example/", "https://outside.example/"]) {
            const error = yield* Effect.flip(text(outbound, request(url)))
            assert.strictEqual(error._tag, "OutboundRefused", proxy)
            assert.include(error.remediation, "_PROXY")
          }
        }
      }))

    it.live("gets the credentials that its address holds, and the server does not", () =>
      Effect.gen(function*() {
        const proxy = yield* localServer((incoming, response) => response.end(incoming.headers["proxy-authorization"]))
        for (const address of [`http://u:p%40@${proxy.host}`, `u:p%40@${proxy.host}`]) {
          const outbound = yield* OutboundNode.make({
            proxy: { http: address, https: undefined, except: [] },
            resolve: at("1.1.1.1")
          })
          const answer = yield* text(outbound, request("http://outside.example/x"))
          assert.strictEqual(answer.text, `Basic ${Buffer.from("u:p@").toString("base64")}`)
        }
        assert.isUndefined(proxy.seen[0]?.headers.authorization)
      }))

    it.live("carries requests to public hosts only, and none that is refused", () =>
      Effect.gen(function*() {
        const proxy = yield* localServer((incoming, response) => response.end(`proxied ${incoming.url}`))
        const inner = yield* localServer((_request, response) => response.end("inside"))
        const outbound = yield* OutboundNode.make({
          proxy: { http: proxy.url, https: proxy.url, except: [] },
          resolve: (host) =>
            host === "outside.example"
              ? Effect.succeed([{ address: "1.1.1.1", family: 4 }])
              : host === "inside.example"
              ? Effect.succeed([{ address: "10.0.0.1", family: 4 }])
              : Effect.fail({ code: "ENOTFOUND" })
        })
        const get = (url: string, privateHosts: ReadonlyArray<string> = []) =>
          text(outbound, request(url, { privateHosts }))
        assert.strictEqual((yield* get("http://outside.example/x")).text, "proxied http://outside.example/x")
        assert.strictEqual((yield* get("http://only-the-proxy-knows.example/")).status, 200)
        assert.strictEqual((yield* Effect.flip(get("http://inside.example/")))._tag, "OutboundRefused")
        assert.strictEqual((yield* Effect.flip(get(inner.url)))._tag, "OutboundRefused")
        assert.strictEqual((yield* get(inner.url, [inner.host])).text, "inside")
        assert.strictEqual(proxy.seen.length, 2)
      }))

    it.live("is asked for a tunnel where the request is https", () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const server = Http.createServer()
        server.on("connect", (incoming, socket) => {
          asked.push(incoming.url ?? "")
          socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n")
        })
        const port = yield* Effect.acquireRelease(
          Effect.callback<number>((resume) => {
            server.listen(0, "127.0.0.1", () => {
              const address = server.address()
              resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
            })
          }),
          () => Effect.sync(() => server.close())
        )
        const proxy = `http://127.0.0.1:${port}`
        const outbound = yield* OutboundNode.make({
          proxy: { http: proxy, https: proxy, except: [] },
          resolve: at("1.1.1.1")
        })
        const error = yield* Effect.flip(text(outbound, request("https://outside.example/")))
        assert.strictEqual(error._tag, "OutboundFailed")
        assert.deepStrictEqual(asked, ["outside.example:443"])
      }))
  })
})
