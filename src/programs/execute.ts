// Execute: a tool runs through ToolProxy; a directive or a knowledge entry is handed over to be followed.
import { Effect } from "effect"
import type { Schema } from "effect"
import type { ItemType, Tier } from "../services/item/ItemId.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import type { LockMode } from "../services/lockfile/LockMode.ts"
import type { Caller } from "../services/proxy/ToolCall.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { follow } from "./follow.ts"

export interface ExecuteInput {
  readonly id: string
  readonly type?: ItemType | undefined
  readonly tier?: Tier | undefined
  readonly parameters: Schema.JsonObject
  readonly dryRun: boolean
  /** Counts where it is stricter than the setting. */
  readonly lockfileMode?: LockMode | undefined
  /** Unique for this call; see `newCallId`. */
  readonly callId: string
}

export const execute = Effect.fn("execute")(function*(input: ExecuteInput, caller: Caller) {
  const proxy = yield* ToolProxy
  const runTool = proxy.call({
    callId: input.callId,
    caller,
    item: input.id,
    ...(input.tier === undefined ? {} : { tier: input.tier }),
    parameters: input.parameters,
    dryRun: input.dryRun,
    ...(input.lockfileMode === undefined ? {} : { lockfileMode: input.lockfileMode })
  })
  if (input.type === "tool") return yield* runTool
  const store = yield* ItemStore
  const { location } = yield* store.find({ id: input.id, type: input.type, tier: input.tier })
  if (location.type === "tool") return yield* runTool
  return yield* follow(location, input.parameters, { callId: input.callId, caller })
})
