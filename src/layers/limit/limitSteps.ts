// Rate limits, concurrency limits and the loop guard, as steps of a call.
import { Effect } from "effect"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import { CallLimits } from "../../services/limit/CallLimits.ts"
import type { Facts } from "../call/Step.ts"

export const limitRate = Effect.gen(function*() {
  const limits = yield* CallLimits

  return ({ call, chain, endings }: Facts<"call" | "chain" | "endings">) => {
    const { location } = chain.leaf.tool
    return limits.enter(
      { caller: call.caller, ids: [location.id, qualifiedId(location)] },
      (leave) => endings.push(() => Effect.as(leave, undefined))
    )
  }
})
