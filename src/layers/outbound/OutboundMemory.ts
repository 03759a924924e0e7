// Outbound without a network: a function answers requests. By default every request is refused.
import { Effect, Layer, Stream } from "effect"
import {
  Outbound,
  type OutboundError,
  OutboundRefused,
  type OutboundRequest
} from "../../services/outbound/Outbound.ts"

export interface MemoryAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export type Answerer = (request: OutboundRequest) => Effect.Effect<MemoryAnswer, OutboundError>

export const make = (answer: Answerer) =>
  Outbound.of({
    send: (request) =>
      Effect.map(answer(request), ({ body, headers, status }) => ({
        status: status ?? 200,
        headers: new Map(Object.entries(headers ?? {})),
        origin: URL.parse(request.url)?.origin ?? "",
        body: Stream.succeed(typeof body === "string" || body === undefined ? new TextEncoder().encode(body) : body)
      })),
    reserve: () => Effect.void
  })

export const layerWith = (answer: Answerer) => Layer.succeed(Outbound, make(answer))

export const layer = layerWith((request) =>
  Effect.fail(
    new OutboundRefused({
      target: URL.parse(request.url)?.origin ?? "that address",
      issue: "this kernel has no network",
      hint: "Answer requests by OutboundMemory.layerWith"
    })
  )
)
