// The one way in which Kiwi sends anything over a network. It decides by the address that is really connected to, for
// every hop: a name that resolves to something private, or changes its answer, gains nothing.
import { Context, type Effect, Schema, type Scope, type Stream } from "effect"

/** The rules refuse: scheme, address, port, redirect. Asking again changes nothing. */
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

/** The network or the other side failed. */
export class OutboundFailed extends Schema.TaggedError<OutboundFailed>()("OutboundFailed", {
  target: Schema.String,
  issue: Schema.String,
  /** Whether the same request may succeed later. */
  transient: Schema.Boolean,
  /** Whether the other side may have seen the request: one that it has not seen can be repeated whatever it is. */
  sent: Schema.Boolean,
  /** What kind of failure it is, for tools that say after which ones to try again. */
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
  /** Sent to the url's own origin; after a redirect to another one only `accept*` and `user-agent` are left. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
  /** `host:port` of hosts that may lie at a loopback or private address. Never filled from what a call brings. */
  readonly privateHosts: ReadonlyArray<string>
  /** The most bytes that the answer's body may have, decoded. */
  readonly maxBytes: number
}

export interface OutboundResponse {
  readonly status: number
  /** Lower-case names; repeated headers are joined by ", ". `set-cookie` is left out. */
  readonly headers: ReadonlyMap<string, string>
  /** Scheme, host and port that answered. */
  readonly origin: string
  /** Decoded (gzip, deflate, br, zstd). Fails when it is cut off or larger than `maxBytes`. */
  readonly body: Stream.Stream<Uint8Array, OutboundFailed>
}

export class Outbound extends Context.Service<Outbound, {
  /** Follows up to ten redirects. The connection lives as long as the scope. */
  readonly send: (request: OutboundRequest) => Effect.Effect<OutboundResponse, OutboundError, Scope.Scope>
  /** While the scope is open, nothing connects to this port of this machine: for the ports that Kiwi itself serves. */
  readonly reserve: (port: number) => Effect.Effect<void, never, Scope.Scope>
}>()("kiwi/services/outbound/Outbound") {}
