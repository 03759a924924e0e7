// What both backends of CallLimits keep.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Layer, type Scope } from "effect"
import * as TestClock from "effect/testing/TestClock"
import type { Caller } from "../../../src/services/call/Caller.ts"
import { CallLimits } from "../../../src/services/limit/CallLimits.ts"
import type { Limits, Rate } from "../../../src/services/limit/Limits.ts"

export const caller: Caller = { surface: "mcp", client: "ada", session: "one" }

export const perMinute = (tokens: number): Rate => ({ tokens, period: 60_000 })

interface Given {
  readonly rate?: Limits<Rate>
  readonly concurrency?: Limits<number>
  readonly tool?: string
  readonly by?: Partial<Caller>
}

/** One call, and the way back of its places. */
export const enter = ({ by = {}, concurrency = {}, rate = {}, tool = "echo" }: Given) =>
  Effect.gen(function*() {
    const limits = yield* CallLimits
    const held: Array<() => void> = []
    const ids = [tool.split("/").at(-1)!, tool] as const
    yield* Effect.onError(
      limits.enter({ caller: { ...caller, ...by }, ids, rate, concurrency }, (leave) => held.push(leave)),
      () => Effect.sync(() => held.forEach((leave) => leave()))
    )
    return () => held.splice(0).forEach((leave) => leave())
  })

export const contract = (
  name: string,
  layer: Effect.Effect<Layer.Layer<CallLimits>, never, Scope.Scope>
) => {
  const test = (title: string, body: Effect.Effect<unknown, unknown, CallLimits | Scope.Scope>) =>
    it.effect(title, () => Effect.flatMap(layer, (one) => Effect.provide(body, one)))

  describe(`${name} keeps rates`, () => {
    test(
      "a full bucket at once, then as many as time brings, and says when to come again",
      Effect.gen(function*() {
        const rate = { caller: perMinute(6) }
        for (let i = 0; i < 6; i++) yield* enter({ rate })
        const error = yield* Effect.flip(enter({ rate }))
        assert.deepInclude(error, {
          _tag: "RateLimited",
          tool: "echo",
          limit: "limits.rate.caller: 6/m",
          after: 10_000,
          retryable: true
        })
        yield* TestClock.adjust("10 seconds")
        yield* enter({ rate })
        assert.strictEqual((yield* Effect.flip(enter({ rate })))._tag, "RateLimited")
      })
    )

    test(
      "refused calls do not count",
      Effect.gen(function*() {
        const rate = { caller: perMinute(6) }
        for (let i = 0; i < 6; i++) yield* enter({ rate })
        for (let i = 0; i < 100; i++) yield* Effect.flip(enter({ rate }))
        yield* TestClock.adjust("10 seconds")
        yield* enter({ rate })
      })
    )

    test(
      "a wait under two seconds is waited, each in its turn, and an interrupted one is given back",
      Effect.gen(function*() {
        const rate = { caller: perMinute(60) }
        for (let i = 0; i < 60; i++) yield* enter({ rate })
        const first = yield* Effect.forkChild(enter({ rate }), { startImmediately: true })
        assert.strictEqual((yield* Effect.flip(enter({ rate })))._tag, "RateLimited", "it would wait two seconds")
        yield* Fiber.interrupt(first)
        const second = yield* Effect.forkChild(enter({ rate }), { startImmediately: true })
        yield* TestClock.adjust("999 millis")
        assert.isUndefined(second.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(second)
      })
    )

    test(
      "tools of one pattern share one bucket, and every limit that fits holds",
      Effect.gen(function*() {
        const rate = {
          caller: { tokens: 100, period: 3_600_000 },
          tools: { "github/*": perMinute(4), "shell.run": perMinute(1) }
        }
        for (const tool of ["github/a", "github/b", "github/c", "github/d"]) yield* enter({ rate, tool })
        assert.include(
          (yield* Effect.flip(enter({ rate, tool: "github/e" }))).message,
          "limits.rate.tools.github/*: 4/m"
        )
        yield* enter({ rate, tool: "core/shell.run" })
        assert.include((yield* Effect.flip(enter({ rate, tool: "core/shell.run" }))).message, "shell.run: 1/m")
        for (let i = 0; i < 95; i++) yield* enter({ rate, tool: "echo" })
        assert.include((yield* Effect.flip(enter({ rate, tool: "echo" }))).message, "caller: 100/h")
      })
    )

    for (
      const [what, by] of [
        ["label", { label: "another" }],
        ["session", { session: "two" }],
        ["surface", { surface: "cli" }]
      ] as const
    ) {
      test(
        `another ${what} is the same caller`,
        Effect.gen(function*() {
          const rate = { caller: perMinute(2) }
          yield* enter({ rate })
          yield* enter({ rate, by })
          assert.strictEqual((yield* Effect.flip(enter({ rate, by })))._tag, "RateLimited")
        })
      )
    }

    test(
      "another client has counters of its own",
      Effect.gen(function*() {
        const rate = { caller: perMinute(1) }
        yield* enter({ rate })
        yield* enter({ rate, by: { client: "bob" } })
      })
    )

    test(
      "thousands of tools and of other callers give nothing back",
      Effect.gen(function*() {
        const rate = { caller: perMinute(3_500) }
        for (let i = 0; i < 3_500; i++) yield* enter({ rate, tool: `tool-${i}` })
        for (let i = 0; i < 3_000; i++) yield* enter({ rate, by: { client: `client-${i}` } })
        const error = yield* Effect.flip(enter({ rate: { caller: perMinute(1) } }))
        assert.strictEqual(error._tag, "RateLimited")
      })
    )

    test(
      "a clock that goes back brings no calls",
      Effect.gen(function*() {
        const rate = { caller: perMinute(2) }
        yield* TestClock.setTime(1_000_000)
        yield* enter({ rate })
        yield* enter({ rate })
        yield* TestClock.setTime(0)
        assert.strictEqual((yield* Effect.flip(enter({ rate })))._tag, "RateLimited")
        yield* TestClock.adjust("30 seconds")
        yield* enter({ rate })
      })
    )

    test(
      "a lower limit counts at once",
      Effect.gen(function*() {
        yield* enter({ rate: { caller: perMinute(100) } })
        yield* enter({ rate: { caller: perMinute(1) } })
        assert.strictEqual((yield* Effect.flip(enter({ rate: { caller: perMinute(1) } })))._tag, "RateLimited")
      })
    )
  })

  describe(`${name} keeps places`, () => {
    const concurrency = { caller: 2 }

    test(
      "a call waits for a place, and gets the first that is given back",
      Effect.gen(function*() {
        const leave = yield* enter({ concurrency })
        yield* enter({ concurrency })
        const third = yield* Effect.forkChild(enter({ concurrency }), { startImmediately: true })
        yield* TestClock.adjust("1999 millis")
        assert.isUndefined(third.pollUnsafe())
        leave()
        yield* Fiber.join(third)
      })
    )

    test(
      "after two seconds it is refused, and was not counted",
      Effect.gen(function*() {
        const rate = { caller: perMinute(3) }
        const leave = yield* enter({ concurrency, rate })
        yield* enter({ concurrency, rate })
        const third = yield* Effect.forkChild(Effect.flip(enter({ concurrency, rate })), { startImmediately: true })
        yield* TestClock.adjust("2 seconds")
        assert.deepInclude(yield* Fiber.join(third), {
          _tag: "ConcurrencyLimited",
          limit: "limits.concurrency.caller: 2",
          retryable: true
        })
        leave()
        yield* enter({ concurrency, rate })
      })
    )

    test(
      "whoever is interrupted while waiting takes no place",
      Effect.gen(function*() {
        const leave = yield* enter({ concurrency })
        const other = yield* enter({ concurrency })
        const waiting = yield* Effect.forkChild(enter({ concurrency }), { startImmediately: true })
        yield* Fiber.interrupt(waiting)
        leave()
        other()
        yield* enter({ concurrency })
        yield* enter({ concurrency })
      })
    )

    test(
      "whoever is interrupted just when it gets a place gives it back",
      Effect.gen(function*() {
        const leave = yield* enter({ concurrency: { caller: 1 } })
        const waiting = yield* Effect.forkChild(enter({ concurrency: { caller: 1 } }), { startImmediately: true })
        waiting.interruptUnsafe()
        leave()
        yield* Fiber.await(waiting)
        const third = yield* Effect.forkChild(enter({ concurrency: { caller: 1 } }), { startImmediately: true })
        assert.isDefined(third.pollUnsafe())
      })
    )

    test(
      "each pattern and each client has its own places",
      Effect.gen(function*() {
        const own = { tools: { "github/*": 1, "shell.run": 1 } }
        yield* enter({ concurrency: own, tool: "github/a" })
        yield* enter({ concurrency: own, tool: "core/shell.run" })
        yield* enter({ concurrency: own, tool: "github/a", by: { client: "bob" } })
        const second = yield* Effect.forkChild(Effect.flip(enter({ concurrency: own, tool: "github/b" })), {
          startImmediately: true
        })
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual((yield* Fiber.join(second))._tag, "ConcurrencyLimited")
      })
    )
  })
}
