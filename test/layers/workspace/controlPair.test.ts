import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeLastTexts } from "../../../src/layers/workspace/controlPair.ts"

describe("texts of control files", () => {
  it.effect("are parsed when they differ from the last of their slot, and again after a failure", () =>
    Effect.gen(function*() {
      const once = makeLastTexts<number>()
      let parsed = 0
      const bytes = (text: string) => new TextEncoder().encode(text)
      const read = (slot: string, text: string) => once(slot, bytes(text), Effect.sync(() => ++parsed))
      const fails = once("a", bytes("wrong"), Effect.fail("no form"))
      assert.strictEqual(yield* Effect.flip(fails), "no form")
      for (
        const [slot, text, expected] of [
          ["a", "1", 1],
          ["a", "1", 1],
          ["b", "1", 2],
          ["a", "2", 3],
          ["a", "1", 4],
          ["b", "1", 2],
          ["a", "", 5],
          ["a", "", 5],
          ["a", "wrong", 6]
        ] as const
      ) assert.strictEqual(yield* read(slot, text), expected)
    }))
})
