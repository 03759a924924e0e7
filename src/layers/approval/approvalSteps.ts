// Asks a person last, over everything that the call would do. Free if nothing is asked.
import { Effect } from "effect"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import type { Facts } from "../call/Step.ts"

export const approve = Effect.gen(function*() {
  const approvals = yield* ApprovalStore

  return Effect.fnUntraced(function*({ asks, call, chain }: Facts<"asks" | "call" | "chain">) {
    if (asks.length === 0 || call.dryRun) return
    const { id } = chain.leaf.tool.location
    const { rule } = yield* approvals.require({
      callId: call.callId,
      caller: call.caller,
      what: `run tool ${id}`,
      asks,
      details: "",
      digest: chain.digest
    })
    return { rule }
  })
})
