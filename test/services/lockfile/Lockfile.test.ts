import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { sha256 } from "../../../src/layers/identity/sha256.ts"
import { makeChain } from "../../../src/services/chain/Chain.ts"
import type { ChainLink } from "../../../src/services/chain/Chain.ts"
import { chainHashText, freeze, withMachine } from "../../../src/services/lockfile/Lockfile.ts"
import { toolOf } from "../../layers/chain/items.ts"
import type { ToolSpec } from "../../layers/chain/items.ts"
import { Links, linksOf } from "./seeds.ts"

const hashOf = (links: Parameters<typeof chainHashText>[0]): string => sha256(chainHashText(links)).slice(0, 12)

const linkOf = (spec: ToolSpec): ChainLink => {
  const tool = toolOf(spec)
  return {
    tool,
    snapshot: {
      location: tool.location,
      bytes: new Uint8Array(),
      digest: tool.digest,
      files: [],
      signature: undefined
    } as unknown as ChainLink["snapshot"]
  }
}

describe("chain_hash", () => {
  it("is the published one", () => {
    const links = [
      { tool_id: "demo", version: "1.0.0", integrity: "a".repeat(64) },
      { tool_id: "python_runtime", version: "2.0.0", integrity: "b".repeat(64) },
      { tool_id: "subprocess", version: "1.0.0", integrity: "c".repeat(64) }
    ]
    assert.strictEqual(hashOf(links), "a33a40231817")
  })

  const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))

  it.effect.prop(
    "changes with every id, version and hash, and with their order, and with nothing else",
    [Links, Place, Place],
    ([seeds, first, second]) =>
      Effect.sync(() => {
        const links = linksOf(seeds)
        const hash = hashOf(links)
        const i = first % links.length
        const changed = (change: object) => hashOf(links.with(i, { ...links[i]!, ...change }))
        assert.notStrictEqual(changed({ tool_id: `${links[i]!.tool_id}_` }), hash)
        assert.notStrictEqual(changed({ version: `${links[i]!.version}0` }), hash)
        assert.notStrictEqual(changed({ integrity: sha256(links[i]!.integrity) }), hash)
        assert.strictEqual(changed({ executor: "other", tier: "system", path: "elsewhere" }), hash)
        const j = second % links.length
        const swapped = links.with(i, links[j]!).with(j, links[i]!)
        assert.strictEqual(hashOf(swapped) === hash, chainHashText(swapped) === chainHashText(links))
        assert.notStrictEqual(hashOf(links.slice(1)), hash)
      })
  )
})

describe("freeze", () => {
  const chain = makeChain([
    linkOf({
      id: "add",
      category: "math/basic",
      executor: "python_runtime",
      requires: { commands: ["git", "awk"], environment: ["B", "A"] }
    }),
    linkOf({ id: "python_runtime", tier: "system", category: "runtimes", executor: "subprocess", version: "2.0.0" }),
    linkOf({ id: "subprocess", tier: "system", category: "primitives", type: "primitive" })
  ], sha256)

  it("writes down the chain, leaf first, and what it runs with", () => {
    const digests = chain.links.map(({ tool }) => tool.digest)
    assert.deepStrictEqual(
      withMachine(
        freeze(chain, sha256),
        { variable: "KIWI_PYTHON", kind: "project-venv", version: undefined },
        undefined
      ),
      {
        root: { tool_id: "add", version: "1.0.0", integrity: digests[0]!, category: "math/basic" },
        resolved_chain: [
          {
            tool_id: "add",
            version: "1.0.0",
            integrity: digests[0]!,
            executor: "python_runtime",
            tier: "project",
            path: "math/basic/add.yaml"
          },
          {
            tool_id: "python_runtime",
            version: "2.0.0",
            integrity: digests[1]!,
            executor: "subprocess",
            tier: "system",
            path: "runtimes/python_runtime.yaml"
          },
          {
            tool_id: "subprocess",
            version: "1.0.0",
            integrity: digests[2]!,
            executor: null,
            tier: "system",
            path: "primitives/subprocess.yaml"
          }
        ],
        chain_hash: sha256(
          `add@1.0.0:${digests[0]}|python_runtime@2.0.0:${digests[1]}|subprocess@1.0.0:${digests[2]}`
        ).slice(0, 12),
        runtime: {
          interpreter: { variable: "KIWI_PYTHON", kind: "project-venv", version: null },
          commands: ["awk", "git"],
          variables: ["A", "B"]
        },
        dependencies: null
      }
    )
  })

  it("keeps a tool without a category under tools", () => {
    const alone = makeChain([linkOf({ id: "subprocess", type: "primitive" })], sha256)
    const frozen = freeze(alone, sha256)
    assert.strictEqual(frozen.root.category, "tools")
    assert.isNull(frozen.runtime.interpreter)
    assert.isNull(frozen.resolved_chain[0].executor)
  })
})
