import { Effect } from "effect"
import { Closings } from "../../services/closing/Closings.ts"
import { PermissionDenied } from "../../services/permission/PermissionGate.ts"
import type { Facts } from "../call/Step.ts"

/** A closed tool is not run, by nobody. */
export const refuseClosed = Effect.gen(function*() {
  const { closed } = yield* Closings
  return Effect.fnUntraced(function*({ chain }: Facts<"chain">) {
    const { id } = chain.leaf.tool.location
    const reason = (yield* closed).get(id)
    if (reason === undefined) return
    return yield* new PermissionDenied({
      what: `run tool ${id}`,
      rule: "closed",
      reason,
      hint: "Remove it from .ai/config/closed.yaml, and accept that: kiwi trust project"
    })
  })
})
