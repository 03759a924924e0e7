import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chain } from "../../src/programs/chain.ts"
import { entries, kernel, tool } from "../layers/proxy/calls.ts"

const runtime = tool({
  tool_type: "runtime",
  version: "2.1.0",
  config: { command: "argv", output: "text", env: { A: "1" } }
})
const leaf = (fields = {}) => tool({ executor_id: "one@^2.0", config: { output: "json", env: { A: "2" } }, ...fields })

describe("chain", () => {
  it.effect("draws every link, and says which one set each value", () =>
    Effect.gen(function*() {
      const found = yield* chain({ id: "leaf" })
      assert.isTrue(found.whole)
      assert.isUndefined(found.stopped)
      assert.deepStrictEqual(
        found.links.map((
          { asked_as, id, signer, state, tier, version }
        ) => [id, version, tier, state, signer, asked_as]),
        [
          ["leaf", "1.0.0", "project", "ok", "you (0000000000000000)", undefined],
          ["one", "2.1.0", "user", "ok", "you (0000000000000000)", "one@^2.0"],
          ["subprocess", "1.0.0", "system", "ok", "Kiwi (system item)", "subprocess"]
        ]
      )
      assert.deepStrictEqual(found.config, [
        { field: "command", by: "one", value: "argv" },
        { field: "output", by: "leaf", value: "json", overrode: [{ by: "one", value: "text" }] },
        { field: "env.A", by: "leaf", value: "2", overrode: [{ by: "one", value: "1" }] }
      ])
      assert.deepStrictEqual(yield* entries, [])
    }).pipe(Effect.provide(kernel({ project: { "tools/leaf.yaml": leaf() }, user: { "tools/one.yaml": runtime } }))))

  const broken: ReadonlyArray<readonly [string, Record<string, string>, string, ReadonlyArray<string>]> = [
    ["a link that is not there", { "tools/leaf.yaml": leaf({ executor_id: "nowhere" }) }, "CHAIN_LINK_MISSING", [
      "leaf"
    ]],
    [
      "a link that cannot be read",
      {
        "tools/leaf.yaml": leaf({ executor_id: "one" }),
        "tools/one.yaml": "x: ["
      },
      "CHAIN_LINK_BROKEN",
      ["leaf"]
    ],
    [
      "another version",
      { "tools/leaf.yaml": leaf(), "tools/one.yaml": tool({ tool_type: "runtime" }) },
      "CHAIN_VERSION_MISMATCH",
      [
        "leaf",
        "one"
      ]
    ],
    [
      "a cycle",
      {
        "tools/leaf.yaml": leaf({ executor_id: "one" }),
        "tools/one.yaml": tool({ executor_id: "leaf" })
      },
      "CHAIN_CYCLE",
      ["leaf", "one"]
    ]
  ]
  for (const [what, project, code, links] of broken) {
    it.effect(`draws as far as it goes: ${what}`, () =>
      Effect.gen(function*() {
        const found = yield* chain({ id: "leaf" })
        assert.isFalse(found.whole)
        assert.deepStrictEqual(found.links.map(({ id }) => id), links)
        assert.strictEqual(found.stopped?.code, code)
        assert.isNotEmpty(found.stopped?.remediation)
      }).pipe(Effect.provide(kernel({ project }))))
  }

  it.effect("repeats no word of a link that nobody who counts has signed", () =>
    Effect.gen(function*() {
      const found = yield* chain({ id: "leaf" })
      assert.deepStrictEqual(found.links.map(({ state }) => state), ["unsigned", "ok"])
      assert.deepStrictEqual(found.config, [{ field: "command", by: "leaf" }])
    }).pipe(Effect.provide(kernel({
      project: { "tools/leaf.yaml": tool({ config: { command: "obey me" } }) },
      signatures: "checked"
    }))))

  it.effect("quotes nothing of a restricted project, and names what lifts that", () =>
    Effect.gen(function*() {
      const found = yield* chain({ id: "leaf" })
      assert.deepStrictEqual(found.links.map(({ state }) => state), ["restricted"])
      assert.strictEqual(found.stopped?.code, "PROJECT_RESTRICTED")
      assert.notInclude(JSON.stringify(found), "previous instructions")
    }).pipe(Effect.provide(kernel({
      project: { "tools/leaf.yaml": leaf({ executor_id: "one" }), "tools/one.yaml": "x: [previous instructions" },
      trusted: false
    }))))

  it.effect("fails for a tool that there is none of", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(chain({ id: "nothing" })))._tag, "ItemNotFound")
    }).pipe(Effect.provide(kernel())))
})
