// Adds to HTTP sessions what the protocol library lacks: expiry, a stream from the server, and subscriptions, which
// need that stream.
import { Clock, Deferred, Effect, Option, Schedule, Schema, Stream } from "effect"
import type { Scope } from "effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Notices from "./notices.ts"
import { admitInto, clientOf } from "./principal.ts"

/** How many sessions a client may have. A new one replaces its own that has been idle longest. */
const most = 64
const idleAfter = 30 * 60 * 1000
const lookEvery = "1 minute"
const mostSubscriptions = 1000

interface Session {
  /** The client that opened it; undefined for the server's own. */
  readonly client: string | undefined
  usedAt: number
  /** Requests and streams that are running. A session with any is not idle. */
  running: number
  streaming: boolean
  readonly subscriptions: Set<string>
  readonly ended: Deferred.Deferred<void>
}

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

const empty = (status: number) => HttpServerResponse.empty({ status })

const decodeSubscription = Schema.decodeUnknownOption(Schema.Struct({
  id: Schema.Union([Schema.String, Schema.Finite]),
  method: Schema.Literals(["resources/subscribe", "resources/unsubscribe"]),
  params: Schema.Struct({ uri: Schema.String })
}))

/** The library answers that a session over HTTP has no subscriptions; this corrects the answer. */
const withSubscriptions = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  if (response.body._tag !== "Uint8Array") return response
  const text = new TextDecoder().decode(response.body.body)
  const patched = text.replace(
    "\"resources\":{\"listChanged\":true,\"subscribe\":false}",
    "\"resources\":{\"listChanged\":true,\"subscribe\":true}"
  )
  return patched === text
    ? response
    : HttpServerResponse.text(patched, {
      status: response.status,
      headers: response.headers,
      contentType: response.body.contentType
    })
}

const isOver = ({ ended }: Session) => Deferred.isDoneUnsafe(ended)

/** `onEnd`: what is done for a session that ended, once. */
export const make = Effect.fnUntraced(function*(
  path: string,
  notices: Notices.Notices,
  onEnd: (id: string) => Effect.Effect<void>
) {
  const sessions = new Map<string, Session>()

  const close = (id: string, session: Session) =>
    Effect.flatMap(Deferred.succeed(session.ended, undefined), (isFirst) => isFirst ? onEnd(id) : Effect.void)

  const isIdle = (session: Session, now: number) => session.running === 0 && now - session.usedAt > idleAfter

  /** The library forgets them when the next one is opened: only a request reaches it. */
  const closeIdle = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    for (const [id, session] of sessions) if (isIdle(session, now)) yield* close(id, session)
  })
  yield* Effect.forkScoped(Effect.repeat(closeIdle, Schedule.spaced(lookEvery)))

  const forget = (id: string) =>
    Effect.suspend(() => {
      const session = sessions.get(id)
      sessions.delete(id)
      return session === undefined ? Effect.void : close(id, session)
    })

  /** Ends a session with a DELETE, as its client would: the library has no other way. */
  const end = Effect.fnUntraced(function*<E, R>(id: string, app: App<E, R>) {
    yield* forget(id)
    const request = new Request(`http://kiwi${path}`, { method: "DELETE", headers: { "mcp-session-id": id } })
    yield* Effect.ignore(Effect.provideService(
      app,
      HttpServerRequest.HttpServerRequest,
      HttpServerRequest.fromWeb(request).modify({ url: path })
    ))
  })

  const makeRoom = Effect.fnUntraced(function*<E, R>(client: string | undefined, app: App<E, R>) {
    const now = yield* Clock.currentTimeMillis
    const idle = [...sessions].filter(([, s]) => s.running === 0).toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
    const old = idle.filter(([, s]) => isOver(s) || isIdle(s, now))
    const isOwn = ([, session]: readonly [string, Session]) => session.client === client
    const count = () => [...sessions].filter(isOwn).length
    const surplus = idle.filter(isOwn).slice(0, Math.max(0, count() + 1 - most))
    for (const [id] of new Map([...old, ...surplus])) yield* end(id, app)
    return count() < most
  })

  const opened = Effect.fnUntraced(function*(
    response: HttpServerResponse.HttpServerResponse,
    client: string | undefined
  ) {
    const id = response.headers["mcp-session-id"]
    if (id === undefined) return response
    sessions.set(id, {
      client,
      usedAt: yield* Clock.currentTimeMillis,
      running: 0,
      streaming: false,
      subscriptions: new Set(),
      ended: yield* Deferred.make<void>()
    })
    return withSubscriptions(response)
  })

  /**
   * The session counts as in use until the request's scope closes, which is when the last byte of the response was
   * sent.
   */
  const use = Effect.fnUntraced(function*(session: Session) {
    session.usedAt = yield* Clock.currentTimeMillis
    session.running++
    yield* Effect.addFinalizer(() =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        session.usedAt = now
        session.running--
      })
    )
  })

  /** The stream that sends notifications to a session. */
  const stream = Effect.fnUntraced(function*(id: string | undefined) {
    const session = id === undefined ? undefined : sessions.get(id)
    if (session === undefined) return empty(id === undefined ? 400 : 404)
    if (session.streaming) return empty(409)
    yield* use(session)
    session.streaming = true
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        session.streaming = false
      })
    )
    const heard = (yield* notices.listen).pipe(
      Stream.filter((n) => n.method !== "notifications/resources/updated" || session.subscriptions.has(n.uri)),
      Stream.map((notice) => `event: message\ndata: ${Notices.encode(notice)}\n\n`)
    )
    const alive = Stream.map(Stream.tick("15 seconds"), () => ": \n\n")
    return HttpServerResponse.stream(
      Stream.merge(heard, alive).pipe(Stream.encodeText, Stream.interruptWhen(Deferred.await(session.ended))),
      { contentType: "text/event-stream" }
    )
  })

  /** Handles a request that passed every check; `message` is a POST's body. */
  return Effect.fnUntraced(function*<E, R>(
    request: HttpServerRequest.HttpServerRequest,
    methods: ReadonlyArray<string>,
    message: unknown,
    app: App<E, R>
  ): Effect.fn.Return<
    HttpServerResponse.HttpServerResponse,
    E,
    R | Scope.Scope | HttpServerRequest.HttpServerRequest
  > {
    const id = request.headers["mcp-session-id"]
    const session = id === undefined ? undefined : sessions.get(id)
    // As for an unknown one: who may not use a session does not learn that there is one.
    if (session !== undefined && (session.client !== clientOf(request)?.name || isOver(session))) return empty(404)
    if (session !== undefined && id !== undefined) admitInto(request, id)
    if (methods.includes("initialize")) {
      const client = clientOf(request)?.name
      if (!(yield* makeRoom(client, app))) return HttpServerResponse.setHeader(empty(503), "retry-after", "60")
      const response = yield* app
      // The library sets the session's id only when the response is about to be sent.
      yield* HttpEffect.appendPreResponseHandler((_, sent) => opened(sent, client))
      return response
    }
    if (request.method === "GET" && request.headers["accept"]?.includes("text/event-stream") === true) {
      return yield* stream(id)
    }
    const subscription = session === undefined ? undefined : Option.getOrUndefined(decodeSubscription(message))
    if (session !== undefined && subscription !== undefined) {
      const { id: requestId, method, params: { uri } } = subscription
      if (method === "resources/unsubscribe") session.subscriptions.delete(uri)
      else if (session.subscriptions.size < mostSubscriptions) session.subscriptions.add(uri)
      return HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", id: requestId, result: {} })
    }
    if (session !== undefined) yield* use(session)
    const response = yield* app
    if (request.method === "DELETE" && response.status === 204 && id !== undefined) yield* forget(id)
    return response
  })
})
