// Requests in memory, for a process of its own and for tests.
import { Clock, Effect, Layer } from "effect"
import { ApprovalPending, ApprovalStore } from "../../services/approval/ApprovalStore.ts"

/** In milliseconds. */
const life = 60 * 60 * 1000

export const make = Effect.sync(() =>
  ApprovalStore.of({
    require: Effect.fnUntraced(function*({ asks, digest, what }) {
      const until = new Date((yield* Clock.currentTimeMillis) + life).toISOString()
      return yield* new ApprovalPending({ id: digest.slice(0, 12), what, rule: asks[0]?.rule ?? "", until })
    })
  })
)

export const layer = Layer.effect(ApprovalStore, make)
