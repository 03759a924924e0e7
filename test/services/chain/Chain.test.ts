import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { isDeeperThan, mergeConfig } from "../../../src/services/chain/Chain.ts"

describe("mergeConfig", () => {
  it("objects deep, lists and scalars replaced, the upper one wins", () => {
    assert.deepStrictEqual(
      mergeConfig(
        { command: "python3", args: ["-u"], env: { A: "1", B: "1" }, retry: { max: 3 }, timeout: 300 },
        { args: ["x"], env: { B: "2" }, retry: null, timeout: { a: 1 } }
      ),
      { command: "python3", args: ["x"], env: { A: "1", B: "2" }, retry: null, timeout: { a: 1 } }
    )
  })

  it("keys are data, whatever they are called", () => {
    const hostile: Schema.JsonObject = JSON.parse(`{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}`)
    const merged = mergeConfig({ a: 1, ["constructor"]: { x: 1 } }, hostile)
    assert.strictEqual(
      JSON.stringify(merged),
      `{"a":1,"constructor":{"x":1,"prototype":1},"__proto__":{"polluted":true}}`
    )
    assert.strictEqual(Object.getPrototypeOf(merged), Object.prototype)
    assert.isFalse("polluted" in {})
  })

  const Config = Schema.Record(
    Schema.Literals(["a", "b", "c"]),
    Schema.Union([Schema.Json, Schema.Record(Schema.Literals(["x", "y"]), Schema.Json)])
  )

  it.effect.prop(
    "merging the same again changes nothing, and no key is lost",
    [Config, Config],
    ([a, b]) =>
      Effect.sync(() => {
        const merged = mergeConfig(a, b)
        assert.deepStrictEqual(mergeConfig(merged, b), merged)
        assert.deepStrictEqual(mergeConfig({}, a), a)
        assert.deepStrictEqual(
          Object.keys(merged).toSorted(),
          [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted()
        )
      })
  )

  it("measures depth without walking further than the limit", () => {
    let deep: Schema.Json = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    assert.isTrue(isDeeperThan(deep, 64))
    assert.isFalse(isDeeperThan({ a: [1] }, 2))
    assert.isTrue(isDeeperThan({ a: [1] }, 1))
  })
})
