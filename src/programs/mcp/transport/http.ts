// Streamable HTTP, and the checks before it on every route: an accepted Host, no foreign Origin, a bearer token, a body
// that is bounded and admitted, a bounded number of sessions. The protocol library has none of these.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Effect, Layer, Redacted, Schema } from "effect"
import type { Array as Arr } from "effect"
import type * as McpProtocol from "effect/ai/McpProtocol"
import * as McpServer from "effect/ai/McpServer"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer, IncomingMessage } from "node:http"
import type { Server } from "node:http"
import { Clients } from "../../../services/call/Clients.ts"
import type { RouteAnswer } from "../approvalRoute.ts"
import { admit, invalidRequest, maxMessageBytes, methodsOf } from "./admission.ts"
import type { ListGate, Refusal } from "./admission.ts"
import { answersTo, bracketed, isLoopback, namesOf } from "./hosts.ts"
import * as HttpSessions from "./httpSessions.ts"
import type { Notices } from "./notices.ts"
import { admitAs, clientOf } from "./principal.ts"

const path = "/mcp"

/** The token that HTTP was given is too easy to guess. */
export class HttpTokenWeak extends Schema.TaggedError<HttpTokenWeak>()("HttpTokenWeak", {}) {
  override get message() {
    return "KIWI_HTTP_TOKEN is too short: a token is at least 43 characters, 256 bits in base64url"
  }
  get remediation() {
    return "Unset KIWI_HTTP_TOKEN, and Kiwi makes a token, or: export KIWI_HTTP_TOKEN=$(openssl rand -base64 32 | tr +/ -_)"
  }
}

/** A server without a token may listen on this machine's own addresses only, and under no further host. */
export class HttpAuthRequired extends Schema.TaggedError<HttpAuthRequired>()("HttpAuthRequired", {
  host: Schema.String
}) {
  override get message() {
    return `Kiwi does not listen on ${this.host} without a token: everybody who reaches it could act as you`
  }
  get remediation() {
    return "Leave --no-auth out, or listen on 127.0.0.1 without --allow-host"
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

/** 256 bits, as base64url. */
export const makeToken: Effect.Effect<Redacted.Redacted<string>> = Effect.sync(() =>
  Redacted.make(randomBytes(32).toString("base64url"))
)

/** Base64url carries 6 bits a character. */
export const checkToken = (token: Redacted.Redacted<string>): Effect.Effect<Redacted.Redacted<string>, HttpTokenWeak> =>
  Redacted.value(token).length >= 43 ? Effect.succeed(token) : Effect.fail(new HttpTokenWeak())

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/**
 * Whether the request may go on, and as which client: the server's own token, or that of a client which a person added.
 * Compares digests, so that the time it takes shows neither content nor length.
 */
const makeAuthorized = (token: Redacted.Redacted<string> | undefined, clients: Clients["Service"]) => {
  const own = token === undefined ? undefined : digest(Redacted.value(token))
  return (request: HttpServerRequest.HttpServerRequest): Effect.Effect<boolean> => {
    const [, given] = /^Bearer ([!-~]+)$/i.exec(request.headers["authorization"] ?? "") ?? []
    if (given === undefined) return Effect.succeed(own === undefined)
    if (own !== undefined && timingSafeEqual(digest(given), own)) return Effect.succeed(true)
    return Effect.map(clients.withToken(Redacted.make(given)), (client) => {
      if (client !== undefined) admitAs(request, client)
      return client !== undefined || own === undefined
    })
  }
}

const refuse = (
  status: number,
  message: string,
  { code, id }: Pick<Refusal, "code" | "id"> = { code: invalidRequest, id: null }
) => HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", id, error: { code, message } }, { status })

const tooLong = HttpServerResponse.setHeader(
  refuse(413, "The message is too long or incomplete"),
  "connection",
  "close"
)

interface SecurityOptions {
  /** Whether the server accepts this Host. */
  readonly answersTo: (host: string) => boolean
  /** In the form of an Origin header. */
  readonly origins: ReadonlySet<string>
  readonly token: Redacted.Redacted<string> | undefined
  readonly clients: Clients["Service"]
  readonly gate: ListGate
  readonly notices: Notices
  /** What is done for a session that ended, by its id. */
  readonly endSession: (id: string) => Effect.Effect<void>
  readonly answer: AnswerRequest
}

/** An answer of the approver `client` to the request `id`. */
type AnswerRequest = (id: string, client: string, body: string) => Effect.Effect<RouteAnswer>

/** The only route of an approver's token, and of no other. */
const approvalRoute = /^\/approvals\/([a-z0-9]{10})$/

/** An answer is two short fields. In bytes. */
const maxAnswerBytes = 4_096

/** Applies to every route, including those that do not exist. */
const security = (options: SecurityOptions) =>
  HttpRouter.middleware(
    Effect.gen(function*() {
      const authorized = makeAuthorized(options.token, options.clients)
      const inSession = yield* HttpSessions.make(path, options.notices, options.endSession)

      const readMessage = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
        const { headers } = request
        if (headers["content-type"]?.split(";")[0]?.trim().toLowerCase() !== "application/json") {
          return refuse(415, "The content type is application/json")
        }
        if (Number(headers["content-length"] ?? 0) > maxMessageBytes) return tooLong
        const text = yield* Effect.result(request.text)
        if (text._tag === "Failure") return tooLong
        const admission = admit(text.success)
        return admission._tag === "Accepted" ? admission : refuse(400, admission.refusal.message, admission.refusal)
      })

      return (app) =>
        Effect.gen(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const { host, origin } = request.headers
          const twice = headerGivenTwice(request.source)
          if (twice !== undefined) return refuse(400, `The header ${twice} may be given once`)
          if (host === undefined || !options.answersTo(host)) {
            return refuse(
              403,
              "This server does not accept that Host. To allow it, a person starts the server with: " +
                "kiwi serve --http --allow-host NAME"
            )
          }
          if (origin !== undefined && !options.origins.has(origin)) return refuse(403, "Foreign Origin")
          if (!(yield* authorized(request))) {
            const response = refuse(401, "A bearer token is required")
            return HttpServerResponse.setHeader(response, "www-authenticate", "Bearer realm=\"kiwi\"")
          }
          const client = clientOf(request)
          if (client?.approver === true) {
            const [, id] = approvalRoute.exec(request.url) ?? []
            if (id === undefined || request.method !== "POST") {
              return refuse(403, "This token answers requests only: POST /approvals/ID")
            }
            if (Number(request.headers["content-length"] ?? 0) > maxAnswerBytes) return tooLong
            const text = yield* Effect.result(request.text)
            if (text._tag === "Failure" || text.success.length > maxAnswerBytes) return tooLong
            const { body, status } = yield* options.answer(id, client.name, text.success)
            return HttpServerResponse.jsonUnsafe(body, { status })
          }
          if (approvalRoute.test(request.url)) {
            return refuse(403, "Requests are answered with a token that a person made: kiwi client add NAME --approver")
          }
          // The library's router takes //mcp, /MCP and /%6dcp for /mcp: only the exact spelling is accepted.
          if (!isEndpoint(request.url)) return refuse(404, `This server answers at ${path}`)
          if (request.method !== "POST") return yield* inSession(request, [], undefined, app)
          const read = yield* readMessage(request)
          if (HttpServerResponse.isHttpServerResponse(read)) return read
          const methods = methodsOf(read.message)
          if (methods.some((method) => options.gate.methods.has(method))) yield* options.gate.effect
          return yield* inSession(request, methods, read.message, app)
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

/**
 * Headers that identify the caller or the server. Of two equal ones Node keeps the first, but a proxy in front may use
 * the second.
 */
const givenOnce = ["host", "origin", "authorization", "content-type"]

const headerGivenTwice = (source: object): string | undefined => {
  const names = source instanceof IncomingMessage
    ? source.rawHeaders.flatMap((name, index) => index % 2 === 0 ? [name.toLowerCase()] : [])
    : []
  return givenOnce.find((name) => names.indexOf(name) !== names.lastIndexOf(name))
}

const isEndpoint = (url: string): boolean => url === path || url.startsWith(`${path}?`)

export interface HttpOptions {
  /** An address or "localhost". */
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Further hosts that the server accepts, in the form of `parseAllowedHost`. */
  readonly allowedHosts: ReadonlyArray<string>
  /** `undefined` for `--no-auth`. */
  readonly token: Redacted.Redacted<string> | undefined
}

const unavailable = ({ host, port }: HttpOptions) => (error: { readonly cause?: unknown }): HttpUnavailable => {
  const code = error.cause instanceof Error && "code" in error.cause ? String(error.cause.code) : "unknown"
  const details: Readonly<Record<string, string>> = {
    EADDRINUSE: "something else is listening there",
    EACCES: "you may not use that port",
    EADDRNOTAVAIL: "this machine does not have that address"
  }
  return new HttpUnavailable({ host, port, detail: Object.hasOwn(details, code) ? details[code]! : `error ${code}` })
}

/** The protocols, the registrations, and the gate before list requests. */
interface Served<RE, RR> {
  readonly info: { readonly name: string; readonly version: string; readonly instructions?: string }
  readonly protocols: Arr.NonEmptyReadonlyArray<McpProtocol.ProtocolAdapter>
  readonly registrations: Layer.Layer<never, RE, RR>
  readonly gate: ListGate
  readonly notices: Notices
  /** What is done for a session that ended, by its id. */
  readonly endSession: (id: string) => Effect.Effect<void>
  readonly answer: AnswerRequest
}

const listen = (server: Server, options: HttpOptions) =>
  NodeHttpServer.layerServer(() => server, {
    host: options.host,
    port: options.port,
    gracefulShutdownTimeout: "500 millis"
  }).pipe(Layer.catch((error) => Layer.effect(HttpServer.HttpServer, Effect.fail(unavailable(options)(error)))))

/** Listens until its scope closes. Calls `listening` with the endpoint's URL once it is served. */
export const layer = <RE, RR>(
  served: Served<RE, RR>,
  options: HttpOptions & { readonly listening: (url: string) => Effect.Effect<void> }
) =>
  Layer.unwrap(Effect.gen(function*() {
    const beyond = [options.host, ...options.allowedHosts].find((host) => !isLoopback(host.replace(/:\d+$/, "")))
    if (options.token === undefined && beyond !== undefined) return yield* new HttpAuthRequired({ host: beyond })
    const clients = yield* Clients
    const server = createServer({ maxHeaderSize: 32 * 1024 })
    server.maxConnections = 512
    const app = Layer.unwrap(Effect.gen(function*() {
      yield* HttpServer.HttpServer
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : options.port
      const { hosts, origins } = namesOf(options.host, port, options.allowedHosts)
      const mcp = McpServer.layerHttp({
        ...served.info,
        path,
        protocols: served.protocols,
        registrations: served.registrations,
        allowSessionTermination: true,
        allowedOrigins: [...origins]
      })
      const shown = bracketed(options.host)
      return HttpRouter.serve(
        Layer.merge(
          mcp,
          security({
            answersTo: answersTo(hosts, options.allowedHosts),
            origins,
            token: options.token,
            clients,
            gate: served.gate,
            notices: served.notices,
            endSession: served.endSession,
            answer: served.answer
          })
        ),
        {
          disableLogger: true,
          disableListenLog: true
        }
      ).pipe(Layer.tap(() => options.listening(`http://${shown}:${port}${path}`)))
    }))
    return Layer.provide(app, listen(server, options))
  }))
