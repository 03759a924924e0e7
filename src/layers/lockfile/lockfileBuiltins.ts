// The lock commands as tools of the system tier. A change asks the permission gate, as the command does. A tool cannot
// ask a person: a change that needs consent fails with `HumanRequired`, which names the command.
import { Effect, Schema } from "effect"
import type { Caller } from "../../services/call/Caller.ts"
import { forAgent } from "../../services/error/agentRemedy.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import type { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import { Tier } from "../../services/item/ItemId.ts"
import type { ItemStore } from "../../services/item/ItemStore.ts"
import type { Lockfiles } from "../../services/lockfile/Lockfiles.ts"
import { LockScope } from "../../services/lockfile/LockfileStore.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import type { BuiltinHandler } from "../../services/primitive/Builtins.ts"
import { decodeParameters } from "../../services/primitive/Builtins.ts"
import { requireAct } from "../../services/trust/HumanAct.ts"
import { type LockChange, planFreezeLocks, planPruneLocks } from "./uses/changeLocks.ts"
import { listLocks, validateLocks, verifyLocks } from "./uses/checkLocks.ts"
import { diffLock } from "./uses/diffLock.ts"

const optionalText = Schema.optionalKey(Schema.String)
const place = { category: optionalText, scope: Schema.optionalKey(LockScope) }
const dryRun = Schema.optionalKey(Schema.Boolean)

const Freeze = Schema.Struct({
  tool: optionalText,
  dependents_of: optionalText,
  ...place,
  tier: Schema.optionalKey(Tier),
  variant: Schema.optionalKey(Schema.Boolean),
  dry_run: dryRun
})
const Validate = Schema.Struct({ tool: Schema.String, category: optionalText, tier: Schema.optionalKey(Tier) })
const List = Schema.Struct({ tool: optionalText, version: optionalText, ...place })
const Prune = Schema.Struct({
  older_than_days: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 36_500 }))),
  ...place,
  dry_run: dryRun
})
const Diff = Schema.Struct({
  tool: Schema.String,
  category: optionalText,
  tier: Schema.optionalKey(Tier),
  against: optionalText
})
const Verify = Schema.Struct(place)

const day = 86_400_000

const performAlone = (caller: Caller, change: "freeze" | "prune") =>
  Effect.fnUntraced(function*<A, E>({ perform, request, tools }: LockChange<A, E>) {
    const gate = yield* PermissionGate
    yield* gate.decide(caller, { _tag: "ChangeLocks", change, tools })
    yield* requireAct(request, undefined)
    return yield* perform(undefined)
  })

/** Answers are plain data. Keys without a value are dropped. */
const toJson = (report: unknown): Schema.Json => JSON.parse(JSON.stringify(forAgent(report)))

type Services = Lockfiles | ItemStore | PermissionGate | VerifiedCopies

const handler = <A>(
  parameters: Schema.ConstraintDecoder<A>,
  use: (parameters: A, caller: Caller) => Effect.Effect<unknown, KiwiError, Services>
): BuiltinHandler<Services> =>
  Effect.fnUntraced(function*(input) {
    return { data: toJson(yield* use(yield* decodeParameters(parameters, input), input.caller)), metadata: {} }
  })

export const handlers = {
  lockfile_freeze: handler(
    Freeze,
    ({ dependents_of, dry_run, tool, ...rest }, caller) =>
      Effect.flatMap(
        planFreezeLocks({ ...rest, id: tool, dependentsOf: dependents_of, dryRun: dry_run }),
        performAlone(caller, "freeze")
      )
  ),
  lockfile_validate: handler(Validate, ({ tool, ...rest }) => validateLocks({ ...rest, id: tool })),
  lockfile_list: handler(List, ({ tool, ...rest }) => listLocks({ ...rest, toolId: tool })),
  lockfile_prune: handler(
    Prune,
    ({ dry_run, older_than_days: days, ...rest }, caller) =>
      Effect.flatMap(
        planPruneLocks({ ...rest, olderThan: days === undefined ? undefined : days * day, dryRun: dry_run }),
        performAlone(caller, "prune")
      )
  ),
  lockfile_diff: handler(Diff, ({ tool, ...rest }) => diffLock({ ...rest, id: tool })),
  lockfile_verify: handler(Verify, verifyLocks)
}
