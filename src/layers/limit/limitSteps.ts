// Rate limits and concurrency limits, as a step of a call.
import { Effect } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import { CallLimits, type Entrant } from "../../services/limit/CallLimits.ts"
import type { Facts } from "../call/Step.ts"

export const limitRate = Effect.gen(function*() {
  const limits = yield* CallLimits

  const known = new WeakMap<Chain, Entrant["ids"]>()
  const idsOf = (chain: Chain): Entrant["ids"] => {
    const ids = known.get(chain)
    if (ids !== undefined) return ids
    const { location } = chain.leaf.tool
    const found = [location.id, qualifiedId(location)] as const
    known.set(chain, found)
    return found
  }

  return ({ call, chain, endings, settings }: Facts<"call" | "chain" | "endings" | "settings">) =>
    limits.enter(
      {
        caller: call.caller,
        ids: idsOf(chain),
        rate: settings.limitsRate,
        concurrency: settings.limitsConcurrency
      },
      (leave) => endings.push(leave)
    )
})
