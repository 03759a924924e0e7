// oxlint-disable typescript/no-explicit-any -- a tool answers any JSON, and each assertion says what it is
// http.fetch: which server it asks for, what it sends, and that no redirect gets around that.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import * as HttpFetch from "../../../src/layers/primitive/builtin/httpFetch.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import * as SettingsMemory from "../../../src/layers/settings/SettingsMemory.ts"
import { showAccess } from "../../../src/services/capability/Access.ts"
import { Outbound } from "../../../src/services/outbound/Outbound.ts"
import { localServer } from "../../support/localServer.ts"
import { inWorld } from "../filesystem/fileWorld.ts"
import { inputFor } from "./inputs.ts"

describe("http.fetch asks about", () => {
  const cases: ReadonlyArray<readonly [url: string, access: string]> = [
    ["https://api.github.com/repos", "net.http(api.github.com:443)"],
    ["http://EXAMPLE.com:8080/", "net.http(example.com:8080)"],
    ["https://example.com./", "net.http(example.com:443)"],
    ["https://example.com:443/@evil.com", "net.http(example.com:443)"],
    ["https://evil.com#@example.com", "net.http(evil.com:443)"],
    ["https://evil.com?@example.com", "net.http(evil.com:443)"],
    ["https://evil.com\\@example.com", "net.http(evil.com:443)"],
    ["https:evil.com", "net.http(evil.com:443)"],
    ["http://134744072/", "net.http(8.8.8.8:80)"],
    ["http://[2606:4700::1111]:3000/", "net.http(2606:4700::1111:3000)"],
    ["https://localhost.example.com/", "net.http(localhost.example.com:443)"],
    ["https://notlocalhost/", "net.http(notlocalhost:443)"],
    ["https://еxample.com/", "net.http(xn--xample-2of.com:443)"],
    ["https://ｅxample.com/", "net.http(example.com:443)"]
  ]
  for (const [url, access] of cases) {
    it.effect(
      url,
      () =>
        inWorld({ denies: ({ _tag }) => _tag === "Host" }, ({ asked, refused }) =>
          Effect.gen(function*() {
            assert.strictEqual((yield* refused("http.fetch", { url }))._tag, "PermissionDenied")
            assert.deepStrictEqual(asked(), [access])
          }))
    )
  }
})

describe("http.fetch asks nobody about what it never reaches", () => {
  for (
    const host of [
      "localhost",
      "LOCALHOST:3000",
      "localhost.",
      "a.localhost",
      "127.0.0.1:8080",
      "0x7f.1",
      "2130706433",
      "0",
      "[::1]:3000",
      "[::ffff:127.0.0.1]",
      "[::]",
      "10.0.0.1",
      "192.168.1.1",
      "169.254.169.254",
      "[fe80::1]",
      "[fd00::1]"
    ]
  ) {
    it.effect(
      host,
      () =>
        inWorld({ denies: ({ _tag }) => _tag === "Host" }, ({ asked, refused }) =>
          Effect.gen(function*() {
            assert.strictEqual((yield* refused("http.fetch", { url: `http://${host}/` }))._tag, "RequestRefused")
            assert.deepStrictEqual(asked(), [])
          }))
    )
  }
})

describe("http.fetch", () => {
  it.effect("returns status, headers that are harmless, and JSON as data", () =>
    inWorld({
      network: ({ method, url }) =>
        Effect.succeed({
          status: 404,
          headers: { "content-type": "application/json", "set-cookie": "a=b" },
          body: JSON.stringify({ method, url })
        })
    }, ({ run }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(
          yield* run("http.fetch", { url: "https://a.example/x", method: "POST", body: { a: 1 } }),
          {
            status: 404,
            origin: "https://a.example",
            content_type: "application/json",
            body: { method: "POST", url: "https://a.example/x" }
          }
        )
      })))

  it.effect("runs without an engine, at the level sandboxed", () =>
    inWorld({ network: () => Effect.succeed({ body: "hello" }) }, ({ run }) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* run("http.fetch", { url: "https://a.example/" })).body, "hello")
      })))

  it.effect("keeps what is not text", () =>
    inWorld({
      network: () => Effect.succeed({ headers: { "content-type": "image/png" }, body: Uint8Array.from([1, 2, 255]) })
    }, ({ run }) =>
      Effect.gen(function*() {
        const answer = yield* run("http.fetch", { url: "https://a.example/" })
        assert.strictEqual(answer.content_type, "image/png")
      })))

  for (
    const [what, parameters] of [
      ["another scheme", { url: "file:///etc/passwd" }],
      ["a user name", { url: "https://user:word@a.example/" }],
      ["this machine", { url: "http://127.0.0.1:1/" }],
      ["this machine by another spelling", { url: "http://[::ffff:127.0.0.1]:1/" }],
      ["the metadata service", { url: "http://169.254.169.254/latest/" }],
      ["the private network", { url: "http://10.0.0.1/" }],
      ["no URL", { url: "a.example" }],
      ["a header with a newline", { url: "https://a.example/", headers: { a: "b\r\nc: d" } }],
      ["a Host header", { url: "https://a.example/", headers: { host: "b.example" } }],
      ["a body for GET", { url: "https://a.example/", body: "x" }]
    ] as const
  ) {
    it.effect(`refuses ${what}`, () =>
      inWorld({}, ({ refused }) =>
        Effect.gen(function*() {
          const { _tag, remediation } = yield* refused("http.fetch", parameters as any)
          assert.include(["RequestRefused", "BuiltinFailed"], _tag)
          assert.notInclude(remediation, "private_hosts: [")
        })))
  }
})

/** Outbound that may reach loopback: redirects happen between real servers. */
const overLoopback = (hosts: ReadonlyArray<string>) =>
  Effect.map(
    OutboundNode.make({}),
    (real) => Outbound.of({ ...real, send: (request) => real.send({ ...request, privateHosts: hosts }) })
  )

describe("a redirect of http.fetch", () => {
  const run = (url: string, hosts: ReadonlyArray<string>, may: (access: string) => boolean, asked: Array<string>) =>
    Effect.gen(function*() {
      const outbound = yield* overLoopback(hosts)
      return yield* Effect.result(
        HttpFetch.handlers.http_fetch.run({
          ...inputFor({}),
          parameters: { url },
          mayAlso: (access) =>
            Effect.sync(() => {
              asked.push(showAccess(access))
              return may(showAccess(access)) ? "allowed" : "asked"
            })
        }).pipe(Effect.provideService(Outbound, outbound))
      )
    }).pipe(Effect.provide([OutputsMemory.layer, SettingsMemory.layerWith({})]))

  it.live("to another server is asked about, and refused by name if it is not allowed", () =>
    Effect.gen(function*() {
      const other = yield* localServer((_, response) => response.end("secret"))
      const first = yield* localServer((_, response) => response.writeHead(302, { location: `${other.url}/x` }).end())
      const hosts = [first.host, other.host]
      const asked: Array<string> = []
      const refused: any = yield* run(first.url, hosts, () => false, asked)
      assert.deepStrictEqual(asked, [`net.http(${other.host})`])
      assert.strictEqual(refused.failure._tag, "RequestRefused")
      assert.include(refused.failure.message, other.host)
      assert.lengthOf(other.seen, 0)
      const allowed: any = yield* run(first.url, hosts, () => true, [])
      assert.strictEqual(allowed.success.data.body, "secret")
    }))

  it.live("within its server needs no question", () =>
    Effect.gen(function*() {
      const server = yield* localServer((request, response) =>
        request.url === "/end" ? response.end("there") : response.writeHead(307, { location: "/end" }).end()
      )
      const asked: Array<string> = []
      const answer: any = yield* run(`${server.url}/start`, [server.host], () => false, asked)
      assert.strictEqual(answer.success.data.body, "there")
      assert.deepStrictEqual(asked, [])
    }))
})
