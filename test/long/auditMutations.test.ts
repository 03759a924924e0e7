// Every byte of a small audit is changed, and every line deleted, swapped, doubled, inserted: `verify` names the place.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { evidence, harm, missed, mutations } from "../layers/audit/evidence.ts"

describe("verify", () => {
  it.live("names the place of every single change", () =>
    Effect.gen(function*() {
      const found = yield* evidence
      const lost: Array<string> = []
      let count = 0
      for (const { bytes, path } of found.files) {
        const name = path.endsWith("audit-heads") ? "audit-heads" : path.slice(found.made.audit.length + 1)
        const masks: Array<number> = []
        for (let at = 0; at < bytes.length; at++) masks.push(yield* Random.nextIntBetween(1, 255))
        for (const mutation of mutations(bytes, name === "audit-heads", (at) => masks[at]!)) {
          if (mutation.bytes?.equals(bytes) === true) continue
          count++
          const miss = missed(yield* harm(found, path, mutation.bytes), name, mutation)
          if (miss !== undefined) lost.push(miss)
        }
      }
      assert.deepStrictEqual(lost, [])
      assert.isAbove(count, 10_000)
      yield* Effect.log(`${count} changes`)
    }), 900_000)
})
