// By whose token an HTTP request was admitted. The protocol library hands a request on, and nothing of its context.
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type { Client } from "../../../services/call/Clients.ts"

const admitted = new WeakMap<object, Client>()

export const admitAs = (request: HttpServerRequest.HttpServerRequest, client: Client): void => {
  admitted.set(request.source, client)
}

/** Undefined for the server's own token: the request is that of the server's client. */
export const clientOf = (request: HttpServerRequest.HttpServerRequest): Client | undefined =>
  admitted.get(request.source)
