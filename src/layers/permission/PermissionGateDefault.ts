// The shipped default alone: for kernels that have no rules of their own, and for tests.
import { Effect, Layer } from "effect"
import type { Ask } from "../../services/permission/PermissionGate.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { accessesOf } from "./ruleQuery.ts"
import { asItsTool, askOf, neverAllowed, refused, shippedDefault, type Surroundings } from "./shippedDefault.ts"

const nowhere: Surroundings = { root: "/", closed: [], unwritable: () => [], sandboxed: false }

const makeWith = (around: Surroundings) =>
  PermissionGate.of({
    decide: (_caller, action) => {
      const rules = new Set<string>()
      const asks: Array<Ask> = []
      for (const access of accessesOf(action)) {
        const verdict = neverAllowed(action, access, around) ?? shippedDefault(action, access, around)
        if (verdict._tag === "Deny") return Effect.fail(refused(action, verdict))
        if (verdict !== asItsTool) rules.add(verdict.rule)
        if (verdict._tag === "Ask") asks.push(askOf(verdict, access))
      }
      return Effect.succeed({ rule: [...rules].join(", "), asks })
    }
  })

export const make = makeWith(nowhere)

export const layer = Layer.succeed(PermissionGate, make)
