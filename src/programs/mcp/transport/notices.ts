// The server's notifications, for streams that the protocol library does not have.
import { Effect, PubSub } from "effect"
import type { Scope, Stream } from "effect"
import * as Streams from "effect/Stream"

export type Notice =
  | { readonly method: `notifications/${"tools" | "resources" | "prompts"}/list_changed` }
  | { readonly method: "notifications/resources/updated"; readonly uri: string }

export interface Notices {
  readonly publish: (notice: Notice) => Effect.Effect<void>
  /** Notifications from now on. A reader that is too slow misses the oldest. */
  readonly listen: Effect.Effect<Stream.Stream<Notice>, never, Scope.Scope>
}

export const make: Effect.Effect<Notices> = Effect.map(PubSub.sliding<Notice>(256), (hub) => ({
  publish: (notice) => Effect.asVoid(PubSub.publish(hub, notice)),
  listen: Effect.map(PubSub.subscribe(hub), Streams.fromSubscription)
}))

export const encode = (notice: Notice): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    method: notice.method,
    ...(notice.method === "notifications/resources/updated" ? { params: { uri: notice.uri } } : {})
  })
