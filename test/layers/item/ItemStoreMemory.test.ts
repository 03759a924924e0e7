import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as ItemStoreMemory from "../../../src/layers/item/ItemStoreMemory.ts"
import { contract } from "./ItemStore.contract.ts"

contract("ItemStoreMemory", (tiers) => ItemStoreMemory.layerWith(tiers))

it.effect("says so where the item may be in a project that is not open", () =>
  Effect.gen(function*() {
    const hint = (tiers: Parameters<typeof ItemStoreMemory.make>[0], id: string) =>
      Effect.map(Effect.flip(ItemStoreMemory.make(tiers).find({ id })), (error) => error.remediation)
    const system = { "tools/mul.py": "s" }
    assert.include(yield* hint({ system }, "zzzzzzzz"), "makeKiwi({ project })")
    assert.include(yield* hint({ system }, "mull"), `"mul"`)
    assert.include(yield* hint({ system, project: {} }, "zzzzzzzz"), "search({ query: \"zzzzzzzz\" })")
  }))

it.effect("a Map that changes is seen by the next call", () =>
  Effect.gen(function*() {
    const files = new Map([["tools/a.py", "x"]])
    const store = ItemStoreMemory.make({ project: files })
    assert.strictEqual((yield* store.list()).length, 1)
    files.set("tools/b.py", "y")
    assert.strictEqual((yield* store.find({ id: "b" })).location.id, "b")
    files.delete("tools/a.py")
    assert.strictEqual((yield* Effect.flip(store.find({ id: "a" })))._tag, "ItemNotFound")
    assert.isTrue(Option.isNone(ItemStoreMemory.make({}).rootOf("project")))
  }))
