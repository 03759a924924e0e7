// Signing, for every surface: plan, ask a person, sign exactly what was shown, record it.
import { Effect, Result } from "effect"
import { planUnfinishedLocks } from "../layers/lockfile/uses/changeLocks.ts"
import type { AuditLog } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/call/Caller.ts"
import type { ErrorObject } from "../services/error/KiwiError.ts"
import { toErrorObject } from "../services/error/KiwiError.ts"
import type { PlannedSignature, SignedItem } from "../services/integrity/Signatures.ts"
import { Signatures } from "../services/integrity/Signatures.ts"
import type { SigningPlan } from "../services/integrity/Signatures.ts"
import { showLocation } from "../services/item/Item.ts"
import type { ItemType, Tier } from "../services/item/ItemId.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import type { ItemStore } from "../services/item/ItemStore.ts"
import { showFinding } from "../services/lockfile/compareLock.ts"
import { Lockfiles } from "../services/lockfile/Lockfiles.ts"
import type { SignedLocks } from "../services/lockfile/Lockfiles.ts"
import { showLock } from "../services/lockfile/lockName.ts"
import { findListed, notInProfile } from "../services/permission/profile/callerProfile.ts"
import { defined } from "../services/schema/defined.ts"
import type { HumanGate } from "../services/trust/HumanAct.ts"
import { govern } from "./govern.ts"
import { asHuman } from "./humanAct.ts"
import { performChange } from "./lockfile.ts"
import { withoutQuotes } from "./withoutQuotes.ts"

export interface SignInput {
  /** An id, `category/id`, or a glob over them. */
  readonly id: string
  readonly type?: ItemType | undefined
  readonly tier?: Exclude<Tier, "system"> | undefined
  readonly category?: string | undefined
  /** Leaves out items that you have signed already. */
  readonly changedOnly?: boolean | undefined
  /** Whether to lock the present chains of signed tools. Default: true. */
  readonly freeze?: boolean | undefined
}

/** The outcome for a signed tool's lockfile. The signature stays in any case. */
export type SignedLockfile =
  | {
    readonly status: "generated" | "unchanged"
    readonly path: string
    readonly chain_length: number
    /** Its differences from the previous lock, except those that were signed with it. */
    readonly besides?: ReadonlyArray<string>
  }
  | { readonly status: "failed"; readonly error: ErrorObject }

export interface Signed {
  readonly signed: ReadonlyArray<{
    readonly id: string
    readonly type: string
    readonly path: string
    readonly version: string
    readonly digest: string
    readonly key_id: string
    readonly time: string
    /** Of a tool. */
    readonly lockfile?: SignedLockfile
  }>
  /** Items that an agent asked to sign, but that the person has signed and locked already. The person was not asked. */
  readonly already_signed?: ReadonlyArray<{
    readonly id: string
    readonly type: string
    readonly path: string
    readonly version: string
    readonly digest: string
  }>
  /**
   * Items that went back to an older version with a signature of yours: that version may run now. File and lock are not
   * changed.
   */
  readonly went_back?: ReadonlyArray<{
    readonly id: string
    readonly type: string
    readonly path: string
    readonly from: string
    readonly version: string
    readonly digest: string
  }>
  /** Lockfiles that were missing or different for items that were signed already. */
  readonly locked?: ReadonlyArray<string>
  /** Lockfiles of other tools that were made anew because a signed item is in their chain. */
  readonly refrozen: ReadonlyArray<string>
  /** Items of a glob that cannot be signed. */
  readonly refused: ReadonlyArray<{ readonly path: string; readonly error: string; readonly remediation?: string }>
}

export const refusals = (plan: Pick<SigningPlan, "refused">): Signed["refused"] =>
  plan.refused.map(({ error, item }) => ({ path: item, error: error.message, remediation: error.remediation }))

const lockfileOf = ({ location }: SignedItem, locks: SignedLocks): SignedLockfile | undefined => {
  const lock = locks.tools.get(showLocation(location))
  if (lock === undefined) return undefined
  if (lock._tag === "Failed") return { status: "failed", error: toErrorObject(lock.error) }
  return {
    status: lock._tag === "Locked" ? "generated" : "unchanged",
    path: showLock(lock.lock),
    chain_length: lock.lock.lockfile.resolved_chain.length,
    ...(lock._tag === "Locked" && lock.besides.length > 0 ? { besides: lock.besides.map(showFinding) } : {})
  }
}

const shown = (item: SignedItem, lockfile: SignedLockfile | undefined): Signed["signed"][number] => ({
  id: item.location.id,
  type: item.location.type,
  path: showLocation(item.location),
  version: item.version,
  digest: item.digest,
  key_id: item.keyId,
  time: item.time,
  ...(lockfile === undefined ? {} : { lockfile })
})

const wentBack = ({ items }: SigningPlan): Pick<Signed, "went_back"> => {
  const older = items.flatMap(({ change, goesBackFrom, item, location, snapshot }) =>
    change !== "older" || goesBackFrom === undefined ? [] : [{
      id: location.id,
      type: location.type,
      path: showLocation(location),
      from: goesBackFrom,
      version: item.version,
      digest: snapshot.digest
    }]
  )
  return older.length === 0 ? {} : { went_back: older }
}

/** Whether signing would change nothing: the person has signed all items as they are, and the locks match. */
const areDone = Effect.fnUntraced(function*(items: ReadonlyArray<PlannedSignature>) {
  const isSame = ({ change, goesBackFrom, hides }: PlannedSignature) =>
    change === "same" && goesBackFrom === undefined && hides.length === 0
  if (!items.every(isSame)) return false
  const tools = items.filter(({ location }) => location.type === "tool")
  const lockfiles = yield* Lockfiles
  const states = yield* lockfiles.validateAll(
    tools.map(({ location }) => ({ id: qualifiedId(location), tier: location.tier }))
  )
  return states.every((state) => Result.isSuccess(state) && state.success.check._tag === "Locked")
})

const alreadySigned = ({ item, location, snapshot }: PlannedSignature) => ({
  id: location.id,
  type: location.type,
  path: showLocation(location),
  version: item.version,
  digest: snapshot.digest
})

type LockingNeeds = AuditLog | HumanGate | ItemStore | Lockfiles

/** Makes the locks that an interrupted signing did not make. The signatures stay, even if this fails. */
const finishLocks = Effect.fnUntraced(function*(
  { request, signed }: SigningPlan,
  caller: Caller
): Effect.fn.Return<Pick<Signed, "refused"> & { readonly locked: ReadonlyArray<string> }, never, LockingNeeds> {
  const tools = signed.filter(({ type }) => type === "tool").map((location) => ({
    id: qualifiedId(location),
    tier: location.tier
  }))
  const done = yield* planUnfinishedLocks(tools, `${request.command} --changed`).pipe(
    Effect.flatMap((change) => performChange(change, caller)),
    Effect.result
  )
  if (Result.isFailure(done)) {
    const { message, remediation } = toErrorObject(done.failure)
    return {
      locked: [],
      refused: [{
        path: "the locks of what is signed already",
        error: message,
        ...(remediation === undefined ? {} : { remediation })
      }]
    }
  }
  const { locks, refused } = done.success
  return {
    locked: locks.flatMap(({ path }) => path ?? []),
    refused: refused.map(({ error, tool }) => ({ path: `the lock of ${tool}`, error: error.message }))
  }
})

const noLocks: SignedLocks = { tools: new Map(), dependents: [] }

/** Only the terminal surface asks for a passphrase. */
const answeredIn = { cli: undefined, mcp: "client", embed: "program" } as const

/**
 * Asks the person behind the surface's HumanGate. The person is not asked if the plan has no items, or if an agent asks
 * for items that the person has signed already.
 */
export const sign = Effect.fn("sign")((input: SignInput, caller: Caller) => {
  const { id, tier, type, ...parameters } = input
  return govern(
    {
      caller,
      operation: "sign",
      subject: defined({ item: id, type, tier }),
      parameters,
      lost: "warn"
    },
    () =>
      Effect.map(
        planSigning(input, caller),
        (plan) => ({ plan, action: { _tag: "Sign", items: itemsOf(plan) } as const })
      ),
    ({ plan }) => signPlanned(plan, input, caller)
  )
})

const itemsOf = ({ items, signed }: SigningPlan) => [...items.map(({ location }) => location), ...signed]

/** What a glob finds and refuses may not be in the profile, and planning quotes it. */
const requireOneListed = ({ id, tier, type }: SignInput, caller: Caller, profile: string) =>
  /[*?]/.test(id) ? Effect.fail(notInProfile(profile, id)) : findListed(caller, { id, type, tier })

const planSigning = Effect.fnUntraced(function*(input: SignInput, caller: Caller) {
  const signatures = yield* Signatures
  const hideQuote = yield* withoutQuotes
  if (caller.profile !== undefined) yield* requireOneListed(input, caller, caller.profile)
  const plan = yield* Effect.mapError(signatures.plan({ ...input, answeredIn: answeredIn[caller.surface] }), hideQuote)
  return { ...plan, refused: plan.refused.map(({ error, item }) => ({ item, error: hideQuote(error) })) }
})

const signPlanned = Effect.fnUntraced(function*(plan: SigningPlan, input: SignInput, caller: Caller) {
  const lockfiles = yield* Lockfiles
  const signatures = yield* Signatures
  const withLocks = Effect.fnUntraced(function*(done: Signed) {
    if (input.freeze === false || plan.signed.length === 0) return done
    const { locked, refused } = yield* finishLocks(plan, caller)
    return { ...done, refused: [...done.refused, ...refused], ...(locked.length === 0 ? {} : { locked }) }
  })
  if (plan.items.length === 0) {
    return yield* withLocks({ signed: [], refrozen: [], refused: refusals(plan) })
  }
  if (caller.surface === "mcp" && (yield* areDone(plan.items))) {
    return {
      signed: [],
      already_signed: plan.items.map(alreadySigned),
      refrozen: [],
      refused: refusals(plan)
    } satisfies Signed as Signed
  }
  const { locks, signed } = yield* asHuman(plan.request, caller, (act) =>
    Effect.gen(function*() {
      const items = yield* signatures.sign(plan, act)
      return { signed: items, locks: input.freeze === false ? noLocks : yield* lockfiles.lockSigned(items, act) }
    }))
  return yield* withLocks({
    signed: signed.map((item) => shown(item, lockfileOf(item, locks))),
    ...wentBack(plan),
    refrozen: locks.dependents.map(showLock),
    refused: refusals(plan)
  })
})
