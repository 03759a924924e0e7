import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { TestClock } from "effect/testing"
import * as HttpSessions from "../../../../src/programs/mcp/transport/httpSessions.ts"
import * as Notices from "../../../../src/programs/mcp/transport/notices.ts"

/** The sessions of a server whose protocol library opens one for each `initialize`, and what has ended. */
const world = Effect.gen(function*() {
  const ended: Array<string> = []
  const inSession = yield* HttpSessions.make(
    "/mcp",
    yield* Notices.make,
    (id) => Effect.sync(() => ended.push(id))
  )
  let opened = 0
  const library = Effect.sync(() => HttpServerResponse.empty({ status: 200 }))
  const opening = Effect.sync(() =>
    HttpServerResponse.empty({ status: 200, headers: { "mcp-session-id": `s${opened++}` } })
  )
  const send = Effect.fnUntraced(function*(session: string | undefined, app: typeof library, methods = ["ping"]) {
    const headers: Record<string, string> = session === undefined ? {} : { "mcp-session-id": session }
    const request = HttpServerRequest.fromWeb(new Request("http://kiwi/mcp", { method: "POST", headers }))
    let status = 0
    yield* HttpEffect.toHandled(inSession(request, methods, {}, app), (_, response) =>
      Effect.sync(() => {
        status = response.status
      })).pipe(Effect.provideService(HttpServerRequest.HttpServerRequest, request))
    return status
  })
  return {
    ended,
    open: send(undefined, opening, ["initialize"]),
    ping: (session: string) => send(session, library),
    wait: (session: string) => send(session, Effect.delay(library, "2 hours"))
  }
})

describe("a session over HTTP", () => {
  it.effect("ends when it was idle for half an hour, though nobody opens another", () =>
    Effect.gen(function*() {
      const { ended, open, ping } = yield* world
      yield* open
      yield* open
      yield* TestClock.adjust("20 minutes")
      assert.strictEqual(yield* ping("s1"), 200)
      yield* TestClock.adjust("20 minutes")
      assert.deepStrictEqual(ended, ["s0"])
      assert.strictEqual(yield* ping("s0"), 404)
      assert.strictEqual(yield* ping("s1"), 200)
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(ended, ["s0", "s1"])
      yield* open
      assert.deepStrictEqual(ended, ["s0", "s1"])
    }))

  it.effect("does not end while a request of it runs", () =>
    Effect.gen(function*() {
      const { ended, open, ping, wait } = yield* world
      yield* open
      yield* Effect.forkChild(wait("s0"))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(ended, [])
      assert.strictEqual(yield* ping("s0"), 200)
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(ended, ["s0"])
    }))
})
