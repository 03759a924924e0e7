// Rules that answers made, in memory.
import { Effect, Layer } from "effect"
import type { RememberedRule } from "../../services/permission/RememberedRules.ts"
import { RememberedRules } from "../../services/permission/RememberedRules.ts"

export const make = Effect.sync(() => {
  let rules: ReadonlyArray<RememberedRule> = []
  return RememberedRules.of({
    current: Effect.sync(() => rules),
    add: (more) =>
      Effect.sync(() => {
        rules = [...rules, ...more]
      }),
    remove: (ids) =>
      Effect.sync(() => {
        const removed = rules.filter(({ id }) => ids.includes(id))
        rules = rules.filter((rule) => !removed.includes(rule))
        return removed
      })
  })
})

export const layer = Layer.effect(RememberedRules, make)
