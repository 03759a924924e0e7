import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { refusedLately } from "../../src/programs/inbox.ts"
import { call, echo, kernel } from "../layers/proxy/calls.ts"

const within = Array.from({ length: 9 }, (_, at) => ({ call: `c${at}`, tool: "echo" }))
const refused = (callId: string) => Effect.flip(call("echo", { text: "x" }, { callId, within }))

describe("what was refused lately", () => {
  it.effect("is what was refused within a week, the newest first", () =>
    Effect.gen(function*() {
      yield* refused("first")
      yield* TestClock.adjust("3 days")
      yield* refused("second")
      assert.deepStrictEqual((yield* refusedLately).map((one) => one.call), ["second", "first"])
      yield* TestClock.adjust("5 days")
      assert.deepStrictEqual((yield* refusedLately).map((one) => one.call), ["second"])
      yield* TestClock.adjust("3 days")
      assert.deepStrictEqual(yield* refusedLately, [])
    }).pipe(Effect.provide(kernel({ project: { "tools/echo.yaml": echo } }))))
})
