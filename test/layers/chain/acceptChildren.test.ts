import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as AcceptChildren from "../../../src/layers/chain/acceptChildren.ts"
import * as ChainResolverStore from "../../../src/layers/chain/ChainResolverStore.ts"
import * as SchemaValidatorByOrigin from "../../../src/layers/schema/SchemaValidatorByOrigin.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { childLink, ChildRefused } from "../../../src/services/chain/ChildLink.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import type { ChildSchema } from "../../../src/services/item/Item.ts"
import * as Items from "./items.ts"

const judge = (specs: ReadonlyArray<Items.ToolSpec>, id = "leaf") => {
  const all = [...Items.system, ...specs]
  return Effect.gen(function*() {
    const accept = yield* AcceptChildren.make
    const { chain } = yield* (yield* ChainResolver).resolve({ id })
    return yield* accept(chain)
  }).pipe(
    Effect.provide(Layer.mergeAll(
      ChainResolverStore.layer.pipe(Layer.provide(Items.layer(all))),
      SchemaValidatorByOrigin.layer
    ))
  )
}

const entry = (match: ChildSchema["match"], schema?: ChildSchema["schema"]): ChildSchema => ({ match, schema })

const under = (childSchemas: ReadonlyArray<ChildSchema>, leaf: Partial<Items.ToolSpec> = {}) =>
  judge([
    { id: "leaf", executor: "run", ...leaf },
    { id: "run", type: "runtime", executor: "subprocess", childSchemas }
  ])

const refusedBy = (childSchemas: ReadonlyArray<ChildSchema>, leaf: Partial<Items.ToolSpec> = {}) =>
  Effect.map(under(childSchemas, leaf), ({ refused }) => {
    assert.instanceOf(refused?.reason, ChildRefused)
    return refused?.reason as ChildRefused
  })

describe("a parent and its child", () => {
  it.effect("a primitive takes every child, without a word", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* judge([{ id: "leaf", executor: "subprocess", type: "anything" }]), {
        refused: undefined,
        silent: []
      })
    }))

  it.effect("a runtime without child schemas is named, once for each", () =>
    Effect.gen(function*() {
      const { refused, silent } = yield* judge([
        { id: "leaf", executor: "one" },
        { id: "one", executor: "two" },
        { id: "two", executor: "subprocess", tier: "user" }
      ])
      assert.isUndefined(refused)
      assert.deepStrictEqual(silent.map((s) => [s.parent, s.parentPath]), [
        ["one", "project:tools/one.yaml"],
        ["two", "user:tools/two.yaml"]
      ])
      assert.deepStrictEqual(toErrorObject(silent[1]!).failed_at, {
        tool_id: "two",
        config_path: "user:tools/two.yaml",
        validation_errors: []
      })
    }))

  it.effect("the first entry that fits counts, whatever a later one says", () =>
    Effect.gen(function*() {
      const strict = entry({ tool_type: "python" }, { required: ["nothing"] })
      assert.isUndefined((yield* under([entry({ tool_type: "bash" }), entry({}), strict])).refused)
      assert.lengthOf((yield* refusedBy([strict, entry({})])).issues, 1)
    }))

  it.effect("a match looks into the manifest by dotted names, and compares values with their types", () =>
    Effect.gen(function*() {
      const leaf = { config: { level: 1, deep: { on: true, name: "x" } } }
      const fitting: ReadonlyArray<ChildSchema["match"]> = [
        {},
        { tool_id: "leaf", tier: "project", category: "", path: "leaf.yaml", version: "1.0.0" },
        { "manifest.config.level": 1 },
        { "manifest.config.deep.on": true, "manifest.config.deep.name": "x" },
        { "manifest.executor_id": "run" }
      ]
      for (const match of fitting) {
        assert.isUndefined((yield* under([entry(match)], leaf)).refused, JSON.stringify(match))
      }
      const other: ReadonlyArray<ChildSchema["match"]> = [
        { "manifest.config.level": "1" },
        { "manifest.config.level.more": 1 },
        { "manifest.config.deep": null },
        { "manifest.nothing": null },
        { "manifest.constructor.name": "Object" },
        { __proto__x: null, toString: null },
        { tool_type: "python", tier: "user" }
      ]
      for (const match of other) {
        assert.deepStrictEqual((yield* refusedBy([entry(match)], leaf)).issues, [], JSON.stringify(match))
      }
    }))

  it.effect("where no entry fits, both links are named and what there is", () =>
    Effect.gen(function*() {
      const error = yield* refusedBy([entry({ tool_type: "bash" }), entry({ tier: "user", version: "1.0.0" })])
      assert.deepStrictEqual(toErrorObject(error), {
        code: "CHILD_REFUSED",
        message: "run (project:tools/run.yaml) does not run leaf (project:tools/leaf.yaml): " +
          "it takes {tool_type: \"bash\"} or {tier: \"user\", version: \"1.0.0\"}",
        chain: ["leaf", "run", "subprocess"],
        failed_at: { tool_id: "leaf", config_path: "project:tools/leaf.yaml", validation_errors: [] },
        retryable: false,
        remediation: "Let leaf name another executor_id, or be what run takes"
      })
    }))

  it.effect("what a schema refuses is in failed_at of the child", () =>
    Effect.gen(function*() {
      const schema = { properties: { manifest: { required: ["entrypoint"] }, version: { const: "2.0.0" } } }
      const error = yield* refusedBy([entry({}, schema)])
      assert.deepStrictEqual(
        toErrorObject(error).failed_at?.validation_errors.map((e) => e.field).toSorted(),
        ["manifest.entrypoint", "version"]
      )
    }))

  it.effect("every pair is asked, not only that of the leaf", () =>
    Effect.gen(function*() {
      const { refused } = yield* judge([
        { id: "leaf", executor: "one" },
        { id: "one", type: "runtime", executor: "two", childSchemas: [entry({})] },
        { id: "two", type: "runtime", executor: "subprocess", childSchemas: [entry({ tool_type: "python" })] }
      ])
      assert.strictEqual(refused?.link.tool.location.id, "one")
    }))

  it("a child's own words cannot pass for its place", () => {
    const spec: Items.ToolSpec = { id: "leaf", tier: "user", category: "c" }
    const tool = { ...Items.toolOf(spec), extra: { tier: "system", tool_id: "other", category: "x", mine: 1 } }
    const link = childLink(tool)
    assert.strictEqual(link["tier"], "user")
    assert.deepInclude(link["manifest"], { tool_id: "leaf", category: "c", mine: 1 })
  })
})
