import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { survivesKills } from "../layers/audit/killedCalls.ts"

describe("calls in processes that are killed", () => {
  it.live(
    "leave an audit that is whole, and no effect that is not in it, 200 times",
    () => Effect.flatMap(survivesKills(200, 4), (seen) => Effect.log(JSON.stringify(seen))),
    900_000
  )
})
