// What Kiwi's own actions are about, for grants with a scope.
import { assert, describe, it } from "@effect/vitest"
import { accessesOf } from "../../../src/layers/permission/ruleQuery.ts"
import { covers, denies } from "../../../src/services/capability/Grant.ts"
import type { ItemLocation } from "../../../src/services/item/Item.ts"
import type { Action } from "../../../src/services/permission/Action.ts"

const location = (type: ItemLocation["type"], category: string, id: string) =>
  ({ type, category, id, tier: "project", path: `${type}s/${category}/${id}` }) as ItemLocation

const verified = {} as Extract<Action, { readonly _tag: "Follow" }>["verified"]
const follow = (category: string, id: string): Action => ({
  _tag: "Follow",
  location: location("directive", category, id),
  verified
})
const load = (type: ItemLocation["type"], category: string, id: string): Action => ({
  _tag: "Load",
  item: location(type, category, id)
})
const copy = (type: ItemLocation["type"], category: string, id: string): Action => ({
  _tag: "Copy",
  to: location(type, category, id),
  verified
})

const rows: ReadonlyArray<readonly [capability: string, scope: string, action: Action, isInside: boolean]> = [
  ["kiwi.load", "knowledge/**", load("knowledge", "ops", "notes"), true],
  ["kiwi.load", "knowledge/**", load("knowledge", "", "notes"), true],
  ["kiwi.load", "knowledge/**", load("tool", "knowledge", "x"), false],
  ["kiwi.load", "tool/math/*", load("tool", "math", "add"), true],
  ["kiwi.load", "tool/math/*", load("tool", "math/deep", "add"), false],
  ["kiwi.load", "tool/add", load("tool", "", "add"), true],
  ["kiwi.follow", "directive/ops/*", follow("ops", "deploy"), true],
  ["kiwi.follow", "directive/ops/*", follow("dev", "deploy"), false],
  ["kiwi.follow", "directive/ops/*", load("directive", "ops", "deploy"), false],
  ["kiwi.write", "directive/**", copy("directive", "ops", "deploy"), true],
  ["kiwi.write", "directive/**", copy("tool", "ops", "deploy"), false],
  ["kiwi.all", "knowledge/**", load("knowledge", "", "notes"), true],
  ["kiwi.execute", "knowledge/**", load("knowledge", "", "notes"), true],
  ["kiwi.load", "knowledge/**", { _tag: "Help", topic: "overview" }, false]
]

describe("a scope of Kiwi's own actions", () => {
  for (const [index, [capability, scope, action, isInside]] of rows.entries()) {
    it(`${index + 1}: ${capability}(${scope}) ${isInside ? "has" : "does not have"} ${action._tag}`, () => {
      const [access, ...more] = accessesOf(action)
      assert.deepStrictEqual(more, [])
      const grants = [{ capability, scope: [scope] }]
      assert.strictEqual(covers({ allow: grants, deny: [] }, access!), isInside)
      if (isInside) assert.isTrue(denies({ allow: [], deny: grants }, access!) || capability === "kiwi.execute")
      assert.isTrue(capability !== "kiwi.all" || denies({ allow: [], deny: [{ capability }] }, access!))
    })
  }
})
