// Execute: runs a tool through ToolProxy; returns the content of a directive or a knowledge entry, to be followed.
import { Effect } from "effect"
import type { Schema } from "effect"
import { audited } from "../services/audit/audited.ts"
import { AuditLog } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/call/Caller.ts"
import type { ItemType, Tier } from "../services/item/ItemId.ts"
import type { FoundItem, ItemQuery } from "../services/item/ItemStore.ts"
import type { LockMode } from "../services/lockfile/LockMode.ts"
import { findListed } from "../services/permission/profile/callerProfile.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { defined } from "../services/schema/defined.ts"
import { follow } from "./follow.ts"

export interface ExecuteInput {
  readonly id: string
  readonly type?: ItemType | undefined
  readonly tier?: Tier | undefined
  readonly parameters: Schema.JsonObject
  readonly dryRun: boolean
  /** Used if it is stricter than the setting. */
  readonly lockfileMode?: LockMode | undefined
  /** Unique for this call; see `newCallId`. */
  readonly callId: string
}

/** Finds the item to execute. A request for a missing item is recorded here; a found one by its call. */
export const findToExecute = Effect.fnUntraced(function*(
  { id, tier, type }: ItemQuery,
  { callId, caller, parameters }: Pick<ExecuteInput, "callId" | "parameters"> & { readonly caller: Caller }
) {
  const audit = yield* AuditLog
  const subject = defined({ item: id, type, tier })
  return yield* findListed(caller, { id, type, tier }).pipe(Effect.catch((error) =>
    audited(
      audit,
      { call: callId, caller, operation: "execute", subject, parameters },
      { ending: () => ({ subject }), lost: Effect.succeed },
      Effect.fail(error)
    )
  ))
})

export const execute = Effect.fnUntraced(function*(input: ExecuteInput, caller: Caller) {
  const { callId, parameters, type } = input
  const proxy = yield* ToolProxy
  const runTool = (found?: FoundItem) =>
    proxy.call(
      defined({
        callId,
        caller,
        item: input.id,
        tier: input.tier,
        parameters,
        dryRun: input.dryRun,
        lockfileMode: input.lockfileMode
      }),
      found
    )
  if (type === "tool") return yield* runTool()
  const found = yield* findToExecute(input, { callId, caller, parameters })
  if (found.location.type === "tool") return yield* runTool(found)
  return yield* follow(found.location, parameters, { callId, caller })
})
