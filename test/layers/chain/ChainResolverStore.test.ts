import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as ChainResolverStore from "../../../src/layers/chain/ChainResolverStore.ts"
import { chainIds } from "../../../src/services/chain/Chain.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { codeOf, toErrorObject } from "../../../src/services/error/KiwiError.ts"
import type { Tier } from "../../../src/services/item/ItemId.ts"
import * as Items from "./items.ts"

const within = <A, E>(
  specs: Array<Items.ToolSpec>,
  use: (resolver: ChainResolver["Service"]) => Effect.Effect<A, E>
) =>
  ChainResolver.use(use).pipe(
    Effect.provide(ChainResolverStore.layer.pipe(Layer.provide(Items.layer(specs))))
  )

const resolve = (specs: ReadonlyArray<Items.ToolSpec>, id: string, tier?: Tier) =>
  within([...Items.system, ...specs], (r) => r.resolve({ id, tier }))

const tiersOf = (resolved: Effect.Success<ReturnType<typeof resolve>>) =>
  resolved.chain.links.map((l) => `${l.tool.location.tier}:${l.tool.location.id}`)

const digestOf = (spec: Items.ToolSpec) => Effect.map(resolve([spec], "leaf"), (r) => r.chain.digest)

const longChain = (length: number): ReadonlyArray<Items.ToolSpec> =>
  Array.from({ length: length - 1 }, (_, i) => ({
    id: `t${i}`,
    executor: i === length - 2 ? "subprocess" : `t${i + 1}`
  }))

describe("ChainResolverStore", () => {
  describe("attacks", () => {
    it.effect("a project does not become the executor of a user or system tool", () =>
      Effect.gen(function*() {
        const specs: Array<Items.ToolSpec> = [
          { id: "mine", tier: "user", executor: "my_runtime" },
          { id: "my_runtime", tier: "user", type: "runtime", executor: "loose" },
          { id: "my_runtime", tier: "project", type: "runtime", executor: "subprocess", config: { command: "evil" } },
          { id: "loose", tier: "system", type: "runtime", executor: "subprocess", overridable: true },
          { id: "loose", tier: "project", type: "runtime", executor: "subprocess", config: { command: "evil" } },
          { id: "core", tier: "system", executor: "loose", overridable: true }
        ]
        assert.deepStrictEqual(tiersOf(yield* resolve(specs, "mine")), [
          "user:mine",
          "user:my_runtime",
          "system:loose",
          "system:subprocess"
        ])
        assert.deepStrictEqual(tiersOf(yield* resolve(specs, "core")), [
          "system:core",
          "system:loose",
          "system:subprocess"
        ])
      }))

    it.effect("a user's tool does not become the executor of a system tool", () =>
      Effect.gen(function*() {
        const resolved = yield* resolve([
          { id: "core", tier: "system", executor: "loose" },
          { id: "loose", tier: "system", type: "runtime", executor: "subprocess", overridable: true },
          { id: "loose", tier: "user", type: "runtime", executor: "subprocess" }
        ], "core")
        assert.deepStrictEqual(tiersOf(resolved), ["system:core", "system:loose", "system:subprocess"])
      }))

    it.effect("a link that only the project has is missing for a user's tool, and two of them are no ambiguity", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(resolve([
          { id: "mine", tier: "user", executor: "theirs" },
          { id: "theirs", tier: "project", executor: "subprocess" },
          { id: "theirs", tier: "project", category: "other", executor: "subprocess" }
        ], "mine"))
        assert.strictEqual(error._tag, "ChainLinkMissing")
      }))

    it.effect("a protected runtime is not shadowed, neither for a project's nor for a user's tool", () =>
      Effect.gen(function*() {
        const shadows: ReadonlyArray<Items.ToolSpec> = [
          { id: "python_runtime", tier: "project", type: "runtime", executor: "subprocess" },
          { id: "python_runtime", tier: "user", type: "runtime", executor: "subprocess" }
        ]
        for (const tier of ["project", "user"] as const) {
          const resolved = yield* resolve([...shadows, { id: "leaf", tier, executor: "python_runtime" }], "leaf")
          assert.deepStrictEqual(tiersOf(resolved), [`${tier}:leaf`, "system:python_runtime", "system:subprocess"])
        }
      }))

    it.effect("a primitive of another tier counts for nothing", () =>
      Effect.gen(function*() {
        for (const tier of ["project", "user"] as const) {
          const error = yield* Effect.flip(resolve([
            { id: "leaf", tier, executor: "my_primitive" },
            { id: "my_primitive", tier, type: "primitive" }
          ], "leaf"))
          assert.strictEqual(error._tag, "ChainMalformed")
          assert.include(error.message, tier)
        }
      }))

    it.effect("only system items run on builtin, directly or through a system tool whose handler they would replace", () =>
      Effect.gen(function*() {
        const read: Items.ToolSpec = {
          id: "filesystem.read",
          tier: "system",
          executor: "builtin",
          config: { handler: "filesystem.read" }
        }
        assert.deepStrictEqual(tiersOf(yield* resolve([read], "filesystem.read")), [
          "system:filesystem.read",
          "system:builtin"
        ])
        for (const executor of ["builtin", "filesystem.read"]) {
          const error = yield* Effect.flip(
            resolve([read, { id: "leaf", executor, config: { handler: "shell.run" } }], "leaf")
          )
          assert.strictEqual(error._tag, "ChainMalformed")
          assert.include(error.message, "project:tools/leaf.yaml")
        }
      }))

    it.effect("a config without end is refused", () =>
      Effect.gen(function*() {
        let config: Items.ToolSpec["config"] = {}
        for (let i = 0; i < 200; i++) config = { a: config }
        const error = yield* Effect.flip(resolve([{ id: "leaf", executor: "subprocess", config }], "leaf"))
        assert.strictEqual(error._tag, "ChainMalformed")
      }))
  })

  it.effect("resolves leaf first, merges primitive to leaf, and unites what is required", () =>
    Effect.gen(function*() {
      const { chain, hides } = yield* resolve([
        {
          id: "add",
          category: "math",
          executor: "runtimes/python_runtime",
          config: { args: ["x"], env: { A: "1" }, output: "json" },
          requires: { commands: ["git", "python3"], environment: ["TOKEN"] }
        },
        { id: "add", category: "math", tier: "user" }
      ], "math/add")
      assert.deepStrictEqual(chainIds(chain.links), ["add", "python_runtime", "subprocess"])
      assert.strictEqual(chain.leaf.tool.location.id, "add")
      assert.strictEqual(chain.primitive.tool.location.id, "subprocess")
      assert.deepStrictEqual(chain.config, {
        timeout: 300,
        args: ["x"],
        command: "${KIWI_PYTHON}",
        env: { PYTHONUNBUFFERED: "1", A: "1" },
        output: "json"
      })
      assert.deepStrictEqual(chain.envConfig, { interpreter: { type: "venv_python", var: "KIWI_PYTHON" } })
      assert.deepStrictEqual(chain.requires, {
        commands: ["git", "python3"],
        environment: ["TOKEN"],
        capabilities: []
      })
      assert.deepStrictEqual(hides.map((l) => l.tier), ["user"])
      assert.match(chain.digest, /^[0-9a-f]{64}$/)
    }))

  it.effect("the digest is over tier, path, version and digest of every link in order", () =>
    Effect.gen(function*() {
      const leaf: Items.ToolSpec = { id: "leaf", executor: "subprocess" }
      const base = yield* digestOf(leaf)
      assert.strictEqual(yield* digestOf(leaf), base)
      for (
        const other of [
          { ...leaf, version: "1.0.1" },
          { ...leaf, tier: "user" as const },
          { ...leaf, category: "c" },
          { ...leaf, config: { a: 1 } },
          { ...leaf, executor: "python_runtime" }
        ]
      ) assert.notStrictEqual(yield* digestOf(other), base)
    }))

  describe("failures name the link, the partial chain and the file", () => {
    it.effect("a cycle is a cycle and not \"not found\"", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(resolve([
          { id: "a", executor: "b" },
          { id: "b", executor: "c" },
          { id: "c", executor: "a" }
        ], "a"))
        assert.strictEqual(error._tag, "ChainCycle")
        assert.deepStrictEqual(toErrorObject(error), {
          code: "CHAIN_CYCLE",
          message: "The chain comes back to itself: a → b → c → a",
          chain: ["a", "b", "c", "a"],
          failed_at: {
            tool_id: "c",
            config_path: "project:tools/c.yaml",
            validation_errors: [{ field: "executor_id", error: "comes back to a link of its own chain", value: "a" }]
          },
          retryable: false,
          remediation: "Change one executor_id so that the chain ends at a primitive"
        })
        assert.strictEqual((yield* Effect.flip(resolve([{ id: "a", executor: "a" }], "a")))._tag, "ChainCycle")
      }))

    it.effect("ten links are the bound", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* resolve(longChain(10), "t0")).chain.links.length, 10)
        const error = yield* Effect.flip(resolve(longChain(11), "t0"))
        assert.strictEqual(error._tag, "ChainTooDeep")
        assert.deepStrictEqual(toErrorObject(error).failed_at, {
          tool_id: "t9",
          config_path: "project:tools/t9.yaml",
          validation_errors: [
            { field: "executor_id", error: "is one link more than a chain may have", value: "subprocess" }
          ]
        })
      }))

    it.effect("a missing link", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(resolve([
          { id: "a", executor: "b" },
          { id: "b", category: "x/y", executor: "pythn_runtime" }
        ], "a"))
        assert.strictEqual(error._tag, "ChainLinkMissing")
        assert.include(error.message, "a → b")
        assert.include(error.message, "pythn_runtime")
        assert.strictEqual(toErrorObject(error).failed_at?.config_path, "project:tools/x/y/b.yaml")
        assert.include(error.remediation, "python_runtime")
      }))

    it.effect("a leaf that is not there keeps its item error", () =>
      Effect.gen(function*() {
        assert.strictEqual(codeOf(yield* Effect.flip(resolve([], "nowhere"))), "ITEM_NOT_FOUND")
        assert.strictEqual(codeOf(yield* Effect.flip(resolve([], "../etc"))), "ITEM_ID_INVALID")
      }))

    it.effect("a link that cannot be parsed, is ambiguous, or has no id", () =>
      Effect.gen(function*() {
        const broken = yield* Effect.flip(
          resolve([{ id: "a", executor: "b" }, { id: "b", executor: "subprocess", invalid: true }], "a")
        )
        assert.strictEqual(broken._tag, "ChainLinkBroken")
        assert.include(broken.message, "it is broken")
        assert.strictEqual(broken.remediation, "mend it")
        assert.strictEqual(toErrorObject(broken).failed_at?.config_path, "project:tools/b.yaml")
        const twice = yield* Effect.flip(
          resolve([{ id: "a", executor: "b" }, { id: "b" }, { id: "b", category: "c" }], "a")
        )
        assert.strictEqual(twice._tag, "ChainLinkBroken")
        const outside = yield* Effect.flip(resolve([{ id: "a", executor: "../../b" }], "a"))
        assert.strictEqual(outside._tag, "ChainLinkBroken")
      }))

    it.effect("a chain that ends before a primitive, and a primitive that goes on", () =>
      Effect.gen(function*() {
        const open = yield* Effect.flip(resolve([{ id: "a", executor: "b" }, { id: "b" }], "a"))
        assert.strictEqual(open._tag, "ChainMalformed")
        assert.strictEqual(toErrorObject(open).failed_at?.tool_id, "b")
        const on = yield* Effect.flip(
          resolve([{ id: "p", tier: "system", type: "primitive", executor: "subprocess" }], "p")
        )
        assert.strictEqual(on._tag, "ChainMalformed")
      }))
  })

  describe("a range of versions in executor_id", () => {
    const runtime = (version: string): Items.ToolSpec => ({
      id: "my_runtime",
      type: "runtime",
      category: "run",
      executor: "subprocess",
      version
    })
    const leaf: Items.ToolSpec = { id: "leaf", executor: "my_runtime", range: "^2.0" }

    it.effect("takes a parent that is in it, whatever its category", () =>
      Effect.gen(function*() {
        for (const executor of ["my_runtime", "run/my_runtime"]) {
          const { chain } = yield* resolve([{ ...leaf, executor }, runtime("2.3.1")], "leaf")
          assert.deepStrictEqual(chainIds(chain.links), ["leaf", "my_runtime", "subprocess"])
        }
      }))

    it.effect("refuses a parent outside of it, and names the child that asks", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(resolve([{ ...leaf, category: "c" }, runtime("3.0.0")], "leaf"))
        assert.deepStrictEqual(toErrorObject(error), {
          code: "CHAIN_VERSION_MISMATCH",
          message: "leaf asks for my_runtime@^2.0, and project:tools/run/my_runtime.yaml is 3.0.0",
          chain: ["leaf", "my_runtime"],
          failed_at: {
            tool_id: "leaf",
            config_path: "project:tools/c/leaf.yaml",
            validation_errors: [{
              field: "executor_id",
              error: "leaf asks for my_runtime@^2.0, and project:tools/run/my_runtime.yaml is 3.0.0",
              value: "my_runtime@^2.0"
            }]
          },
          retryable: false,
          remediation:
            "If 3.0.0 is right for it, write executor_id \"my_runtime@^3.0.0\" in project:tools/c/leaf.yaml and sign it again"
        })
      }))

    it.effect("does not take a pre-release that it does not name", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(resolve([leaf, runtime("2.1.0-rc.1")], "leaf"))
        assert.include(error.message, "a pre-release")
        assert.include(error.remediation, "\"my_runtime@2.1.0-rc.1\"")
        yield* resolve([{ ...leaf, range: "2.1.0-rc.1" }, runtime("2.1.0-rc.1")], "leaf")
      }))

    it.effect("counts between any two links", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(resolve([
          { id: "leaf", executor: "middle" },
          { id: "middle", executor: "my_runtime", range: "~1.0" },
          runtime("2.0.0")
        ], "leaf"))
        assert.strictEqual(error._tag, "ChainVersionMismatch")
        assert.strictEqual(toErrorObject(error).failed_at?.tool_id, "middle")
        assert.deepStrictEqual(toErrorObject(error).chain, ["leaf", "middle", "my_runtime"])
      }))
  })

  it.effect("a batch answers every query in order, failures each with their own error", () =>
    within(
      [...Items.system, { id: "a", executor: "python_runtime" }, { id: "b", executor: "nowhere" }],
      (resolver) =>
        Effect.gen(function*() {
          const answers = yield* resolver.resolveBatch([{ id: "b" }, { id: "a" }, { id: "../x" }, { id: "c" }, {
            id: "a"
          }])
          assert.deepStrictEqual(
            answers.map((a) => Result.isSuccess(a) ? chainIds(a.success.chain.links).join(">") : a.failure._tag),
            [
              "ChainLinkMissing",
              "a>python_runtime>subprocess",
              "ItemIdInvalid",
              "ItemNotFound",
              "a>python_runtime>subprocess"
            ]
          )
          assert.deepStrictEqual(yield* resolver.resolveBatch([]), [])
        })
    ))

  it.effect("an edit between two calls is seen, and without one the answer is the same object", () => {
    const specs: Array<Items.ToolSpec> = [...Items.system, { id: "leaf", executor: "python_runtime" }]
    return within(specs, (resolver) =>
      Effect.gen(function*() {
        const first = yield* resolver.resolve({ id: "leaf" })
        assert.strictEqual(yield* resolver.resolve({ id: "leaf" }), first)
        const runtime = specs.findIndex((s) => s.id === "python_runtime")
        specs[runtime] = { ...specs[runtime]!, config: { command: "other" } }
        const edited = yield* resolver.resolve({ id: "leaf" })
        assert.notStrictEqual(edited.chain.digest, first.chain.digest)
        assert.strictEqual(edited.chain.config["command"], "other")
        specs.push({ id: "leaf", tier: "user", executor: "python_runtime" })
        const hiding = yield* resolver.resolve({ id: "leaf" })
        assert.strictEqual(hiding.chain, edited.chain)
        assert.strictEqual(hiding.hides.length, 1)
        specs.splice(specs.findIndex((s) => s.id === "leaf" && s.tier === undefined), 1)
        assert.deepStrictEqual(tiersOf(yield* resolver.resolve({ id: "leaf" }))[0], "user:leaf")
      }))
  })
})
