import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { inWorld } from "./fileWorld.ts"

describe("filesystem", () => {
  it.effect("reads", () =>
    inWorld({}, (world) => Effect.gen(function*() {
      world.put("a.txt", "1\n2\n3\n")
      assert.deepStrictEqual(yield* world.run("read", { path: "a.txt" }), {})
    })))
})
