import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { editDistance } from "../../../src/services/error/editDistance.ts"
import { nearIds } from "../../../src/services/item/nearIds.ts"

const Word = Schema.Array(Schema.Literals(["a", "b", "c"])).pipe(Schema.check(Schema.isMaxLength(6)))

describe("near ids", () => {
  it("count insertions, deletions, replacements and swapped neighbours", () => {
    assert.strictEqual(editDistance("abc", "abc", 3), 0)
    assert.strictEqual(editDistance("abc", "acb", 3), 1)
    assert.strictEqual(editDistance("abc", "ac", 3), 1)
    assert.strictEqual(editDistance("kitten", "sitting", 3), 3)
    assert.strictEqual(editDistance("kitten", "sitting", 2), 3)
    assert.strictEqual(editDistance("a", "abcdef", 3), 4)
  })

  it.effect.prop("distance is symmetric, and zero only for the same", [Word, Word], ([x, y]) =>
    Effect.sync(() => {
      const [a, b] = [x.join(""), y.join("")]
      assert.strictEqual(editDistance(a, b, 6), editDistance(b, a, 6))
      assert.strictEqual(editDistance(a, b, 6) === 0, a === b)
      // A lower limit gives the same answer, or one above the limit.
      assert.strictEqual(editDistance(a, b, 2), Math.min(editDistance(a, b, 6), 3))
    }))

  it("names at most three, nearest first, each once", () => {
    assert.deepStrictEqual(nearIds("deploy", ["depoly", "deploy", "deplo", "deploys", "destroy", "depoly", "x"]), [
      "deplo",
      "deploys",
      "depoly"
    ])
    assert.deepStrictEqual(nearIds("a".repeat(500), ["a"]), [])
  })
})
