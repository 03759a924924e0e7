import { assert, describe, it } from "@effect/vitest"
import { BoundedMap } from "../../../src/services/cache/BoundedMap.ts"

describe("BoundedMap", () => {
  it("forgets what was used longest ago", () => {
    const map = new BoundedMap<string, number>(3)
    for (const [key, value] of [["a", 1], ["b", 2], ["c", 3]] as const) map.set(key, value)
    assert.strictEqual(map.get("a"), 1)
    map.set("d", 4)
    assert.deepStrictEqual(["a", "b", "c", "d"].map((key) => map.get(key)), [1, undefined, 3, 4])
    map.set("c", 5)
    map.set("e", 6)
    assert.deepStrictEqual([...map.values()].toSorted(), [4, 5, 6])
    assert.strictEqual(map.size, 3)
  })

  it("counts by size, and keeps nothing that is larger than all together may be", () => {
    const map = new BoundedMap<string, string>(10, (text) => text.length)
    map.set("a", "1234")
    map.set("b", "5678")
    map.set("a", "12")
    map.set("c", "90ab")
    assert.deepStrictEqual(["a", "b", "c"].map((key) => map.get(key)), ["12", "5678", "90ab"])
    map.set("a", "12345678901")
    assert.deepStrictEqual(["a", "b", "c"].map((key) => map.get(key)), [undefined, "5678", "90ab"])
    map.set("d", "1234567890")
    assert.deepStrictEqual([...map.values()], ["1234567890"])
    map.delete("d")
    map.delete("none")
    map.set("e", "1234567890")
    assert.strictEqual(map.get("e"), "1234567890")
  })

  it("keeps nothing where nothing may be kept", () => {
    const map = new BoundedMap<string, number>(0)
    map.set("a", 1)
    assert.isUndefined(map.get("a"))
    assert.strictEqual(map.size, 0)
  })
})
