// The only way in which Kiwi sends anything over a network. Each hop is checked by the address that is really connected
// to: a name that resolves to a private address, or changes its address, gains nothing.
import { Context, type Effect, Schema, type Scope, type Stream } from "effect"
import type { Standing } from "../capability/Access.ts"

/** A rule refuses the scheme, address, port or redirect. Retrying does not help. */
export class OutboundRefused extends Schema.TaggedError<OutboundRefused>()("OutboundRefused", {
  /** Scheme, host and port; never the path or query. */
  target: Schema.String,
  issue: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `Kiwi does not connect to ${this.target}: ${this.issue}`
  }
  get remediation() {
    return this.hint
  }
}

/** The network or the server failed. */
export class OutboundFailed extends Schema.TaggedError<OutboundFailed>()("OutboundFailed", {
  target: Schema.String,
  issue: Schema.String,
  /** Whether the same request may succeed later. */
  transient: Schema.Boolean,
  /** Whether the server may have received the request. One that it has not can be repeated, whatever its method. */
  sent: Schema.Boolean,
  /** The kind of failure, for tools that list the failures to retry after. */
  kind: Schema.optionalKey(
    Schema.Literals(["CONNECTION_REFUSED", "CONNECTION_RESET", "TIMEOUT", "STREAM_INCOMPLETE", "OTHER"])
  )
}) {
  override get message() {
    return `The request to ${this.target} failed: ${this.issue}`
  }
  get remediation() {
    return this.transient ? "Try again later" : "Check the address and your network"
  }
  get retryable() {
    return this.transient
  }
}

export type OutboundError = OutboundRefused | OutboundFailed

export interface OutboundRequest {
  readonly method: string
  readonly url: string
  /** Sent to the URL's own origin. After a redirect to another origin only `accept*` and `user-agent` are sent. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
  /** `host:port` of hosts that may have a loopback or private address. Never from a call's parameters. */
  readonly privateHosts: ReadonlyArray<string>
  /** Asked before a redirect to another host or port is followed. Default: it is followed. */
  readonly mayRedirect?: (host: string, port: number) => Effect.Effect<Standing>
  /** The limit of the decoded response body, in bytes. */
  readonly maxBytes: number
}

export interface OutboundResponse {
  readonly status: number
  /** Lower-case names; repeated headers are joined by ", ". Without `set-cookie`. */
  readonly headers: ReadonlyMap<string, string>
  /** Scheme, host and port of the server that answered. */
  readonly origin: string
  /** Decoded (gzip, deflate, br, zstd). Fails if it is truncated or larger than `maxBytes`. */
  readonly body: Stream.Stream<Uint8Array, OutboundFailed>
}

export class Outbound extends Context.Service<Outbound, {
  /** Follows up to ten redirects. The connection lives as long as the scope. */
  readonly send: (request: OutboundRequest) => Effect.Effect<OutboundResponse, OutboundError, Scope.Scope>
  /** While the scope is open, no request connects to this port of this machine: for ports that Kiwi itself serves. */
  readonly reserve: (port: number) => Effect.Effect<void, never, Scope.Scope>
}>()("kiwi/services/outbound/Outbound") {}
