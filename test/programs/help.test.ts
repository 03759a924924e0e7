import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { help, topics } from "../../src/programs/help.ts"
import { kernel } from "../layers/proxy/calls.ts"

describe("help", () => {
  for (const topic of topics) {
    it.effect(`has a guide about ${topic}, from the package itself, short enough to read on the way`, () =>
      Effect.gen(function*() {
        const { guide, state } = yield* help(topic)
        assert.isAbove(guide.length, 200)
        assert.isAtMost(guide.length, 2_000)
        assert.deepStrictEqual(state, { project: "/memory/project", trust: "trusted", off: [] })
      }).pipe(Effect.provide(kernel({ signatures: "checked" }))))
  }

  it.effect("says what is off, and what to do about it", () =>
    Effect.gen(function*() {
      const { state } = yield* help("overview")
      assert.strictEqual(state.trust, "restricted")
      assert.lengthOf(state.off, 2)
      assert.match(state.off[0] ?? "", /kiwi trust project/)
      assert.include(state.off[1], "Twin.yaml")
    }).pipe(Effect.provide(kernel({ project: { "tools/Twin.yaml": "" }, trusted: false }))))

  it.effect("says at most so much", () =>
    Effect.gen(function*() {
      const { state } = yield* help("overview")
      assert.lengthOf(state.off, 11)
      assert.match(state.off.at(-1) ?? "", /90 more/)
    }).pipe(Effect.provide(kernel({
      project: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`tools/Bad${n}.yaml`, ""]))
    }))))
})
