// Makes, renews and removes locks: freeze, update and prune. A change is planned first. The plan says which consent it
// needs, and performs exactly what that was given for; many locks are one question.
import { Effect, Iterable, Result } from "effect"
import { toErrorObject } from "../../../services/error/KiwiError.ts"
import { ItemIdInvalid } from "../../../services/item/ItemErrors.ts"
import { isCategory, parseItemRef } from "../../../services/item/ItemId.ts"
import type { Tier } from "../../../services/item/ItemId.ts"
import { compileGlob, isGlob, qualifiedId } from "../../../services/item/ItemPath.ts"
import { showFinding } from "../../../services/lockfile/compareLock.ts"
import type { Frozen } from "../../../services/lockfile/Lockfile.ts"
import { Lockfiles, LockMissing } from "../../../services/lockfile/Lockfiles.ts"
import type { FreezePlan, FreezeQuery, LockQuery, LockState } from "../../../services/lockfile/Lockfiles.ts"
import type { LockScope, StoredLock } from "../../../services/lockfile/LockfileStore.ts"
import * as Report from "../../../services/lockfile/lockReport.ts"
import type { HumanAct, HumanRequest } from "../../../services/trust/HumanAct.ts"
import { sha256 } from "../../identity/sha256.ts"
import { findOutdated, isUnlocked, namedTools, withCategory } from "./checkLocks.ts"

/** A change of locks that is planned, and not done yet. */
export interface LockChange<A, E> {
  /** The tools whose locks it writes or removes, or would without `dryRun`, as `category/id`. */
  readonly tools: ReadonlyArray<string>
  /** The consent that it needs. */
  readonly request: HumanRequest | undefined
  readonly perform: (act: HumanAct | undefined) => Effect.Effect<A, E>
}

/**
 * A command line that does the same. Only a glob needs quotes: the other values are ids, categories and words that were
 * checked before.
 */
const commandOf = (
  what: "freeze" | "update" | "prune",
  id: string | undefined,
  flags: Readonly<Record<string, string | boolean | undefined>>
): string =>
  [
    `kiwi lockfile ${what}`,
    ...(id === undefined ? [] : [isGlob(id) ? `'${id}'` : id]),
    ...Object.entries(flags).flatMap(([flag, value]) =>
      value === undefined || value === false ? [] : [value === true ? `--${flag}` : `--${flag} ${value}`]
    )
  ].join(" ")

const parseLinkId = (id: string): Effect.Effect<string, ItemIdInvalid> => {
  const ref = parseItemRef(id)
  return ref._tag === "Some" ? Effect.succeed(ref.value.id) : Effect.fail(new ItemIdInvalid({ id }))
}

const frozenText = ({ chain_hash, dependencies, resolved_chain, root, runtime }: Frozen): string =>
  JSON.stringify([root, resolved_chain, chain_hash, runtime, dependencies])

const changeOf = ({ before, frozen }: FreezePlan): Report.FrozenLock["change"] =>
  before === undefined ? "new" : frozenText(before.lockfile) === frozenText(frozen) ? "same" : "changed"

/** One request for several: it shows them all, and its digest covers theirs. */
const joinRequests = (requests: ReadonlyArray<HumanRequest>, command: string): HumanRequest | undefined => {
  const [first] = requests
  if (first === undefined) return undefined
  if (requests.length === 1) return { ...first, command }
  return {
    kind: "loosen-lock",
    title: `Lock ${requests.length} tools as they are now`,
    details: requests.map((request) => `${request.title}\n${request.details}`).join("\n\n"),
    digest: sha256(JSON.stringify(["loosen-locks", ...requests.map(({ digest }) => digest)])),
    command
  }
}

/** The part of a consent that is about one of the joined requests. */
const partOf = (request: HumanRequest | undefined, act: HumanAct | undefined): HumanAct | undefined =>
  request && act && { kind: request.kind, digest: request.digest, by: act.by }

interface FreezeOptions {
  /** What a person types instead. */
  readonly command: string
  /** Whether it all fails if one target cannot be locked. */
  readonly single: boolean
  readonly dryRun: boolean
}

const planFreezes = Effect.fnUntraced(function*(
  targets: ReadonlyArray<FreezeQuery>,
  { command, dryRun, single }: FreezeOptions
) {
  const lockfiles = yield* Lockfiles
  const plans: Array<FreezePlan & Pick<Report.FrozenLock, "change">> = []
  const refused: Array<Report.FrozenLocks["refused"][number]> = []
  for (const [{ id }, plan] of Iterable.zip(targets, yield* lockfiles.planFreezeAll(targets))) {
    if (Result.isSuccess(plan)) plans.push({ ...plan.success, change: changeOf(plan.success) })
    else if (single) return yield* plan.failure
    else refused.push({ tool: id, error: toErrorObject(plan.failure) })
  }
  const changed = plans.filter(({ change }) => change !== "same")
  const due = new Set(dryRun ? [] : changed)
  const perform = Effect.fnUntraced(function*(act: HumanAct | undefined) {
    const locks: Array<Report.FrozenLock> = []
    for (const plan of plans) {
      const saved = due.has(plan) ? yield* lockfiles.freeze(plan, partOf(plan.request, act)) : plan.before
      const { category, tool_id, version } = plan.frozen.root
      const differences = (plan.replaces ?? []).map(showFinding)
      locks.push({ tool_id, version, category, scope: plan.scope, path: saved?.path, change: plan.change, differences })
    }
    const answer: Report.FrozenLocks = { dry_run: dryRun, locks, refused }
    return answer
  })
  return {
    tools: changed.map(({ frozen: { root } }) => qualifiedId({ category: root.category, id: root.tool_id })),
    request: joinRequests([...due].flatMap(({ request }) => request ?? []), command),
    perform
  }
})

/** One query for each tool: of locks of several versions only that of the present one can be renewed, and no variant. */
const queriesOf = (locks: ReadonlyArray<StoredLock>): ReadonlyArray<FreezeQuery> => {
  const queries = new Map<string, FreezeQuery>()
  for (const lock of locks.filter(({ variant }) => !variant)) {
    const query = { ...Report.queryOfLock(lock), scope: lock.scope }
    queries.set(`${query.scope} ${query.tier} ${query.id}`, query)
  }
  return [...queries.values()]
}

export interface FreezeLocksInput {
  /** An id, `category/id`, or a glob over them. */
  readonly id?: string | undefined
  /** Besides: every tool in whose locked chain this one is a link. */
  readonly dependentsOf?: string | undefined
  /** The category of `id`, if that has none. */
  readonly category?: string | undefined
  readonly tier?: Tier | undefined
  /** Whose locks. Default: those of the tier of the tool. */
  readonly scope?: LockScope | undefined
  /** Keeps the present lock, and writes another one beside it, named after its chain. */
  readonly variant?: boolean | undefined
  readonly dryRun?: boolean | undefined
}

export const planFreezeLocks = Effect.fn("planFreezeLocks")(function*(input: FreezeLocksInput) {
  const lockfiles = yield* Lockfiles
  const { category, dependentsOf, dryRun = false, scope, tier, variant = false } = input
  const id = input.id === undefined ? undefined : yield* withCategory(input.id, category)
  const link = dependentsOf === undefined ? undefined : yield* parseLinkId(dependentsOf)
  const named = id === undefined ? [] : yield* namedTools(id, tier)
  const dependents = link === undefined
    ? []
    : (yield* lockfiles.list({ scope })).locks.filter((lock) => Report.hasLink(lock, link))
  return yield* planFreezes(
    [...named.map((query) => ({ id: query.id, tier: query.tier, scope, variant })), ...queriesOf(dependents)],
    {
      command: commandOf("freeze", input.id, { "dependents-of": dependentsOf, category, tier, scope, variant }),
      single: id !== undefined && link === undefined && !isGlob(id),
      dryRun
    }
  )
})

/** Whether nothing has locked the tool's bytes yet, as after a signing that was cut off before it locked. */
const isUnfinished = (state: LockState): boolean =>
  isUnlocked(state) ||
  (state.check._tag === "Problem" && state.check.problem._tag === "LockMismatch" &&
    state.check.problem.findings.some(({ field, link }) => field === "integrity" && link === 0))

/** Locks those of the tools whose bytes nothing has locked yet. */
export const planUnfinishedLocks = Effect.fn("planUnfinishedLocks")(function*(
  tools: ReadonlyArray<LockQuery>,
  command: string
) {
  const lockfiles = yield* Lockfiles
  const states = yield* lockfiles.validateAll(tools)
  const due = tools.filter((_, index) => Result.isSuccess(states[index]!) && isUnfinished(states[index].success))
  return yield* planFreezes(due, { command, single: false, dryRun: false })
})

export interface UpdateLocksInput {
  /** One tool, or a glob. Default: every lock that is outdated. */
  readonly id?: string | undefined
  readonly dependentsOf?: string | undefined
  readonly category?: string | undefined
  readonly scope?: LockScope | undefined
  readonly dryRun?: boolean | undefined
}

/** Locks outdated tools again. A tool without a lock gets none. */
export const planUpdateLocks = Effect.fn("planUpdateLocks")(function*(input: UpdateLocksInput) {
  const lockfiles = yield* Lockfiles
  const { category, dependentsOf, dryRun = false, id, scope } = input
  const link = dependentsOf === undefined ? undefined : yield* parseLinkId(dependentsOf)
  const isNamed = id === undefined ? undefined : yield* Effect.fromResult(compileGlob(id))
  const isChosen = (lock: StoredLock) =>
    (isNamed === undefined || isNamed(Report.toolOfLock(lock))) && (link === undefined || Report.hasLink(lock, link))
  if (id !== undefined && !isGlob(id)) {
    const { invalid, locks } = yield* lockfiles.list({ scope, category })
    if (!locks.some(isChosen)) {
      return yield* invalid.find((lock) => Report.isOf(lock, id)) ??
        new LockMissing({ tool: id, version: "in any version" })
    }
  }
  const chosen = (yield* findOutdated({ scope, category })).map(({ lock }) => lock).filter(isChosen)
  const command = commandOf("update", id, { "dependents-of": dependentsOf, category, scope })
  return yield* planFreezes(queriesOf(chosen), { command, single: false, dryRun })
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
  const { category, dryRun = false, scope } = input
  if (category !== undefined && !isCategory(category)) return yield* new ItemIdInvalid({ id: category })
  const plan = yield* lockfiles.planPrune({ category, olderThan: input.olderThan, scope })
  const { olderThan } = plan.input
  const command = commandOf("prune", undefined, { "older-than": ageOf(olderThan), category, scope })
  return {
    tools: plan.stale.map(Report.toolOfLock).map(qualifiedId),
    request: dryRun ? undefined : plan.request && { ...plan.request, command },
    perform: (act: HumanAct | undefined) =>
      Effect.map(dryRun ? Effect.succeed(plan.stale) : lockfiles.prune(plan, act), (removed): Report.PrunedLocks => ({
        dry_run: dryRun,
        older_than: olderThan,
        removed: removed.map(Report.summaryOf)
      }))
  }
})
