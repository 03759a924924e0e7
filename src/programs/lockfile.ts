// What is done to locks on the surfaces that can reach a person: what loosens one is a person's act, and is recorded.
import * as Uses from "../layers/lockfile/lockUses.ts"
import type { Ask, FreezeLocksInput, PruneLocksInput, UpdateLocksInput } from "../layers/lockfile/lockUses.ts"
import type { AuditLog, AuditUnavailable } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/proxy/ToolCall.ts"
import type { HumanDeclined, HumanGate, HumanRequired } from "../services/trust/HumanAct.ts"
import { asHuman } from "./humanAct.ts"

/** Asks the person behind the surface's HumanGate. */
export const asking =
  (caller: Caller): Ask<AuditUnavailable | HumanDeclined | HumanRequired, AuditLog | HumanGate> => (request, perform) =>
    asHuman(request, caller, perform)

export const freezeLocks = (input: FreezeLocksInput, caller: Caller) => Uses.freezeLocks(input, asking(caller))

export const updateLocks = (input: UpdateLocksInput, caller: Caller) => Uses.updateLocks(input, asking(caller))

export const pruneLocks = (input: PruneLocksInput, caller: Caller) => Uses.pruneLocks(input, asking(caller))
