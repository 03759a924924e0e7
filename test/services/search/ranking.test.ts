import { assert, describe, it } from "@effect/vitest"
import { isItemId } from "../../../src/services/item/ItemId.ts"
import {
  inverseFrequency,
  limitOf,
  type Match,
  rank,
  type RankedHit,
  tellingWords
} from "../../../src/services/search/ranking.ts"

const hit = (id: string, match: Match, quality = 0, tier: RankedHit["tier"] = "project"): RankedHit => {
  if (!isItemId(id)) throw new Error(id)
  return { type: "tool", id, tier, category: "", path: `${id}.py`, match, quality }
}
const order = (hits: ReadonlyArray<RankedHit>, limit = 100) => rank(hits, limit).map((h) => `${h.tier}:${h.id}`)

describe("rank", () => {
  it("puts the way of matching before its quality, and each item once", () => {
    const hits = [hit("c", "any", 2), hit("b", "all", 1), hit("b", "any", 2), hit("d", "prefix")]
    assert.deepStrictEqual(order(hits), ["project:d", "project:b", "project:c"])
  })

  it("gives no item that shares only some words beside one that was named", () => {
    const hits = [hit("c", "any", 2), hit("b", "all", 1), hit("a", "exact")]
    assert.deepStrictEqual(order(hits), ["project:a", "project:b"])
    assert.deepStrictEqual(order([hit("c", "any", 2), hit("a", "named", 0, "user")]), ["user:a"])
  })

  it("breaks ties by tier, then name, in whatever order they were found", () => {
    const hits = [hit("b", "all", 1), hit("a", "all", 1, "user"), hit("a", "all", 1), hit("a", "all", 1, "system")]
    const expected = ["project:a", "project:b", "user:a", "system:a"]
    assert.deepStrictEqual(order(hits), expected)
    assert.deepStrictEqual(order(hits.toReversed()), expected)
  })

  it("gives equal matches equal scores and better ones higher, and keeps to the limit", () => {
    const [a, b, c] = rank([hit("a", "exact"), hit("b", "exact"), hit("c", "all", 2.2)], 10)
    assert.strictEqual(a!.score, b!.score)
    assert.isBelow(c!.score, a!.score)
    assert.deepStrictEqual(order([hit("a", "exact"), hit("b", "exact")], 1), ["project:a"])
  })
})

describe("statistics", () => {
  it("a word that half of the documents have counts next to nothing, and never less", () => {
    assert.strictEqual(inverseFrequency(10, 5), 1e-6)
    assert.strictEqual(inverseFrequency(1, 1), 1e-6)
    assert.isAbove(inverseFrequency(1000, 1), inverseFrequency(1000, 10))
  })

  it("frequent words do not find on their own in a large corpus", () => {
    const having = (n: number) => n
    assert.deepStrictEqual([...tellingWords([1, 9], having, 10)], [1, 9])
    assert.deepStrictEqual([...tellingWords([90, 1], having, 100)], [1])
    assert.deepStrictEqual([...tellingWords([99, 90], having, 100)], [90])
  })

  it("limits are whole numbers from 1 to 100", () => {
    assert.deepStrictEqual([undefined, 0, -5, 1.7, 100, 1e9].map((limit) => limitOf({ query: "", limit })), [
      10,
      1,
      1,
      1,
      100,
      100
    ])
  })
})
