// Actions on locks for surfaces that can ask a person. Replacing or weakening a lock is a person's act, and is
// recorded.
import { Effect } from "effect"
import type {
  FreezeLocksInput,
  LockChange,
  PruneLocksInput,
  UpdateLocksInput
} from "../layers/lockfile/uses/changeLocks.ts"
import { planFreezeLocks, planPruneLocks, planUpdateLocks } from "../layers/lockfile/uses/changeLocks.ts"
import type { Caller } from "../services/call/Caller.ts"
import type { KiwiError } from "../services/error/KiwiError.ts"
import { govern } from "./govern.ts"
import { asHuman } from "./humanAct.ts"

/** Asks the person behind the surface's HumanGate if a person has to agree. */
export const performChange = <A, E>({ perform, request }: LockChange<A, E>, caller: Caller) =>
  request === undefined ? perform(undefined) : asHuman(request, caller, perform)

const changeLocks = <A, E extends KiwiError, E2 extends KiwiError, R>(
  change: "freeze" | "update" | "prune",
  input: FreezeLocksInput & UpdateLocksInput & PruneLocksInput,
  plan: Effect.Effect<LockChange<A, E>, E2, R>,
  caller: Caller
) =>
  govern(
    {
      caller,
      operation: `lockfile ${change}`,
      subject: { type: "tool", item: input.id ?? "**" },
      parameters: { ...input },
      lost: "warn"
    },
    () =>
      Effect.map(plan, (planned) => ({
        planned,
        action: { _tag: "ChangeLocks", change, tools: planned.tools } as const
      })),
    ({ planned }) => performChange(planned, caller)
  )

export const freezeLocks = (input: FreezeLocksInput, caller: Caller) =>
  changeLocks("freeze", input, planFreezeLocks(input), caller)

export const updateLocks = (input: UpdateLocksInput, caller: Caller) =>
  changeLocks("update", input, planUpdateLocks(input), caller)

export const pruneLocks = (input: PruneLocksInput, caller: Caller) =>
  changeLocks("prune", input, planPruneLocks(input), caller)
