// One request and its response over node:http, to addresses that were checked before: the connection uses exactly
// those, so that a name cannot resolve to another address in between. Not fetch, which resolves names itself.
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, type Scope, type Stream } from "effect"
import * as Http from "node:http"
import * as Https from "node:https"
import type { LookupFunction } from "node:net"
import { type Readable, Transform } from "node:stream"
import * as Zlib from "node:zlib"
import { OutboundFailed, type OutboundRequest } from "../../services/outbound/Outbound.ts"
import { errorCode } from "../process/errorCode.ts"

export interface PinnedAddress {
  readonly address: string
  readonly family: 4 | 6
}

export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
  /** Undefined if a proxy connects. */
  readonly addresses: ReadonlyArray<PinnedAddress> | undefined
  readonly agent: Http.Agent
  readonly maxBytes: OutboundRequest["maxBytes"]
}

export interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Stream.Stream<Uint8Array, OutboundFailed>
}

/** The limit of a response's head, in bytes. */
const maxHead = 32_768
const maxHeaders = 200

const tooManyHeaders = "KIWI_TOO_MANY_HEADERS"

const issues: Readonly<Record<string, readonly [issue: string, transient: boolean]>> = {
  ECONNREFUSED: ["nothing is listening there", true],
  ECONNRESET: ["the connection was closed early", true],
  EPIPE: ["the connection was closed early", true],
  ETIMEDOUT: ["the connection timed out", true],
  EHOSTUNREACH: ["the host is unreachable", true],
  ENETUNREACH: ["the network is unreachable", true],
  EAI_AGAIN: ["its name could not be resolved", true],
  ENOTFOUND: ["there is no such host", false],
  ERR_INVALID_CHAR: ["a header contains a character that is not allowed", false],
  ERR_INVALID_HTTP_TOKEN: ["a header name or the method is invalid", false],
  [tooManyHeaders]: ["its answer has more headers than Kiwi reads", false],
  HPE_HEADER_OVERFLOW: ["its answer has more headers than Kiwi reads", false],
  Z_BUF_ERROR: ["its answer is incomplete", true],
  ERR_STREAM_PREMATURE_CLOSE: ["its answer is incomplete", true],
  CERT_HAS_EXPIRED: ["its certificate has expired", false],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["its certificate is self-signed", false],
  SELF_SIGNED_CERT_IN_CHAIN: ["its certificate is not signed by a known authority", false],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ["its certificate is not signed by a known authority", false],
  ERR_TLS_CERT_ALTNAME_INVALID: ["its certificate is for another host", false]
}

const kinds: Readonly<Record<string, NonNullable<OutboundFailed["kind"]>>> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ECONNRESET: "CONNECTION_RESET",
  EPIPE: "CONNECTION_RESET",
  ETIMEDOUT: "TIMEOUT",
  Z_BUF_ERROR: "STREAM_INCOMPLETE",
  ERR_STREAM_PREMATURE_CLOSE: "STREAM_INCOMPLETE"
}

const failureOf = (target: string, cause: unknown, sent: boolean): OutboundFailed => {
  if (cause instanceof OutboundFailed) return cause
  const code = errorCode(cause)
  const known = Object.hasOwn(issues, code) ? issues[code] : undefined
  const malformed = code.startsWith("HPE_") || code.startsWith("Z_") || code.startsWith("ERR_BROTLI") ||
    code.startsWith("ERR__ERROR_FORMAT")
  const [issue, transient] = known ?? (malformed ? ["its answer is malformed", false] : [
    code === "" ? "the connection failed" : `the connection failed (${code})`,
    false
  ])
  return new OutboundFailed({ target, issue, transient, sent, kind: kinds[code] ?? "OTHER" })
}

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => Zlib.createGunzip(),
  "x-gzip": () => Zlib.createGunzip(),
  deflate: () => Zlib.createInflate(),
  br: () => Zlib.createBrotliDecompress(),
  zstd: () => Zlib.createZstdDecompress()
}

/** Fails as soon as the decoded body exceeds the limit: a small response can decode to a very large one. */
const limit = (maxBytes: number, tooLarge: () => Error): Transform => {
  let seen = 0
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      seen += chunk.length
      if (seen > maxBytes) done(tooLarge())
      else done(null, chunk)
    }
  })
}

const chained = (source: Readable, next: Transform): Transform => {
  source.on("error", (cause) => next.destroy(cause))
  next.on("close", () => source.destroy())
  return source.pipe(next)
}

const readHeaders = (message: Http.IncomingMessage): ReadonlyMap<string, string> => {
  const headers = new Map<string, string>()
  for (const [name, value] of Object.entries(message.headers)) {
    if (value === undefined || name === "set-cookie") continue
    headers.set(name, Array.isArray(value) ? value.join(", ") : value)
  }
  return headers
}

const pinned = (addresses: ReadonlyArray<PinnedAddress>): LookupFunction => (_host, options, done) => {
  const first = addresses[0]
  if (first === undefined) done(new Error("no address"), "", 0)
  else if (options.all === true) done(null, [...addresses])
  else done(null, first.address, first.family)
}

const unknownEncoding = (target: string, encoding: string) =>
  new OutboundFailed({
    target,
    issue: `its answer has an unknown encoding (${encoding.slice(0, 40)})`,
    transient: false,
    sent: true
  })

/** Created as soon as the response arrives, so that no failure of its body is missed. */
const decodedBody = (hop: Hop, message: Http.IncomingMessage): Readable => {
  const target = hop.url.origin
  const encoding = (message.headers["content-encoding"] ?? "identity").trim().toLowerCase()
  const bodyless = hop.method === "HEAD" || message.statusCode === 204 || message.statusCode === 304
  const decoder = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
  const last = limit(hop.maxBytes, () =>
    new OutboundFailed({
      target,
      issue: `its answer is larger than ${hop.maxBytes.toLocaleString("en-US")} bytes`,
      transient: false,
      sent: true
    }))
  last.on("error", () => {})
  if (bodyless || encoding === "identity" || encoding === "") chained(message, last)
  else if (decoder === undefined) last.destroy(unknownEncoding(target, encoding))
  else chained(chained(message, decoder()), last)
  return last
}

export const exchange = (hop: Hop): Effect.Effect<Answer, OutboundFailed, Scope.Scope> => {
  const target = hop.url.origin
  interface Opened {
    readonly request: Http.ClientRequest
    readonly message: Http.IncomingMessage
    readonly body: Readable
  }
  const open = Effect.callback<Opened, OutboundFailed>((resume) => {
    let sent = false
    const options: Https.RequestOptions = {
      method: hop.method,
      headers: hop.headers,
      maxHeaderSize: maxHead,
      insecureHTTPParser: false,
      agent: hop.agent,
      ...(hop.addresses === undefined ? {} : { lookup: pinned(hop.addresses) })
    }
    let request: Http.ClientRequest
    try {
      request = hop.url.protocol === "https:" ? Https.request(hop.url, options) : Http.request(hop.url, options)
    } catch (cause) {
      return resume(Effect.fail(failureOf(target, cause, false)))
    }
    request.on("socket", (socket) => {
      if (!socket.connecting) sent = true
      else socket.once("connect", () => (sent = true))
    })
    request.on("error", (cause) => resume(Effect.fail(failureOf(target, cause, sent))))
    // Node would silently drop headers beyond its own limit.
    request.maxHeadersCount = 0
    request.on("response", (message) => {
      message.on("error", () => {})
      if (message.rawHeaders.length > 2 * maxHeaders) {
        request.destroy(Object.assign(new Error("too many headers"), { code: tooManyHeaders }))
        return
      }
      resume(Effect.succeed({ request, message, body: decodedBody(hop, message) }))
    })
    request.end(hop.body)
    return Effect.sync(() => request.destroy())
  })
  return Effect.acquireRelease(
    open,
    ({ body, message, request }) =>
      Effect.sync(() => {
        body.destroy()
        if (!message.complete) request.destroy()
      }),
    { interruptible: true }
  ).pipe(Effect.map(({ body, message }): Answer => ({
    status: message.statusCode ?? 0,
    headers: readHeaders(message),
    body: NodeStream.fromReadable<Uint8Array, OutboundFailed>({
      evaluate: () => body,
      onError: (cause) => failureOf(target, cause, true)
    })
  })))
}
