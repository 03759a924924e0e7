import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type ChainLink, makeChain } from "../../../src/services/chain/Chain.ts"
import { configOrigins } from "../../../src/services/chain/configOrigins.ts"
import { snapshotOf, toolOf } from "../../layers/chain/items.ts"

const link = (id: string, config: Schema.JsonObject): ChainLink => ({
  tool: toolOf({ id, config }),
  snapshot: snapshotOf({ id, config })
})

const shown = (...links: ReadonlyArray<ChainLink>) =>
  configOrigins(links).map(({ field, link: by, overrode, value }) =>
    [field, value, by.tool.location.id].concat(
      overrode.map((o) => `${JSON.stringify(o.value)} by ${o.link.tool.location.id}`)
    )
  )

describe("configOrigins", () => {
  it("names who set each value, and what it took the place of", () => {
    assert.deepStrictEqual(
      shown(
        link("leaf", { output: "json", args: ["b"], env: { A: "2" } }),
        link("runtime", { output: "text", args: ["a"], env: { A: "1", B: "1" }, command: "x" }),
        link("primitive", { timeout: 9, output: "any" })
      ),
      [
        ["timeout", 9, "primitive"],
        ["output", "json", "leaf", "\"text\" by runtime", "\"any\" by primitive"],
        ["args", ["b"], "leaf", "[\"a\"] by runtime"],
        ["env.A", "2", "leaf", "\"1\" by runtime"],
        ["env.B", "1", "runtime"],
        ["command", "x", "runtime"]
      ]
    )
  })

  it("a value in the place of an object, and an object in the place of a value", () => {
    assert.deepStrictEqual(shown(link("leaf", { a: 1 }), link("top", { a: { b: 2 } })), [
      ["a", 1, "leaf", "{\"b\":2} by top"]
    ])
    assert.deepStrictEqual(shown(link("leaf", { a: { b: 2 } }), link("top", { a: 1 })), [
      ["a", { b: 2 }, "leaf", "1 by top"],
      ["a.b", 2, "leaf"]
    ])
    assert.deepStrictEqual(shown(link("leaf", { a: {} }), link("top", { a: { b: 2 } })), [["a.b", 2, "top"]])
  })

  const Json: Schema.Codec<Schema.Json> = Schema.Json
  const Config = Schema.Record(Schema.Literals(["a", "b", "c", "__proto__x", "constructor"]), Json)

  it.effect.prop(
    "says of every value of the merged config what it is",
    [Schema.Array(Config)],
    ([configs]) =>
      Effect.sync(() => {
        const links = configs.slice(0, 5).map((config, i) => link(`t${i}`, config as Schema.JsonObject))
        const first = links[0]
        if (first === undefined) return
        const { config } = makeChain([first, ...links.slice(1)], String)
        const rebuilt: Record<string, Schema.Json> = {}
        for (const { field, link: by, value } of configOrigins(links)) {
          if (!field.includes(".") && Object.hasOwn(config, field)) {
            assert.deepStrictEqual(value, config[field])
            rebuilt[field] = value
          }
          assert.include(links, by)
        }
        for (const [name, value] of Object.entries(config)) {
          if (typeof value !== "object" || value === null || Array.isArray(value) || Object.keys(value).length === 0) {
            assert.deepStrictEqual(rebuilt[name], value)
          }
        }
      })
  )
})
