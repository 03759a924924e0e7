// What signing does to locks: it locks the signed tools as they are now, and locks again every other tool whose chain
// differs from its lock by nothing but the signed items. The signature was the person's consent, so nobody is asked.
import { Effect, Iterable, Result } from "effect"
import type { SignedItem } from "../../services/integrity/Signatures.ts"
import { showLocation } from "../../services/item/Item.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import { compareLock, compareReplaced, type LockFinding } from "../../services/lockfile/compareLock.ts"
import { type Frozen, showLink } from "../../services/lockfile/Lockfile.ts"
import type { Lockfiles, LockState, SignedLock } from "../../services/lockfile/Lockfiles.ts"
import type { LockfileStore, LockScope, StoredLock } from "../../services/lockfile/LockfileStore.ts"
import { isSameLockfile } from "../../services/lockfile/lockfileText.ts"
import { keyOf } from "../../services/lockfile/lockName.ts"
import { hasLink, queryOfLock } from "../../services/lockfile/lockReport.ts"
import { type CurrentTools, scopeOf } from "./currentTools.ts"

/** Whether a finding is about a link whose item was signed just now. `signed`: by `showLocation`. */
const isAboutSigned = ({ link }: LockFinding, now: Frozen, signed: ReadonlySet<string>): boolean => {
  const at = link === undefined ? undefined : now.resolved_chain[link]
  return at !== undefined && signed.has(showLink(at))
}

/** Whether all findings follow from what was signed just now. */
const isExplained = (findings: ReadonlyArray<LockFinding>, now: Frozen, signed: ReadonlySet<string>): boolean =>
  findings.some(({ link }) => link !== undefined) && findings.every((finding) =>
    finding.link === undefined
      ? finding.field === "commands" || finding.field === "variables"
      : (finding.field === "version" || finding.field === "integrity") && isAboutSigned(finding, now, signed)
  )

/** What this machine could not find out stays as it was locked. */
const keepUnknown = (locked: Frozen, now: Frozen): Frozen => ({
  ...now,
  runtime: { ...now.runtime, interpreter: now.runtime.interpreter ?? locked.runtime.interpreter },
  dependencies: now.dependencies ?? locked.dependencies
})

type Plan =
  | Extract<SignedLock, { readonly _tag: "Unchanged" }>
  | {
    readonly _tag: "Write"
    readonly frozen: Frozen
    readonly scope: LockScope
    readonly besides: ReadonlyArray<LockFinding>
  }

export const make = (
  store: LockfileStore["Service"],
  list: Lockfiles["Service"]["list"],
  { forEachTool, locksFor }: CurrentTools
): Lockfiles["Service"]["lockSigned"] => {
  const planLock = Effect.fnUntraced(function*({ chain, now }: Pick<LockState, "chain" | "now">, signed: Set<string>) {
    const scope = scopeOf(chain)
    const { invalid = [], locks = [] } = (yield* locksFor(now)).find((found) => found.scope === scope) ?? {}
    const same = locks.find((lock) => compareLock(lock.lockfile, now).length === 0)
    if (same !== undefined && invalid.length === 0) return { _tag: "Unchanged", lock: same } as Plan
    const before = locks.find(({ variant }) => !variant)
    const findings = before === undefined ? [] : compareReplaced(before.lockfile, now)
    const besides = findings.filter((finding) => !isAboutSigned(finding, now, signed))
    return { _tag: "Write", frozen: now, scope, besides } as Plan
  })

  /** Fails if the lock is not there any more, or not as it was. */
  const requireUnchanged = ({ lockfile, path, scope }: StoredLock) =>
    store.locksFor(keyOf(lockfile), lockfile.chain_hash).pipe(
      Effect.filterOrFail((found) =>
        found.some(({ locks }) =>
          locks.some((lock) => lock.scope === scope && lock.path === path && isSameLockfile(lock.lockfile, lockfile))
        )
      ),
      Effect.asVoid
    )

  const lockDependents = Effect.fnUntraced(function*(signed: ReadonlyArray<SignedItem>, places: ReadonlySet<string>) {
    const { locks } = yield* list()
    const dependents = locks.filter((lock) => signed.some(({ location }) => hasLink(lock, location.id)))
    const states = yield* forEachTool(dependents.map(queryOfLock), Effect.succeed)
    const renewals = Array.from(Iterable.zip(dependents, states)).flatMap(([lock, state]) => {
      if (Result.isFailure(state)) return []
      const now = keepUnknown(lock.lockfile, state.success.now)
      // The lock of an earlier version says nothing about this one.
      if (now.root.version !== lock.lockfile.root.version) return []
      if (!isExplained(compareLock(lock.lockfile, now), now, places)) return []
      return [{ lock, frozen: now, scope: lock.scope, variant: lock.variant, provided: requireUnchanged(lock) }]
    })
    const done: Array<StoredLock> = []
    for (const [{ lock }, saved] of Iterable.zip(renewals, yield* store.saveAll(renewals))) {
      if (Result.isFailure(saved)) continue
      if (saved.success.path !== lock.path) yield* Effect.ignore(store.remove(lock))
      done.push(saved.success)
    }
    return done
  })

  return Effect.fn("Lockfiles.lockSigned")(function*(signed, act) {
    const items = act.kind === "sign" ? signed.filter(({ location }) => location.type === "tool") : []
    const places = items.map(({ location }) => showLocation(location))
    const isSigned = new Set(places)
    const plans = yield* forEachTool(
      items.map(({ location }) => ({ id: qualifiedId(location), tier: location.tier })),
      (state) => planLock(state, isSigned)
    )
    const writes = plans.flatMap((plan) =>
      Result.isSuccess(plan) && plan.success._tag === "Write" ? [plan.success] : []
    )
    const written = new Map(Iterable.zip(writes, yield* store.saveAll(writes)))
    const tools = plans.map((plan): SignedLock => {
      if (Result.isFailure(plan)) return { _tag: "Failed", error: plan.failure }
      if (plan.success._tag === "Unchanged") return plan.success
      const { besides } = plan.success
      return Result.match(written.get(plan.success)!, {
        onFailure: (error) => ({ _tag: "Failed", error }),
        onSuccess: (lock) => ({ _tag: "Locked", lock, besides })
      })
    })
    return {
      tools: new Map(Iterable.zip(places, tools)),
      dependents: yield* lockDependents(items, isSigned)
    }
  })
}
