// Streamable HTTP, and everything that stands before it on every route: the Host that was bound, no foreign Origin, a
// bearer token, a bounded and admitted body, a bounded number of sessions. The protocol library has none of these.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Clock, Effect, Layer, Redacted, Schema } from "effect"
import type { Array as Arr } from "effect"
import { McpServer } from "effect/ai"
import type { McpProtocol } from "effect/ai"
import { HttpIncomingMessage, HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import type { Server } from "node:http"
import { isIP } from "node:net"
import { admit, maxMessageBytes, methodsOf } from "./admission.ts"
import type { ListGate } from "./server.ts"

export const path = "/mcp"

/** Sessions of the revisions that have them. */
const mostSessions = 64
const sessionIdle = 30 * 60 * 1000

/** The token that HTTP was given is too easy to guess. */
export class HttpTokenWeak extends Schema.TaggedError<HttpTokenWeak>()("HttpTokenWeak", {}) {
  override get message() {
    return "KIWI_HTTP_TOKEN is too short: a token is at least 43 characters, 256 bits in base64url"
  }
  get remediation() {
    return "Leave KIWI_HTTP_TOKEN out and one is made, or: export KIWI_HTTP_TOKEN=$(openssl rand -base64 32 | tr +/ -_)"
  }
}

/** Without a token, only this machine may connect. */
export class HttpAuthRequired extends Schema.TaggedError<HttpAuthRequired>()("HttpAuthRequired", {
  host: Schema.String
}) {
  override get message() {
    return `Kiwi does not listen on ${this.host} without a token: everybody who reaches it could act as you`
  }
  get remediation() {
    return "Leave --no-auth out, or listen on 127.0.0.1"
  }
}

/** The port is taken, or the address is not this machine's. */
export class HttpUnavailable extends Schema.TaggedError<HttpUnavailable>()("HttpUnavailable", {
  host: Schema.String,
  port: Schema.Int,
  detail: Schema.String
}) {
  override get message() {
    return `Kiwi cannot listen on ${this.host}, port ${this.port}: ${this.detail}`
  }
  get remediation() {
    return "Choose another port, or --port 0 for any that is free"
  }
}

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)

/** 256 bits, base64url. */
export const makeToken: Effect.Effect<Redacted.Redacted<string>> = Effect.sync(() =>
  Redacted.make(randomBytes(32).toString("base64url"))
)

/** Base64url carries 6 bits a character. */
export const checkToken = (token: Redacted.Redacted<string>): Effect.Effect<Redacted.Redacted<string>, HttpTokenWeak> =>
  Redacted.value(token).length >= 43 ? Effect.succeed(token) : Effect.fail(new HttpTokenWeak())

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Compares digests, so that neither content nor length shows in the time it takes. */
const makeAuthorized = (token: Redacted.Redacted<string> | undefined) => {
  if (token === undefined) return () => true
  const expected = digest(Redacted.value(token))
  return (header: string | undefined): boolean => {
    const [, given] = /^Bearer ([!-~]+)$/i.exec(header ?? "") ?? []
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

/** The `host:port` forms under which a request may name this server. */
const hostsOf = (host: string, port: number): ReadonlySet<string> => {
  const names = isLoopback(host) ? [host, "127.0.0.1", "localhost", "::1"] : [host]
  return new Set(names.flatMap((name) => {
    const shown = isIP(name) === 6 ? `[${name}]` : name
    return port === 80 ? [shown, `${shown}:80`] : [`${shown}:${port}`]
  }))
}

const refuse = (status: number, message: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", id: null, error: { code: -32600, message } }, { status, headers })

interface Session {
  usedAt: number
  /** Requests that are running; such a session is not idle. */
  running: number
}

export interface SecurityOptions {
  readonly hosts: ReadonlySet<string>
  readonly token: Redacted.Redacted<string> | undefined
  readonly gate: ListGate
}

/** Applies to every route, also to those that do not exist. */
export const security = (options: SecurityOptions) =>
  HttpRouter.middleware(
    Effect.sync(() => {
      const authorized = makeAuthorized(options.token)
      const sessions = new Map<string, Session>()

      /** Ends a session as its client would; the library has no other way, and lets none expire. */
      const end = <E, R>(id: string, app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
        Effect.suspend(() => {
          sessions.delete(id)
          const request = new Request(`http://kiwi${path}`, { method: "DELETE", headers: { "mcp-session-id": id } })
          return Effect.ignore(
            Effect.provideService(
              app,
              HttpServerRequest.HttpServerRequest,
              HttpServerRequest.fromWeb(request).modify({ url: path })
            )
          )
        })

      const makeRoom = Effect.fnUntraced(
        function*<E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) {
          const now = yield* Clock.currentTimeMillis
          const idle = [...sessions].filter(([, s]) => s.running === 0).toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
          const old = idle.filter(([, s]) => now - s.usedAt > sessionIdle)
          const surplus = idle.slice(0, Math.max(0, sessions.size + 1 - mostSessions))
          for (const [id] of new Map([...old, ...surplus])) yield* end(id, app)
          return sessions.size < mostSessions
        }
      )

      const inSession = Effect.fnUntraced(function*<E, R>(
        id: string | undefined,
        app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
      ) {
        const session = id === undefined ? undefined : sessions.get(id)
        if (session !== undefined) {
          session.usedAt = yield* Clock.currentTimeMillis
          session.running++
          // A response may stream long after its handler returned: the request's scope closes with its last byte.
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => {
              session.running--
            })
          )
        }
        return yield* app
      })

      return (app) =>
        Effect.gen(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const { headers, method } = request
          if (headers["host"] === undefined || !options.hosts.has(headers["host"].toLowerCase())) {
            return refuse(403, "This server does not answer to that Host")
          }
          const origin = headers["origin"]
          if (origin !== undefined && !isOwnOrigin(origin, options.hosts)) return refuse(403, "Foreign Origin")
          if (!authorized(headers["authorization"])) {
            return refuse(401, "A bearer token is required", { "www-authenticate": "Bearer realm=\"kiwi\"" })
          }
          const id = headers["mcp-session-id"]
          if (method !== "POST") {
            const response = yield* inSession(id, app)
            if (method === "DELETE" && response.status === 204 && id !== undefined) sessions.delete(id)
            return response
          }
          if (headers["content-type"]?.split(";")[0]?.trim().toLowerCase() !== "application/json") {
            return refuse(415, "The content type is application/json")
          }
          if (Number(headers["content-length"] ?? 0) > maxMessageBytes) {
            return refuse(413, "The message is too long", { connection: "close" })
          }
          const text = yield* Effect.result(request.text)
          if (text._tag === "Failure") {
            return refuse(413, "The message is too long, or broke off", { connection: "close" })
          }
          const admission = admit(text.success)
          if (admission._tag === "Refused") {
            const { code, id, message } = admission.refusal
            return HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", id, error: { code, message } }, { status: 400 })
          }
          const methods = methodsOf(admission.message)
          if (methods.some((name) => options.gate.methods.has(name))) yield* options.gate.effect
          if (!methods.includes("initialize")) return yield* inSession(id, app)
          if (!(yield* makeRoom(app))) {
            return refuse(503, "Too many sessions are open", { "retry-after": "60" })
          }
          const response = yield* app
          const opened = response.headers["mcp-session-id"]
          if (opened !== undefined) {
            sessions.set(opened, { usedAt: yield* Clock.currentTimeMillis, running: 0 })
          }
          return response
        }).pipe(
          Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(maxMessageBytes)),
          Effect.map(HttpServerResponse.setHeaders({
            "cache-control": "no-store",
            "x-content-type-options": "nosniff"
          }))
        )
    }),
    { global: true }
  )

const isOwnOrigin = (origin: string, hosts: ReadonlySet<string>): boolean =>
  origin.startsWith("http://") && hosts.has(origin.slice("http://".length).toLowerCase())

export interface HttpOptions {
  /** An address or "localhost". */
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** `undefined` for `--no-auth`. */
  readonly token: Redacted.Redacted<string> | undefined
}

const unavailable = ({ host, port }: HttpOptions) => (error: { readonly cause?: unknown }): HttpUnavailable => {
  const code = error.cause instanceof Error && "code" in error.cause ? String(error.cause.code) : "unknown"
  const details: Readonly<Record<string, string>> = {
    EADDRINUSE: "something else is listening there",
    EACCES: "you may not use that port",
    EADDRNOTAVAIL: "that is no address of this machine"
  }
  return new HttpUnavailable({ host, port, detail: Object.hasOwn(details, code) ? details[code]! : `error ${code}` })
}

/** What is served: protocols, registrations, and the gate before their lists. */
export interface Served<RE, RR> {
  readonly info: { readonly name: string; readonly version: string; readonly instructions?: string }
  readonly protocols: Arr.NonEmptyReadonlyArray<McpProtocol.ProtocolAdapter>
  readonly registrations: Layer.Layer<never, RE, RR>
  readonly gate: ListGate
}

const listen = (server: Server, options: HttpOptions) =>
  NodeHttpServer.layerServer(() => server, {
    host: options.host,
    port: options.port,
    gracefulShutdownTimeout: "1 second"
  }).pipe(Layer.catch((error) => Layer.effect(HttpServer.HttpServer, Effect.fail(unavailable(options)(error)))))

/** Listens until its scope closes; `listening` hears the endpoint's URL, once it is served. */
export const layer = <RE, RR>(
  served: Served<RE, RR>,
  options: HttpOptions & { readonly listening: (url: string) => Effect.Effect<void> }
) =>
  Layer.unwrap(Effect.gen(function*() {
    if (options.token === undefined && !isLoopback(options.host)) {
      return yield* new HttpAuthRequired({ host: options.host })
    }
    const server = createServer({ maxHeaderSize: 32 * 1024 })
    server.maxConnections = 512
    const app = Layer.unwrap(Effect.gen(function*() {
      yield* HttpServer.HttpServer
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : options.port
      const hosts = hostsOf(options.host, port)
      const mcp = McpServer.layerHttp({
        ...served.info,
        path,
        protocols: served.protocols,
        registrations: served.registrations,
        allowSessionTermination: true,
        allowedOrigins: [...hosts].map((host) => `http://${host}`)
      })
      const shown = isIP(options.host) === 6 ? `[${options.host}]` : options.host
      return HttpRouter.serve(Layer.merge(mcp, security({ hosts, token: options.token, gate: served.gate })), {
        disableLogger: true,
        disableListenLog: true
      }).pipe(Layer.tap(() => options.listening(`http://${shown}:${port}${path}`)))
    }))
    return Layer.provide(app, listen(server, options))
  }))
