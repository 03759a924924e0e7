// What is done with locks over the Lockfiles of a kernel, for surfaces that can ask a person and for tools, which cannot.
// A change is planned first: the plan says what a person has to agree to, and performs exactly that. Many locks together
// are one question; nothing is written before it was agreed to.
import { Effect, Iterable, Result } from "effect"
import { toErrorObject } from "../../services/error/KiwiError.ts"
import { ItemIdInvalid, ItemNotFound } from "../../services/item/ItemErrors.ts"
import { isCategory, parseItemRef } from "../../services/item/ItemId.ts"
import type { Tier } from "../../services/item/ItemId.ts"
import { compileGlob, isGlob, qualifiedId } from "../../services/item/ItemPath.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { showFinding } from "../../services/lockfile/compareLock.ts"
import type { Frozen } from "../../services/lockfile/Lockfile.ts"
import { Lockfiles, LockMissing } from "../../services/lockfile/Lockfiles.ts"
import type { FreezePlan, LockQuery, LockState } from "../../services/lockfile/Lockfiles.ts"
import type { LockFilter, LockScope, StoredLock } from "../../services/lockfile/LockfileStore.ts"
import * as Report from "../../services/lockfile/lockReport.ts"
import type { HumanAct, HumanRequest } from "../../services/trust/HumanAct.ts"
import { sha256 } from "../identity/sha256.ts"

/** A change of locks that is planned, and not done yet. */
export interface LockChange<A, E> {
  /** Whose locks it writes or removes, or would without `dryRun`, as `category/id`. */
  readonly tools: ReadonlyArray<string>
  /** What a person has to agree to before. */
  readonly request: HumanRequest | undefined
  readonly perform: (act: HumanAct | undefined) => Effect.Effect<A, E>
}

/** `category/id`, where the category was given apart. */
export const withCategory = (
  id: string,
  category: string | undefined
): Effect.Effect<string, ItemIdInvalid> => {
  if (category === undefined || category === "" || id.includes("/")) return Effect.succeed(id)
  return isCategory(category) ? Effect.succeed(`${category}/${id}`) : Effect.fail(new ItemIdInvalid({ id: category }))
}

const linkId = (id: string): Effect.Effect<string, ItemIdInvalid> => {
  const ref = parseItemRef(id)
  return ref._tag === "Some" ? Effect.succeed(ref.value.id) : Effect.fail(new ItemIdInvalid({ id }))
}

/** The tools that an id or a glob names; a glob is over the project's, or where there is none yours. */
const namedTools = Effect.fnUntraced(function*(
  id: string,
  tier: Tier | undefined
): Effect.fn.Return<ReadonlyArray<LockQuery>, ItemIdInvalid | ItemNotFound, ItemStore> {
  if (!isGlob(id)) return [{ id, tier }]
  const store = yield* ItemStore
  const named = yield* Effect.fromResult(compileGlob(id))
  const own = tier ?? (store.rootOf("project")._tag === "Some" ? "project" : "user")
  const found = (yield* store.list({ type: "tool", tier: own })).filter(named)
  if (found.length === 0) return yield* new ItemNotFound({ id, type: "tool", tier: own, near: [] })
  return found.map((location) => ({ id: qualifiedId(location), tier: own }))
})

export interface ValidateLocksInput {
  /** An id, `category/id`, or a glob over them. */
  readonly id: string
  readonly category?: string | undefined
  readonly tier?: Tier | undefined
}

/** Whether tools are as they were locked. One that was named alone and cannot be resolved fails. */
export const validateLocks = Effect.fn("validateLocks")(function*(input: ValidateLocksInput) {
  const lockfiles = yield* Lockfiles
  const id = yield* withCategory(input.id, input.category)
  const named = yield* namedTools(id, input.tier)
  const tools = isGlob(id)
    ? (yield* lockfiles.validateAll(named)).map((state, index) =>
      Result.match(state, {
        onSuccess: Report.validated,
        onFailure: (error) => Report.notValidated(named[index]!.id, error)
      })
    )
    : yield* Effect.forEach(named, (query) => Effect.map(lockfiles.validate(query), Report.validated))
  return { ok: tools.every(Report.isAsLocked), tools } satisfies Report.ValidatedLocks as Report.ValidatedLocks
})

export const listLocks = Effect.fn("listLocks")(function*(filter: LockFilter) {
  const lockfiles = yield* Lockfiles
  const store = yield* ItemStore
  const { invalid, locks } = yield* lockfiles.list(filter)
  const tools = new Set<string>((yield* store.list({ type: "tool" })).map(({ id }) => id))
  return {
    locks: locks.map((lock) => Report.listed(lock, tools)),
    invalid: invalid.map(Report.invalidOf)
  } satisfies Report.ListedLocks as Report.ListedLocks
})

/** The state of every lock's tool, each resolved once. */
const stateOfTools = Effect.fnUntraced(function*(locks: ReadonlyArray<StoredLock>) {
  const lockfiles = yield* Lockfiles
  const queries = locks.map(Report.queryOfLock)
  const keys = queries.map(({ id, tier }) => `${tier} ${id}`)
  const tools = new Map(queries.map((query, index) => [keys[index]!, query]))
  const states = new Map(Iterable.zip(tools.keys(), yield* lockfiles.validateAll([...tools.values()])))
  return locks.map((lock, index) => [lock, states.get(keys[index]!)!] as const)
})

/** Signed tools of which there is no lock at all; those of `locks` have one. */
const countUnlocked = Effect.fnUntraced(function*(filter: LockFilter, locks: ReadonlyArray<StoredLock>) {
  const lockfiles = yield* Lockfiles
  const store = yield* ItemStore
  const locked = new Set(locks.map((lock) => Report.queryOfLock(lock)).map(({ id, tier }) => `${tier} ${id}`))
  const queries: Array<LockQuery> = []
  for (const tier of filter.scope === undefined ? ["project", "user"] as const : [filter.scope]) {
    for (const location of yield* store.list({ type: "tool", tier })) {
      const id = qualifiedId(location)
      const isAsked = filter.category === undefined || `${location.category}/`.startsWith(`${filter.category}/`)
      if (isAsked && !locked.has(`${tier} ${id}`)) queries.push({ id, tier })
    }
  }
  const states = yield* lockfiles.validateAll(queries)
  return states.filter((state) => Result.isSuccess(state) && isUnlocked(state.success)).length
})

const isUnlocked = ({ check }: LockState): boolean => check._tag === "Problem" && check.problem._tag === "LockMissing"

/** Every lock against what is there. */
export const verifyLocks = Effect.fn("verifyLocks")(function*(filter: LockFilter) {
  const lockfiles = yield* Lockfiles
  const { invalid, locks } = yield* lockfiles.list(filter)
  const rows = (yield* stateOfTools(locks)).map(([lock, state]) =>
    Result.isSuccess(state) ? Report.verified(lock, state.success) : Report.unresolved(lock, state.failure)
  )
  const all = [...rows, ...invalid.map(Report.unusable)]
  const unlocked = yield* countUnlocked(filter, locks)
  return {
    ok: !all.some(Report.isTrouble),
    locks: all,
    ...(unlocked === 0 ? {} : { unlocked })
  } satisfies Report.VerifiedLocks as Report.VerifiedLocks
})

export interface OutdatedLocksInput {
  readonly scope?: LockScope | undefined
  readonly category?: string | undefined
}

/** Locks whose tool is not as they say, and not as another lock of that version says either. */
const findOutdated = Effect.fnUntraced(function*(input: OutdatedLocksInput) {
  const lockfiles = yield* Lockfiles
  const { locks } = yield* lockfiles.list(input)
  const severalChains = new Set(
    locks.filter(({ variant }) => variant).map((lock) => Report.queryOfLock(lock).id)
  )
  const found = (yield* lockfiles.outdated(input)).filter(({ error, lock }) =>
    error === undefined ? !lock.variant : !Report.isGone(error)
  )
  const doubtful = found.filter(({ lock }) => severalChains.has(Report.queryOfLock(lock).id))
  const fine = new Set(
    (yield* stateOfTools(doubtful.map(({ lock }) => lock))).flatMap(([lock, state]) =>
      Result.isSuccess(state) && state.success.check._tag === "Locked" ? [lock] : []
    )
  )
  return found.filter(({ lock }) => !fine.has(lock))
})

export const outdatedLocks = Effect.fn("outdatedLocks")(function*(input: OutdatedLocksInput) {
  const found = yield* findOutdated(input)
  return { outdated: found.map(Report.outdatedOf) } satisfies Report.OutdatedLocks as Report.OutdatedLocks
})

interface Target extends LockQuery {
  readonly scope: LockScope | undefined
  readonly variant: boolean
}

const saysTheSame = (a: Frozen, b: Frozen): boolean =>
  JSON.stringify([a.root, a.resolved_chain, a.chain_hash, a.runtime, a.dependencies]) ===
    JSON.stringify([b.root, b.resolved_chain, b.chain_hash, b.runtime, b.dependencies])

const keyOf = (scope: LockScope, variant: boolean, { chain_hash, root }: Frozen): string =>
  `${scope}:${root.category}/${root.tool_id}@${root.version}${variant ? `.${chain_hash}` : ""}`

/** One request for many: it shows them all, and its digest is over theirs. */
const together = (requests: ReadonlyArray<HumanRequest>, command: string): HumanRequest => ({
  kind: "loosen-lock",
  title: `Lock ${requests.length} tools as they are now`,
  details: requests.map((request) => `${request.title}\n${request.details}`).join("\n\n"),
  digest: sha256(JSON.stringify(["loosen-locks", ...requests.map(({ digest }) => digest)])),
  command
})

/** What a person agreed to in one go, taken apart again: each performer compares the digest of its own request. */
const partOf = ({ digest, kind }: HumanRequest, { by }: HumanAct): HumanAct => ({ kind, digest, by })

interface FreezeOptions {
  /** What a person types instead. */
  readonly command: string
  /** Whether a target that cannot be frozen fails it all. */
  readonly single: boolean
  readonly dryRun: boolean
}

const planAll = Effect.fnUntraced(function*(targets: ReadonlyArray<Target>, single: boolean) {
  const lockfiles = yield* Lockfiles
  const known = new Map(
    (yield* lockfiles.list()).locks.map((lock) => [keyOf(lock.scope, lock.variant, lock.lockfile), lock])
  )
  const planned: Array<
    { readonly plan: FreezePlan; readonly key: string; readonly change: Report.FrozenLock["change"] }
  > = []
  const refused: Array<Report.FrozenLocks["refused"][number]> = []
  for (const [target, made] of Iterable.zip(targets, yield* lockfiles.planFreezeAll(targets))) {
    if (Result.isFailure(made)) {
      if (single) return yield* made.failure
      refused.push({ tool: target.id, error: toErrorObject(made.failure) })
      continue
    }
    const plan = made.success
    const key = keyOf(plan.scope, plan.variant, plan.frozen)
    const before = known.get(key)
    const change = before === undefined ? "new" : saysTheSame(before.lockfile, plan.frozen) ? "same" : "changed"
    planned.push({ plan, key, change })
  }
  return { known, planned, refused }
})

const planFreezeAll = Effect.fnUntraced(function*(targets: ReadonlyArray<Target>, options: FreezeOptions) {
  const lockfiles = yield* Lockfiles
  const { known, planned, refused } = yield* planAll(targets, options.single)
  const changed = planned.filter(({ change }) => change !== "same").map(({ plan }) => plan)
  const due = options.dryRun ? [] : changed
  const requests = due.flatMap(({ request }) => request === undefined ? [] : [request])
  const [first] = requests
  return {
    tools: changed.map(({ frozen: { root } }) => qualifiedId({ category: root.category, id: root.tool_id })),
    request: first === undefined
      ? undefined
      : requests.length === 1
      ? { ...first, command: options.command }
      : together(requests, options.command),
    perform: Effect.fnUntraced(function*(act: HumanAct | undefined) {
      const written = yield* Effect.forEach(due, (plan) =>
        lockfiles.freeze(
          plan,
          act === undefined || plan.request === undefined ? undefined : partOf(plan.request, act)
        ))
      const paths = new Map(written.map((lock) => [keyOf(lock.scope, lock.variant, lock.lockfile), lock.path]))
      return {
        dry_run: options.dryRun,
        locks: planned.map(({ change, key, plan }): Report.FrozenLock => {
          const { category, tool_id, version } = plan.frozen.root
          return {
            tool_id,
            version,
            category,
            scope: plan.scope,
            path: paths.get(key) ?? known.get(key)?.path,
            change,
            differences: (plan.replaces ?? []).map(showFinding)
          }
        }),
        refused
      } satisfies Report.FrozenLocks as Report.FrozenLocks
    })
  }
})

/** Of locks of several versions of one tool, only the present one can be made anew; variants are not renewed. */
const targetsOf = (locks: ReadonlyArray<StoredLock>): ReadonlyArray<Target> => {
  const targets = new Map<string, Target>()
  for (const lock of locks) {
    if (lock.variant) continue
    const target = { ...Report.queryOfLock(lock), scope: lock.scope, variant: false }
    targets.set(`${target.scope} ${target.tier} ${target.id}`, target)
  }
  return [...targets.values()]
}

export interface FreezeLocksInput {
  /** An id, `category/id`, or a glob over them. */
  readonly id?: string | undefined
  /** Besides: every tool in whose locked chain this one is a link. */
  readonly dependentsOf?: string | undefined
  /** Where `id` has none. */
  readonly category?: string | undefined
  readonly tier?: Tier | undefined
  /** Whose locks. Default: those of the tier that the tool lies in. */
  readonly scope?: LockScope | undefined
  /** Keeps the lock that there is, and writes another beside it, named after its chain. */
  readonly variant?: boolean | undefined
  readonly dryRun?: boolean | undefined
}

/** What has been checked by now holds nothing that a shell reads, but the signs of a glob. */
const commandOf = (what: "freeze" | "update", input: FreezeLocksInput): string =>
  [
    `kiwi lockfile ${what}`,
    ...(input.id === undefined ? [] : [isGlob(input.id) ? `'${input.id}'` : input.id]),
    ...(input.dependentsOf === undefined ? [] : [`--dependents-of ${input.dependentsOf}`]),
    ...(input.category === undefined ? [] : [`--category ${input.category}`]),
    ...(input.tier === undefined ? [] : [`--tier ${input.tier}`]),
    ...(input.scope === undefined ? [] : [`--scope ${input.scope}`]),
    ...(input.variant === true ? ["--variant"] : [])
  ].join(" ")

export const planFreezeLocks = Effect.fn("planFreezeLocks")(function*(input: FreezeLocksInput) {
  const lockfiles = yield* Lockfiles
  const { dryRun = false, scope, tier, variant = false } = input
  const id = input.id === undefined ? undefined : yield* withCategory(input.id, input.category)
  const link = input.dependentsOf === undefined ? undefined : yield* linkId(input.dependentsOf)
  const named = id === undefined ? [] : yield* namedTools(id, tier)
  const dependents = link === undefined
    ? []
    : (yield* lockfiles.list({ scope })).locks.filter((lock) => Report.hasLink(lock, link))
  return yield* planFreezeAll(
    [...named.map((query): Target => ({ id: query.id, tier: query.tier, scope, variant })), ...targetsOf(dependents)],
    { command: commandOf("freeze", input), single: id !== undefined && link === undefined && !isGlob(id), dryRun }
  )
})

/** Whether what is locked is not these bytes, or nothing is: as signing leaves it that was cut off before it locked. */
const isUnfinished = (state: LockState): boolean =>
  isUnlocked(state) ||
  (state.check._tag === "Problem" && state.check.problem._tag === "LockMismatch" &&
    state.check.problem.findings.some(({ field, link }) => field === "integrity" && link === 0))

/** To lock those of the tools whose bytes nothing has locked. */
export const planUnfinishedLocks = Effect.fn("planUnfinishedLocks")(function*(
  tools: ReadonlyArray<LockQuery>,
  command: string
) {
  const lockfiles = yield* Lockfiles
  const states = yield* lockfiles.validateAll(tools)
  const due = tools.filter((_, index) => Result.isSuccess(states[index]!) && isUnfinished(states[index].success))
  const targets = due.map(({ id, tier }): Target => ({ id, tier, scope: undefined, variant: false }))
  return yield* planFreezeAll(targets, { command, single: false, dryRun: false })
})

export interface UpdateLocksInput {
  /** One tool, or a glob; default: every lock that is outdated. */
  readonly id?: string | undefined
  readonly dependentsOf?: string | undefined
  readonly category?: string | undefined
  readonly scope?: LockScope | undefined
  readonly dryRun?: boolean | undefined
}

/** To freeze again what is not as it was locked. What nobody has locked yet stays so. */
export const planUpdateLocks = Effect.fn("planUpdateLocks")(function*(input: UpdateLocksInput) {
  const lockfiles = yield* Lockfiles
  const { category, dryRun = false, id, scope } = input
  const link = input.dependentsOf === undefined ? undefined : yield* linkId(input.dependentsOf)
  const named = id === undefined ? undefined : yield* Effect.fromResult(compileGlob(id))
  const isChosen = (lock: StoredLock) =>
    (named === undefined || named(Report.toolOfLock(lock))) && (link === undefined || Report.hasLink(lock, link))
  if (id !== undefined && !isGlob(id)) {
    const { invalid, locks } = yield* lockfiles.list({ scope, category })
    if (!locks.some(isChosen)) {
      return yield* invalid.find((lock) => Report.isOf(lock, id)) ??
        new LockMissing({ tool: id, version: "in any version" })
    }
  }
  const chosen = (yield* findOutdated({ scope, category })).map(({ lock }) => lock).filter(isChosen)
  return yield* planFreezeAll(targetsOf(chosen), { command: commandOf("update", input), single: false, dryRun })
})

export interface PruneLocksInput {
  /** Milliseconds since a lock last held, or was made. Default: the setting `lockfile.keep`. */
  readonly olderThan?: number | undefined
  readonly scope?: LockScope | undefined
  readonly category?: string | undefined
  readonly dryRun?: boolean | undefined
}

const day = 86_400_000

/** As a person types it: whole days, else seconds. */
const ageOf = (ms: number): string => ms % day === 0 ? String(ms / day) : `${Math.round(ms / 1000)}s`

export const planPruneLocks = Effect.fn("planPruneLocks")(function*(input: PruneLocksInput) {
  const lockfiles = yield* Lockfiles
  const { category, dryRun = false, olderThan, scope } = input
  if (category !== undefined && !isCategory(category)) return yield* new ItemIdInvalid({ id: category })
  const plan = yield* lockfiles.planPrune({ category, olderThan, scope })
  const command = [
    `kiwi lockfile prune --older-than ${ageOf(plan.input.olderThan)}`,
    ...(category === undefined ? [] : [`--category ${category}`]),
    ...(scope === undefined ? [] : [`--scope ${scope}`])
  ].join(" ")
  return {
    tools: plan.stale.map(Report.toolOfLock).map(qualifiedId),
    request: dryRun || plan.request === undefined ? undefined : { ...plan.request, command },
    perform: (act: HumanAct | undefined) =>
      Effect.map(dryRun ? Effect.succeed(plan.stale) : lockfiles.prune(plan, act), (removed): Report.PrunedLocks => ({
        dry_run: dryRun,
        older_than: plan.input.olderThan,
        removed: removed.map(Report.summaryOf)
      }))
  }
})
