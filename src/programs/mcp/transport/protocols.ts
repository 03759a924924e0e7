// The protocol revisions that Kiwi speaks.
import { Context, Effect } from "effect"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as RpcClient from "effect/rpc/RpcClient"

/** The form that is being asked with. */
const AskedSchema = Context.Reference<object | undefined>("kiwi/programs/mcp/transport/AskedSchema", {
  defaultValue: () => undefined
})

/** The library's schema of 2025-06-18 takes a field with choices for one of free text, and drops them: they go back in. */
const v2025_06_18: typeof McpProtocol.v2025_06_18 = {
  ...McpProtocol.v2025_06_18,
  makeReverseClient: Effect.fnUntraced(function*(profile) {
    const protocol = yield* RpcClient.Protocol
    const reverse = yield* Effect.provideService(
      McpProtocol.v2025_06_18.makeReverseClient(profile),
      RpcClient.Protocol,
      {
        ...protocol,
        send: (client, request, transferables) =>
          Effect.flatMap(AskedSchema, (requestedSchema) =>
            protocol.send(
              client,
              request._tag === "Request" && request.tag === "elicitation/create" && requestedSchema !== undefined
                ? { ...request, payload: { ...request.payload as object, requestedSchema } }
                : request,
              transferables
            ))
      }
    )
    return {
      ...reverse,
      elicit: (request) =>
        Effect.provideService(
          reverse.elicit(request),
          AskedSchema,
          "requestedSchema" in request ? request.requestedSchema : undefined
        )
    }
  })
}

/** Newest first: a client that asks for an unknown revision gets the first one that has sessions. */
export const httpProtocols = [
  McpProtocol.v2026_07_28,
  McpProtocol.v2025_11_25,
  v2025_06_18,
  McpProtocol.v2025_03_26
] as const

/** 2024-11-05 on stdio only: it has a different HTTP transport. */
export const stdioProtocols = [...httpProtocols, McpProtocol.v2024_11_05] as const
