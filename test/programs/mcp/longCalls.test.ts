// oxlint-disable typescript/no-explicit-any -- a tool answers any JSON, and each assertion says what it is
// Calls that take longer than a client waits.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { McpSchema, McpTest } from "effect/ai"
import { TestClock } from "effect/testing"
import * as LongCalls from "../../../src/programs/mcp/longCalls.ts"
import * as Server from "../../../src/programs/mcp/server.ts"
import { stdioProtocols } from "../../../src/programs/mcp/transport/protocols.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import type { RunningCall } from "../../../src/services/call/RunningCalls.ts"
import { RunningCalls } from "../../../src/services/call/RunningCalls.ts"
import * as MemoryProject from "./memoryProject.ts"

/** Lets time pass until a call is answered, each second after everything that could go on in the one before. */
const passing = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(
    call,
    Effect.forever(Effect.andThen(TestClock.adjust("1 second"), Effect.repeat(Effect.yieldNow, { times: 500 })))
  )

const connect = Effect.gen(function*() {
  const project = yield* MemoryProject.make
  const server = yield* Server.make({
    project: "",
    client: "tester",
    presence: { nobody: undefined, agent: undefined }
  })
  const makeClient = McpTest.makeClient(Layer.provide(server.registrations, project.layer), {
    protocols: stdioProtocols,
    protocolVersion: "2025-11-25",
    clientCapabilities: new McpSchema.ClientCapabilities({})
  })
  const client = yield* makeClient
  const execute = (id: string, parameters: Record<string, unknown> = {}) =>
    Effect.map(
      client.callTool({ name: "execute", arguments: { item_id: id, parameters } }),
      ({ structuredContent }) => structuredContent as any
    )
  /** A call that is answered as running. */
  const start = Effect.fnUntraced(function*(parameters: Record<string, unknown>) {
    const answer = yield* passing(execute("slow", parameters))
    assert.strictEqual(answer.status, "running")
    return answer.data.call_id as string
  })
  const audit = project.use(Effect.flatMap(AuditLog, (log) => log.read({ limit: 1000 })))
  return { audit, execute, project, server, start }
})

describe("a call that takes long", () => {
  it.effect("is answered as running, and its result is read later, once", () =>
    Effect.gen(function*() {
      const { audit, execute, start } = yield* connect
      const id = yield* start({ held: true })
      assert.deepInclude((yield* passing(execute("call.result", { call_id: id, wait: 10 }))).data, {
        call_id: id,
        status: "running"
      })
      yield* execute("slow", { release: true })
      const { data } = yield* execute("call.result", { call_id: id })
      assert.deepInclude(data, { call_id: id, status: "success" })
      assert.strictEqual((yield* execute("call.result", { call_id: id })).error.code, "CALL_UNKNOWN")
      const entries = (yield* audit).filter((entry: any) => entry.call === id)
      assert.deepStrictEqual(entries.map(({ kind }) => kind), ["request", "result"])
    }))

  it.effect("is stopped by call.stop, and the audit says so", () =>
    Effect.gen(function*() {
      const { audit, execute, project, start } = yield* connect
      const id = yield* start({ forever: true })
      assert.strictEqual(project.interrupted, 0)
      assert.deepInclude((yield* execute("call.stop", { call_id: id })).data, { call_id: id, status: "stopped" })
      assert.strictEqual(project.interrupted, 1)
      const entries = (yield* audit).filter((entry: any) => entry.call === id)
      assert.lengthOf(entries, 2)
      assert.strictEqual((yield* execute("call.stop", { call_id: id })).error.code, "CALL_UNKNOWN")
    }))

  it.effect("ends with its session, and with no other", () =>
    Effect.gen(function*() {
      const { project, server, start } = yield* connect
      yield* start({ forever: true })
      yield* server.endSession("another session")
      assert.strictEqual(project.interrupted, 0)
    }))

  it.effect("leaves to its session's end what is done in each project, once", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const calls = LongCalls.make()
      const note = (text: string) => Effect.sync(() => void done.push(text))
      for (const project of ["/a", "/b", "/a"]) calls.atEnd("s1", project, note(project))
      calls.atEnd("s2", "/a", note("other"))
      yield* calls.end("s1")
      yield* calls.end("s1")
      assert.deepStrictEqual(done, ["/a", "/b"])
    }))

  it.effect("that is done in time is answered as ever", () =>
    Effect.gen(function*() {
      const { execute } = yield* connect
      assert.strictEqual((yield* execute("add", { a: 1, b: 2 })).data.sum, 3)
    }))

  it.effect("is unknown where it never was", () =>
    Effect.gen(function*() {
      const { execute } = yield* connect
      for (const tool of ["call.result", "call.stop"]) {
        assert.strictEqual((yield* execute(tool, { call_id: "none" })).error.code, "CALL_UNKNOWN")
      }
    }))
})

describe("long calls", () => {
  const caller = (session: string, client = "a") => ({ surface: "mcp" as const, client, session })
  const start = Effect.fnUntraced(function*(calls: LongCalls.LongCalls, scope: Scope.Scope, session: string) {
    let ended = 0
    const fiber = yield* Effect.forkChild(calls.follow(scope, {
      caller: caller(session),
      pinId: () => "one",
      run: (setLimit) =>
        Effect.andThen(setLimit("1 second" as never), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.sync(() => ended++))
        ),
      show: () => ({})
    }))
    return { fiber, ended: () => ended }
  })

  it.effect("of a session end with it", () =>
    Effect.gen(function*() {
      const calls = LongCalls.make()
      const scope = yield* Effect.scope
      const [mine, other] = [yield* start(calls, scope, "s1"), yield* start(calls, scope, "s2")]
      yield* TestClock.adjust("2 seconds")
      yield* calls.end("s1")
      assert.deepStrictEqual([mine.ended(), other.ended()], [1, 0])
    }))

  it.effect("all end with their server", () =>
    Effect.gen(function*() {
      const calls = LongCalls.make()
      const scope = yield* Scope.make()
      const one = yield* start(calls, scope, "s1")
      yield* TestClock.adjust("2 seconds")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(one.ended(), 1)
    }))

  it.effect("end when their client calls them off before they were answered", () =>
    Effect.gen(function*() {
      const calls = LongCalls.make()
      const one = yield* start(calls, yield* Effect.scope, "s1")
      yield* Effect.yieldNow
      yield* Fiber.interrupt(one.fiber)
      assert.strictEqual(one.ended(), 1)
    }))

  it.effect("that were not answered yet end with their session too", () =>
    Effect.gen(function*() {
      const calls = LongCalls.make()
      const scope = yield* Effect.scope
      const [mine, other] = [yield* start(calls, scope, "s1"), yield* start(calls, scope, "s2")]
      yield* Effect.yieldNow
      yield* calls.end("s1")
      assert.deepStrictEqual([mine.ended(), other.ended()], [1, 0])
    }))

  it.effect("end when their client calls them off while they start", () =>
    Effect.gen(function*() {
      const calls = LongCalls.make()
      const scope = yield* Effect.scope
      let ended = 0
      const called = yield* Effect.forkChild(Effect.withFiber((client) =>
        calls.follow(scope, {
          caller: caller("s1"),
          pinId: () => "one",
          run: () =>
            Effect.suspend(() => {
              client.interruptUnsafe()
              return Effect.never
            }).pipe(Effect.onInterrupt(() => Effect.sync(() => ended++))),
          show: () => ({})
        })
      ))
      yield* Fiber.await(called)
      assert.strictEqual(ended, 1)
    }))

  it.effect("can be stopped however many there are", () =>
    Effect.gen(function*() {
      const calls = LongCalls.make()
      const scope = yield* Effect.scope
      let first: RunningCall | undefined
      let ended = 0
      const most = 1_100
      for (let i = 0; i < most; i++) {
        const find = RunningCalls.useSync((all) => {
          if (i === most - 1) first = all.find("0")
        })
        yield* calls.follow(scope, {
          caller: caller("s1"),
          pinId: () => String(i),
          run: (setLimit) =>
            Effect.andThen(Effect.andThen(find, setLimit(Duration.zero)), Effect.never).pipe(
              Effect.onInterrupt(() => Effect.sync(() => ended++))
            ),
          show: () => ({})
        })
      }
      yield* first?.stop ?? Effect.void
      assert.strictEqual(ended, 1)
      yield* calls.end("s1")
      assert.strictEqual(ended, most)
    }))
})
