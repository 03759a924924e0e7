// What every backend of RememberedRules does.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import type { Scope } from "effect"
import type { RememberedRule } from "../../../src/services/permission/RememberedRules.ts"
import { RememberedRules } from "../../../src/services/permission/RememberedRules.ts"

export const rememberedRule = (id: string, more: Partial<RememberedRule> = {}): RememberedRule => ({
  id,
  rule: "allow: fs.write(src/**)",
  client: "dev",
  at: "2026-11-23T00:00:00.000Z",
  by: "answered at /dev/pts/3",
  approval: "a1",
  ...more
})

export const contract = <E>(
  name: string,
  world: Effect.Effect<Layer.Layer<RememberedRules, E>, never, Scope.Scope>
) => {
  const using = <A, E2>(use: (rules: RememberedRules["Service"]) => Effect.Effect<A, E2>) =>
    Effect.scoped(Effect.flatMap(world, (layer) => Effect.provide(Effect.flatMap(RememberedRules, use), layer)))

  describe(`${name} satisfies RememberedRules`, () => {
    it.live("is empty at first", () =>
      using(Effect.fnUntraced(function*({ current, remove }) {
        assert.deepStrictEqual(yield* current, [])
        assert.deepStrictEqual(yield* remove(["nothing"]), [])
      })))

    it.live("returns what was added, in order, at once", () =>
      using(Effect.fnUntraced(function*({ add, current }) {
        const all = ["b", "a", "c"].map((id) => rememberedRule(id, { session: id }))
        yield* add(all.slice(0, 1))
        yield* add(all.slice(1))
        assert.deepStrictEqual(yield* current, all)
      })))

    it.live("replaces a rule of the same id", () =>
      using(Effect.fnUntraced(function*({ add, current }) {
        yield* add([rememberedRule("a"), rememberedRule("b")])
        yield* add([rememberedRule("a", { rule: "deny: deploy" })])
        assert.deepStrictEqual((yield* current).map(({ id, rule }) => [id, rule]), [
          ["b", "allow: fs.write(src/**)"],
          ["a", "deny: deploy"]
        ])
      })))

    it.live("returns what was removed, and keeps the rest", () =>
      using(Effect.fnUntraced(function*({ add, current, remove }) {
        yield* add([rememberedRule("a"), rememberedRule("b"), rememberedRule("c")])
        assert.deepStrictEqual((yield* remove(["c", "x", "a"])).map(({ id }) => id), ["a", "c"])
        assert.deepStrictEqual((yield* current).map(({ id }) => id), ["b"])
      })))

    it.live("loses nothing that is added at once", () =>
      using(Effect.fnUntraced(function*({ add, current }) {
        const ids = Array.from({ length: 20 }, (_, i) => `r${i}`)
        yield* Effect.forEach(ids, (id) => add([rememberedRule(id)]), { concurrency: "unbounded" })
        assert.deepStrictEqual((yield* current).map(({ id }) => id).toSorted(), ids.toSorted())
      })))
  })
}
