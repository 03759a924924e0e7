// The loop guard over whole calls: what is warned of, slowed and refused, and what is let through.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Schema } from "effect"
import * as TestClock from "effect/testing/TestClock"
import type { Program } from "../../../src/layers/process/ChildProcessesMemory.ts"
import type { CallWarning } from "../../../src/services/call/CallWarning.ts"
import { CallWarnings } from "../../../src/services/call/CallWarning.ts"
import { innermost } from "../../../src/services/error/KiwiError.ts"
import type { SettingsValues } from "../../../src/services/settings/Settings.ts"
import { call, caller, entries, kernel, object, tool } from "../proxy/calls.ts"

const any = { type: "string" }
const program = (command: string, more: Schema.JsonObject = {}) =>
  tool({
    input_schema: {
      type: "object",
      properties: { text: any, nonce: {}, at: {}, id: {}, attempt: {}, options: {}, request_id: {}, timestamp: {} }
    },
    config: { command, args: ["--", "{text}"], output: "text" },
    ...more
  })

const items = {
  "tools/status.yaml": program("say"),
  "tools/other.yaml": program("say"),
  "tools/third.yaml": program("say"),
  "tools/fourth.yaml": program("say"),
  "tools/broken.yaml": program("fail"),
  "tools/tests.yaml": program("timed"),
  "tools/clock.yaml": program("count"),
  "tools/long.yaml": program("long"),
  "tools/write.yaml": program("say", { mutates_state: true }),
  "tools/strict.yaml": program("say", { input_schema: object({ text: any }, "text") })
}

const world = (settings: Partial<SettingsValues> = {}) => {
  let ran = 0
  const warned: Array<CallWarning> = []
  const exit = (code: number, stdout: () => string): Program => () =>
    Effect.sync(() => {
      ran++
      return { stdout: stdout(), code }
    })
  const layer = Layer.mergeAll(
    kernel({
      project: items,
      settings,
      programs: {
        say: exit(0, () => "done"),
        fail: exit(1, () => "no such host"),
        timed: exit(1, () => `1 failed in ${ran}.5s at 12:0${ran % 10}:00`),
        count: exit(0, () => String(ran)),
        long: exit(0, () => "the same long answer ".repeat(20))
      }
    }),
    Layer.succeed(CallWarnings, { warn: (warning) => Effect.sync(() => warned.push(warning)) })
  )
  return { layer, warned, ran: () => ran }
}

/** What a call answers with: its code, or "ok", and "!" with a warning. Waits as long as the call does. */
const answer = Effect.fnUntraced(
  function*(warned: Array<CallWarning>, item: string, parameters: Schema.JsonObject = {}) {
    const before = warned.length
    const running = yield* Effect.forkChild(Effect.result(call(item, parameters)), { startImmediately: true })
    for (let i = 0; i < 3 && running.pollUnsafe() === undefined; i++) {
      yield* TestClock.adjust(`${Math.min(i, 1)} seconds`)
    }
    const result = yield* Fiber.join(running)
    return result._tag === "Success"
      ? `ok${result.success.warnings.some(({ code }) => code === "LOOP_SUSPECTED") ? "!" : ""}`
      : `${innermost(result.failure)._tag}${warned.length > before ? "!" : ""}`
  }
)

const scenario = (
  title: string,
  steps: ReadonlyArray<readonly [item: string, parameters: Schema.JsonObject]>,
  expected: ReadonlyArray<string>,
  settings?: Partial<SettingsValues>
) =>
  it.effect(title, () => {
    const { layer, warned } = world(settings)
    return Effect.gen(function*() {
      const got: Array<string> = []
      for (const [item, parameters] of steps) got.push(yield* answer(warned, item, parameters))
      assert.deepStrictEqual(got, expected)
    }).pipe(Effect.provide(layer))
  })

const times = <A>(count: number, ...them: ReadonlyArray<A>): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => them[index % them.length]!)
const failed = (from: number, to: number, code = "ToolFailed") =>
  Array.from({ length: to - from + 1 }, (_, index) => `${code}${from + index >= 5 ? "!" : ""}`)

describe("a call that fails in the same way", () => {
  scenario(
    "is warned of from five on, and refused from ten on",
    times(13, ["broken", {}] as const),
    [...failed(1, 10), "LoopDetected", "LoopDetected", "LoopDetected"]
  )
  scenario(
    "with its order of keys, case and blanks changed is the same",
    times(
      11,
      ["broken", { text: "Some host", nonce: "1" }] as const,
      ["broken", { nonce: "1", text: "some  host!" }] as const
    ),
    [...failed(1, 10), "LoopDetected"]
  )
  scenario(
    "at other times is the same failure",
    times(11, ["tests", {}] as const),
    [...failed(1, 10), "LoopDetected"]
  )
  scenario(
    "with other arguments each time is not the same",
    Array.from({ length: 12 }, (_, index) => ["broken", { text: `host-${index}` }] as const),
    times(12, "ToolFailed")
  )
  const nonces: ReadonlyArray<readonly [what: string, of: (index: number) => Schema.JsonObject]> = [
    ["a counter", (index) => ({ text: "some host", nonce: index })],
    ["a counter as text", (index) => ({ text: "some host", attempt: `try-${index}` })],
    ["a UUID", (index) => ({ text: "some host", id: `00000000-0000-4000-8000-00000000000${index % 10}` })],
    ["a digest", (index) => ({ text: "some host", id: index.toString(16).repeat(40).slice(0, 40) })],
    ["milliseconds", (index) => ({ text: "some host", at: 1_790_000_000_000 + index * 317 })],
    ["a time", (index) => ({ text: "some host", at: `2026-11-23T04:05:${10 + index}.123Z` })],
    ["a time in its words", (index) => ({ text: `some host at 2026-11-23T04:05:${10 + index}Z` })],
    ["a number in its words", (index) => ({ text: `some host, again (${index})` })],
    ["a nonce deep inside", (index) => ({ text: "some host", options: { list: [{ request_id: `r${index}` }] } })],
    ["two nonces", (index) => ({ text: "some host", request_id: `r${index}`, timestamp: index })],
    ["a nonce alone", (index) => ({ nonce: index })]
  ]
  for (const [what, of] of nonces) {
    scenario(
      `with ${what} in it is the same`,
      Array.from({ length: 12 }, (_, index) => ["broken", of(index)] as const),
      [...failed(1, 10), "LoopDetected", "LoopDetected"]
    )
  }
  scenario(
    "in turn with others, each with a nonce, is a cycle",
    Array.from(
      { length: 12 },
      (_, index) => ["broken", { text: ["one", "two", "three", "four"][index % 4]!, nonce: index }] as const
    ),
    [...times(7, "ToolFailed"), ...times(3, "ToolFailed!"), "LoopDetected", "LoopDetected"]
  )
  scenario(
    "between others is warned of, and not refused while the others go on",
    times(12, ["broken", {}] as const, ["clock", {}] as const),
    times(12, "ToolFailed", "ok").map((one, index) => index >= 8 && one !== "ok" ? `${one}!` : one)
  )
  scenario(
    "before it could run is warned of too",
    times(6, ["strict", {}] as const),
    [...failed(1, 6, "ParametersInvalid")]
  )
  scenario(
    "for a tool that is not there is warned of too",
    times(6, ["nothing", {}] as const),
    failed(1, 6, "ItemNotFound")
  )
  scenario(
    "is never refused in a window below ten, and never warned of below five",
    times(12, ["broken", {}] as const),
    times(12, "ToolFailed"),
    { loopWindow: 4 }
  )

  it.effect("is run again after a minute, and the refusal says why, when and what to do", () => {
    const { layer, ran, warned } = world()
    return Effect.gen(function*() {
      for (let i = 0; i < 10; i++) yield* answer(warned, "broken")
      const error = yield* Effect.flip(call("broken"))
      assert.deepInclude(error, {
        _tag: "LoopDetected",
        tool: "broken",
        pattern: "repeat",
        calls: ["broken: TOOL_FAILED"],
        count: 10,
        after: 60_000,
        refusal: "denied",
        rule: "loop-guard"
      })
      assert.include(error.remediation ?? "", "60 s")
      assert.deepInclude((yield* entries).at(-1), { kind: "result", outcome: "denied", rule: "loop-guard" })
      assert.strictEqual(ran(), 10)
      yield* answer(warned, "status")
      assert.strictEqual(yield* answer(warned, "broken"), "LoopDetected", "another call in between changes nothing")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* answer(warned, "broken"), "ToolFailed!")
      assert.strictEqual(ran(), 12)
      assert.match(warned[0]!.message, /5 of your last calls .*broken: TOOL_FAILED.*Change the arguments/s)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is another session's own business", () => {
    const { layer, warned } = world()
    return Effect.gen(function*() {
      for (let i = 0; i < 10; i++) yield* answer(warned, "broken")
      const other = yield* Effect.flip(call("broken", {}, { caller: { ...caller, session: "two" } }))
      assert.strictEqual(innermost(other)._tag, "ToolFailed")
      const label = yield* Effect.flip(call("broken", {}, { caller: { ...caller, label: "somebody else" } }))
      assert.strictEqual(label._tag, "LoopDetected", "a label is no other caller")
    }).pipe(Effect.provide(layer))
  })
})

describe("a change", () => {
  const fail: readonly [string, Schema.JsonObject] = ["broken", {}]
  scenario(
    "is progress: what failed before may be tried again",
    [...times(10, fail), ["write", { text: "a" }], ...times(5, fail)],
    [...failed(1, 10), "ok", ...failed(1, 5)]
  )
  scenario(
    "that was made before is no progress",
    times(14, ["write", { text: "a" }], fail),
    [
      ...times(10, "ok", "ToolFailed").map((one, index) => index >= 4 ? `${one}!` : one),
      ...times(4, "LoopDetected")
    ]
  )
  scenario(
    "to and fro between two is no progress",
    times(13, ["write", { text: "a" }] as const, ["write", { text: "b" }] as const),
    [...times(5, "ok"), ...times(6, "ok!"), "LoopDetected", "LoopDetected"]
  )
  scenario(
    "with a nonce in it is made again",
    Array.from({ length: 12 }, (_, index) => ["write", { text: "a", nonce: String(index) }] as const),
    [...times(4, "ok"), ...times(6, "ok!"), "LoopDetected", "LoopDetected"]
  )
  scenario(
    "of one number after the other is no loop",
    Array.from({ length: 12 }, (_, index) => ["write", { text: String(index) }] as const),
    times(12, "ok")
  )
  scenario(
    "of one file after the other is no loop",
    Array.from({ length: 20 }, (_, index) => ["write", { text: `file-${index}` }] as const),
    times(20, "ok")
  )
})

describe("calls in turn", () => {
  const four = ["status", "other", "third", "fourth"] as const
  for (const [length, pattern, first] of [[2, "alternation", 5], [3, "cycle", 6], [4, "cycle", 8]] as const) {
    it.effect(`${length} of them are warned of from call ${first} on, with the calls, and then slowed`, () => {
      const { layer } = world()
      return Effect.gen(function*() {
        for (let index = 1; index <= 10; index++) {
          const { warnings } = yield* call(four[(index - 1) % length]!)
          assert.strictEqual(warnings.length > 0, index >= first, String(index))
          if (index < first) continue
          assert.include(warnings[0]!.message, pattern === "cycle" ? "in a circle" : "two in turn")
          for (const name of four.slice(0, length)) assert.include(warnings[0]!.message, `${name}: success`)
        }
      }).pipe(Effect.provide(layer))
    })
  }
  scenario(
    "of which one answers something else each time are no loop",
    times(16, ["status", {}] as const, ["clock", {}] as const).slice(0, 8),
    times(8, "ok")
  )
})

describe("a call that only reads", () => {
  it.effect("is polled forty times: from ten on once a second, and never refused", () => {
    const { layer, ran, warned } = world()
    return Effect.gen(function*() {
      for (let i = 0; i < 40; i++) assert.match(yield* answer(warned, "status"), /^ok/)
      assert.strictEqual(ran(), 40)
      assert.strictEqual(yield* Clock.currentTimeMillis, 30_000)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is not slowed if it comes once a second anyway", () => {
    const { layer, warned } = world()
    return Effect.gen(function*() {
      for (let i = 0; i < 40; i++) {
        assert.match(yield* answer(warned, "status"), /^ok/)
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual(yield* Clock.currentTimeMillis, 40_000)
    }).pipe(Effect.provide(layer))
  })

  scenario("and answers something else each time is no loop", times(20, ["clock", {}] as const), times(20, "ok"))
  scenario(
    "with a nonce is warned of if its answer is long",
    Array.from({ length: 12 }, (_, index) => ["long", { nonce: `n${index}` }] as const),
    times(12, "ok").map((one, index) => index >= 4 ? `${one}!` : one)
  )
  scenario(
    "with other arguments and a short answer is no loop",
    Array.from({ length: 12 }, (_, index) => ["status", { nonce: `n${index}` }] as const),
    times(12, "ok")
  )
})

it.effect("places are given back by calls that fail, are refused or are interrupted", () => {
  const never: Program = () => Effect.never
  const layer = kernel({
    project: { "tools/never.yaml": program("never"), "tools/broken.yaml": program("fail") },
    settings: { limitsConcurrency: { caller: 1 }, loopWindow: 1 },
    programs: { never, fail: () => Effect.succeed({ code: 1 }) }
  })
  return Effect.gen(function*() {
    for (let i = 0; i < 3; i++) {
      yield* Effect.flip(call("broken"))
      const running = yield* Effect.forkChild(call("never"), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      const refused = yield* Effect.forkChild(Effect.flip(call("broken")), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(refused))._tag, "ConcurrencyLimited")
      yield* Fiber.interrupt(running)
    }
  }).pipe(Effect.provide(layer))
})

it.effect("a call above the rate is refused with its rule in the audit, and nothing runs", () => {
  const { layer, ran } = world({ limitsRate: { tools: { "sta*": { tokens: 2, period: 3_600_000 } } } })
  return Effect.gen(function*() {
    yield* call("status")
    yield* call("status")
    assert.deepInclude(yield* Effect.flip(call("status")), { _tag: "RateLimited", retryable: true, after: 1_800_000 })
    assert.deepInclude((yield* entries).at(-1), { outcome: "denied", rule: "limits.rate.tools.sta*: 2/h" })
    assert.strictEqual(ran(), 2)
    yield* call("other")
  }).pipe(Effect.provide(layer))
})
