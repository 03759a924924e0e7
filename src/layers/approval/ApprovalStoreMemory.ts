// Requests in memory, for a process of its own and for tests.
import { Effect, Layer, Semaphore } from "effect"
import type { Approvals } from "../../services/approval/Approval.ts"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import * as Shared from "./makeApprovalStore.ts"

export const make = Effect.suspend(() => {
  let kept: Approvals = []
  const turns = Semaphore.makeUnsafe(1)
  return Shared.make({
    read: Effect.sync(() => kept),
    change: (change) =>
      turns.withPermits(1)(
        Effect.map(Effect.suspend(() => change(kept)), ([value, after]) => {
          kept = after
          return value
        })
      )
  })
})

export const layer = Layer.effect(ApprovalStore, make)
