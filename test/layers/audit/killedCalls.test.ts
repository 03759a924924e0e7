import { describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { survivesKills } from "./killedCalls.ts"

// The same kills each time; test/long/killedCalls.test.ts makes 200.
describe("calls in processes that are killed", () => {
  it.live(
    "leave an audit that is whole, and no effect that is not in it",
    () => Random.withSeed(Effect.tap(survivesKills(20, 3), (seen) => Effect.log(JSON.stringify(seen))), "killed calls"),
    120_000
  )
})
