// However many tools one act is about, the folders that they lie in are looked at as often as for one.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ItemStoreMemory from "../../src/layers/item/ItemStoreMemory.ts"
import { systemFiles } from "../../src/layers/item/system/systemSpace.ts"
import { validateLocks, verifyLocks } from "../../src/layers/lockfile/uses/checkLocks.ts"
import { freezeLocks, updateLocks } from "../../src/programs/lockfile.ts"
import { sign } from "../../src/programs/sign.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { HumanGate } from "../../src/services/trust/HumanAct.ts"
import { caller, echo, kernel } from "../layers/proxy/calls.ts"
import { agree } from "../support/trustWorld.ts"

const gate = Layer.succeed(HumanGate, { ask: (request) => Effect.succeed(agree(request)) })

/** How often each act looked at the folders, in a project of so many tools. */
const looksFor = Effect.fnUntraced(function*(tools: number) {
  const project = new Map(Array.from({ length: tools }, (_, index) => [`tools/math/tool${index}.yaml`, echo]))
  const lockfiles = { project: new Map<string, string>(), user: new Map<string, string>() }
  const store = ItemStoreMemory.make({ project, user: new Map(), system: yield* systemFiles })
  let looks = 0
  const counting = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      looks++
      return effect
    })
  const layer = kernel({
    signatures: "checked",
    project,
    lockfiles,
    replace: Layer.succeed(ItemStore, {
      ...store,
      find: (query) => counting(store.find(query)),
      list: (filter) => counting(store.list(filter)),
      atOnce: counting(store.atOnce)
    })
  })
  const context = yield* Layer.build(Layer.merge(layer, gate))
  const count = <A, E>(act: Effect.Effect<A, E, Layer.Success<typeof layer> | HumanGate>) =>
    Effect.suspend(() => {
      looks = 0
      return Effect.map(Effect.provideContext(act, context), () => looks)
    })
  const input = { id: "**", type: "tool" } as const
  const signed = yield* count(sign(input, caller))
  assert.strictEqual(lockfiles.project.size, tools)
  const again = yield* count(sign(input, { ...caller, surface: "mcp" }))
  const validated = yield* count(validateLocks({ id: "**" }))
  const verified = yield* count(verifyLocks({}))
  const updated = yield* count(updateLocks({}, caller))
  lockfiles.project.clear()
  const unlocked = yield* count(verifyLocks({}))
  const finished = yield* count(sign({ ...input, changedOnly: true }, caller))
  assert.strictEqual(lockfiles.project.size, tools)
  const frozen = yield* count(freezeLocks({ id: "**" }, caller))
  return { signed, again, validated, verified, updated, unlocked, finished, frozen }
}, Effect.scoped)

describe("signing and locking", () => {
  it.effect("look at the folders no more often for many tools than for one", () =>
    Effect.gen(function*() {
      const one = yield* looksFor(1)
      assert.deepStrictEqual(yield* looksFor(12), one)
      for (const looks of Object.values(one)) assert.isAbove(looks, 0)
    }))
})
