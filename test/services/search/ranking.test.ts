import { assert, describe, it } from "@effect/vitest"
import { isItemId } from "../../../src/services/item/ItemId.ts"
import { isAnswer, limitOf, type Match, meanings, rank, type RankedHit } from "../../../src/services/search/ranking.ts"
import { parseQuery } from "../../../src/services/search/searchText.ts"

const hit = (
  id: string,
  match: Match,
  relevance = 0,
  tier: RankedHit["tier"] = "project",
  coverage = 0.5
): RankedHit => {
  if (!isItemId(id)) throw new Error(id)
  return { type: "tool", id, tier, category: "", path: `${id}.py`, match, relevance, coverage, isAnswer: true }
}
const order = (hits: ReadonlyArray<RankedHit>, limit = 100) => rank(hits, limit).map((h) => `${h.tier}:${h.id}`)

describe("rank", () => {
  it("puts names before words, better matches before worse, and each item once", () => {
    const hits = [hit("c", "words", 0.2), hit("b", "words", 0.4), hit("d", "prefix"), hit("d", "words", 0.9)]
    assert.deepStrictEqual(order(hits), ["project:d", "project:b", "project:c"])
  })

  it("gives no item that has only some of the words beside one that was named", () => {
    const all = hit("b", "words", 0.4, "project", 1)
    assert.deepStrictEqual(order([hit("c", "words", 0.9), all, hit("a", "exact")]), ["project:a", "project:b"])
    assert.deepStrictEqual(order([hit("c", "words", 0.9), hit("a", "named", 0, "user")]), ["user:a"])
  })

  it("breaks ties by tier, then name, in whatever order they were found", () => {
    const hits = [
      hit("b", "words", 1),
      hit("a", "words", 1, "user"),
      hit("a", "words", 1),
      hit("a", "words", 1, "system")
    ]
    const expected = ["project:a", "project:b", "user:a", "system:a"]
    assert.deepStrictEqual(order(hits), expected)
    assert.deepStrictEqual(order(hits.toReversed()), expected)
  })

  it("gives equal matches equal scores and better ones higher, and keeps to the limit", () => {
    const [a, b, c] = rank([hit("a", "exact"), hit("b", "exact"), hit("c", "words", 1, "project", 1)], 10)
    assert.strictEqual(a!.score, b!.score)
    assert.isBelow(c!.score, a!.score)
    assert.deepStrictEqual(order([hit("a", "exact"), hit("b", "exact")], 1), ["project:a"])
  })
})

describe("what words mean", () => {
  const of = (query: string, ...having: ReadonlyArray<number>) =>
    meanings(parseQuery(query), having.map((n) => ({ items: 100, having: n }))).slice(0, having.length)

  it("a rare word means more than a frequent one, one that nothing has the most, and none means nothing", () => {
    const [frequent, rare, absent] = of("zebra giraffe okapi", 100, 3, 0)
    assert.isAbove(frequent!, 0)
    assert.isAbove(rare!, frequent!)
    assert.isAbove(absent!, rare!)
    assert.isTrue(
      meanings(parseQuery("zebra"), [{ items: 1, having: 5 }])[0]! > 0,
      "also where an index grew meanwhile"
    )
  })

  it("a common word, in any form, means half of what its frequency says", () => {
    const [specific, ...common] = of("giraffe stories changing planned working", 3, 3, 3, 3, 3)
    for (const one of common) assert.strictEqual(one, specific! / 2)
  })
})

describe("what is an answer", () => {
  const answers = (query: string, words: number, specific: number, coverage: number, named = 0, relevance = coverage) =>
    isAnswer(parseQuery(query), { words, specific, named, isWhole: false, coverage, relevance })

  it("one common word of several is none", () => {
    assert.isFalse(answers("call giraffe", 1, 0, 0.4))
    assert.isTrue(answers("call", 1, 0, 1))
    assert.isTrue(answers("call giraffe", 1, 1, 0.6))
    assert.isTrue(answers("call mother giraffe", 2, 0, 0.4))
  })

  it("a short question is a command, of which enough has to be covered; a long one is padded", () => {
    assert.isFalse(answers("rotate database password staging", 1, 1, 0.2))
    assert.isTrue(answers("rotate database password staging", 1, 1, 0.35))
    assert.isTrue(answers("rotate database password staging", 1, 1, 0.2, 1), "a word of its name")
    assert.isTrue(answers("rotate database password staging", 2, 1, 0.2), "two of its words")
    assert.isTrue(answers("please rotate the database password of our staging cluster before dawn", 1, 1, 0.1))
  })
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
