// Remembered rules for a process of its own, and for tests.
import { Effect, Layer, Ref } from "effect"
import type { RememberedRule } from "../../services/permission/RememberedRules.ts"
import { RememberedRules } from "../../services/permission/RememberedRules.ts"
import { splitRemoved, withAdded } from "./rememberedList.ts"

export const make = (initial: ReadonlyArray<RememberedRule>) =>
  Effect.map(Ref.make(initial), (rules) =>
    RememberedRules.of({
      current: Ref.get(rules),
      add: (added) => Ref.update(rules, (known) => withAdded(known, added)),
      remove: (ids) =>
        Ref.modify(rules, (known) => {
          const { kept, removed } = splitRemoved(known, ids)
          return [removed, kept]
        })
    }))

export const layerWith = (initial: ReadonlyArray<RememberedRule>) => Layer.effect(RememberedRules, make(initial))

export const layer = layerWith([])
