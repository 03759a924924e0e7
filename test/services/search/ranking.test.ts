import { assert, it } from "@effect/vitest"
import type { ItemId } from "../../../src/services/item/ItemId.ts"
import type { RankedHit } from "../../../src/services/search/ranking.ts"
import { rank } from "../../../src/services/search/ranking.ts"

const hit = (tier: RankedHit["tier"], id: string, more: Partial<RankedHit> = {}): RankedHit => ({
  type: "tool",
  id: id as ItemId,
  tier,
  category: "",
  path: `${id}.yaml`,
  match: "words",
  relevance: 0.5,
  coverage: 0.5,
  isAnswer: true,
  ...more
})
const ids = (...hits: ReadonlyArray<RankedHit>) => rank(hits, 10).map(({ id }) => id)

it("by words, a person's own item comes before one of Kiwi that is a little more relevant", () => {
  assert.deepStrictEqual(ids(hit("system", "http_client", { relevance: 0.7 }), hit("user", "get")), [
    "get",
    "http_client"
  ])
  assert.deepStrictEqual(ids(hit("system", "http_client", { relevance: 0.9 }), hit("user", "get")), [
    "http_client",
    "get"
  ])
})

it("by its name, an item of Kiwi is found as any other", () => {
  const named = hit("system", "ping", { match: "exact", relevance: 0, coverage: 1 })
  assert.deepStrictEqual(ids(named, hit("project", "ping_host", { match: "prefix", relevance: 0 }))[0], "ping")
})
