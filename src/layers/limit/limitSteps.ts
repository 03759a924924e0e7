// Rate limits and concurrency limits, as a step of a call.
import { Effect } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import { CallLimits, type Entrant } from "../../services/limit/CallLimits.ts"
import { CallsTooDeep, maxNesting } from "../../services/proxy/nesting.ts"
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

  return ({ call, callGrant, chain, endings, settings }: Facts<
    "call" | "callGrant" | "chain" | "endings" | "settings"
  >) => {
    const { callId, within = [] } = call
    if (within.length > maxNesting) {
      const tools = within.map(({ tool }) => tool)
      return Effect.fail(new CallsTooDeep({ tool: chain.leaf.tool.location.id, within: tools }))
    }
    return limits.enter(
      {
        caller: call.caller,
        ...(callGrant === undefined && within.length === 0
          ? {}
          : { call: callId, within: within.map((one) => one.call) }),
        ids: idsOf(chain),
        rate: settings.limitsRate,
        concurrency: settings.limitsConcurrency
      },
      (leave) =>
        endings.push(() => {
          leave()
          return undefined
        })
    )
  }
})
