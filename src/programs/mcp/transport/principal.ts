// By whose token an HTTP request was admitted, and in which session. The protocol library hands a request on, and nothing
// of its context.
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type { Client } from "../../../services/call/Clients.ts"

const admitted = new WeakMap<object, Client>()
const sessions = new WeakMap<object, string>()

export const admitAs = (request: HttpServerRequest.HttpServerRequest, client: Client): void => {
  admitted.set(request.source, client)
}

/** Undefined for the server's own token: the request is that of the server's client. */
export const clientOf = (request: HttpServerRequest.HttpServerRequest): Client | undefined =>
  admitted.get(request.source)

/** `id`: of a session that this server opened for the request's client. */
export const admitInto = (request: HttpServerRequest.HttpServerRequest, id: string): void => {
  sessions.set(request.source, id)
}

/** The id of the request's session. Undefined if it is in none: a header alone names none. */
export const sessionOf = (request: HttpServerRequest.HttpServerRequest): string | undefined =>
  sessions.get(request.source)
