// Compares tools with their locks, and lists locks: validate, list, verify and outdated. Nothing here changes a lockfile.
import { Effect, Iterable, Result } from "effect"
import type { KiwiError } from "../../../services/error/KiwiError.ts"
import { ItemIdInvalid, ItemNotFound } from "../../../services/item/ItemErrors.ts"
import { isCategory } from "../../../services/item/ItemId.ts"
import type { Tier } from "../../../services/item/ItemId.ts"
import { compileGlob, isGlob, qualifiedId } from "../../../services/item/ItemPath.ts"
import { ItemStore } from "../../../services/item/ItemStore.ts"
import { compareLock, type LockFinding } from "../../../services/lockfile/compareLock.ts"
import { Lockfiles } from "../../../services/lockfile/Lockfiles.ts"
import type { LockQuery, LockState } from "../../../services/lockfile/Lockfiles.ts"
import type { LockFilter, LockScope, StoredLock } from "../../../services/lockfile/LockfileStore.ts"
import * as Report from "../../../services/lockfile/lockReport.ts"

/** `category/id`, if the category was given apart. */
export const withCategory = (
  id: string,
  category: string | undefined
): Effect.Effect<string, ItemIdInvalid> => {
  if (category === undefined || category === "" || id.includes("/")) return Effect.succeed(id)
  return isCategory(category) ? Effect.succeed(`${category}/${id}`) : Effect.fail(new ItemIdInvalid({ id: category }))
}

/** The tools that an id or a glob names. A glob is over the tools of the project, or without a project over the user's. */
export const namedTools = Effect.fnUntraced(function*(
  id: string,
  tier: Tier | undefined
): Effect.fn.Return<ReadonlyArray<LockQuery>, ItemIdInvalid | ItemNotFound, ItemStore> {
  if (!isGlob(id)) return [{ id, tier }]
  const store = yield* ItemStore
  const isNamed = yield* Effect.fromResult(compileGlob(id))
  const own = tier ?? (store.rootOf("project")._tag === "Some" ? "project" : "user")
  const found = (yield* store.list({ type: "tool", tier: own })).filter(isNamed)
  if (found.length === 0) return yield* new ItemNotFound({ id, type: "tool", tier: own, near: [] })
  return found.map((location) => ({ id: qualifiedId(location), tier: own }))
})

export interface ValidateLocksInput {
  /** An id, `category/id`, or a glob over them. */
  readonly id: string
  readonly category?: string | undefined
  readonly tier?: Tier | undefined
}

/** Whether tools are as they were locked. Fails if a single tool cannot be resolved; of a glob, its row says so. */
export const validateLocks = Effect.fn("validateLocks")(function*(input: ValidateLocksInput) {
  const lockfiles = yield* Lockfiles
  const id = yield* withCategory(input.id, input.category)
  const named = yield* namedTools(id, input.tier)
  const tools: Array<Report.ValidatedLock> = []
  for (const [query, state] of Iterable.zip(named, yield* lockfiles.validateAll(named))) {
    if (Result.isSuccess(state)) tools.push(Report.validated(state.success))
    else if (isGlob(id)) tools.push(Report.notValidated(query.id, state.failure))
    else return yield* state.failure
  }
  const answer: Report.ValidatedLocks = { ok: tools.every(Report.isAsLocked), tools }
  return answer
})

export const listLocks = Effect.fn("listLocks")(function*(filter: LockFilter) {
  const lockfiles = yield* Lockfiles
  const store = yield* ItemStore
  const { invalid, locks } = yield* lockfiles.list(filter)
  const tools = new Set<string>((yield* store.list({ type: "tool" })).map(({ id }) => id))
  const answer: Report.ListedLocks = {
    locks: locks.map((lock) => Report.listed(lock, tools)),
    invalid: invalid.map(Report.invalidOf)
  }
  return answer
})

const showQuery = ({ id, tier }: LockQuery): string => `${tier} ${id}`

const toolName = (lock: StoredLock): string => showQuery(Report.queryOfLock(lock))

/** Each lock with the state of its tool, which is resolved once for all of its locks. */
const statesOf = Effect.fnUntraced(function*(locks: ReadonlyArray<StoredLock>) {
  const lockfiles = yield* Lockfiles
  const queries = new Map(locks.map((lock) => [toolName(lock), Report.queryOfLock(lock)]))
  const states = new Map(Iterable.zip(queries.keys(), yield* lockfiles.validateAll([...queries.values()])))
  return locks.map((lock) => [lock, states.get(toolName(lock))!] as const)
})

export const isUnlocked = ({ check }: LockState): boolean =>
  check._tag === "Problem" && check.problem._tag === "LockMissing"

/** Signed tools without a lock. `locks`: those that there are. */
const countUnlocked = Effect.fnUntraced(function*(filter: LockFilter, locks: ReadonlyArray<StoredLock>) {
  const lockfiles = yield* Lockfiles
  const store = yield* ItemStore
  const locked = new Set(locks.map(toolName))
  const queries: Array<LockQuery> = []
  for (const tier of filter.scope === undefined ? ["project", "user"] as const : [filter.scope]) {
    for (const location of yield* store.list({ type: "tool", tier })) {
      const query = { id: qualifiedId(location), tier }
      const isAsked = filter.category === undefined || `${location.category}/`.startsWith(`${filter.category}/`)
      if (isAsked && !locked.has(showQuery(query))) queries.push(query)
    }
  }
  const states = yield* lockfiles.validateAll(queries)
  return states.filter((state) => Result.isSuccess(state) && isUnlocked(state.success)).length
})

/** Compares every lock with its tool. */
export const verifyLocks = Effect.fn("verifyLocks")(function*(filter: LockFilter) {
  const lockfiles = yield* Lockfiles
  const { invalid, locks } = yield* lockfiles.list(filter)
  const rows = [
    ...(yield* statesOf(locks)).map(([lock, state]) =>
      Result.isSuccess(state) ? Report.verified(lock, state.success) : Report.unresolved(lock, state.failure)
    ),
    ...invalid.map(Report.unusable)
  ]
  const unlocked = yield* countUnlocked(filter, locks)
  const answer: Report.VerifiedLocks = {
    ok: !rows.some(Report.isTrouble),
    locks: rows,
    ...(unlocked === 0 ? {} : { unlocked })
  }
  return answer
})

export interface OutdatedLocksInput {
  readonly scope?: LockScope | undefined
  readonly category?: string | undefined
}

interface Outdated {
  readonly lock: StoredLock
  /** Empty if the tool cannot be resolved or verified any more. */
  readonly findings: ReadonlyArray<LockFinding>
  readonly error?: KiwiError
}

/** Locks that differ from their tool, but no variants, no locks of earlier versions and none beside a variant that holds. */
export const findOutdated = Effect.fnUntraced(function*(input: OutdatedLocksInput) {
  const lockfiles = yield* Lockfiles
  const { locks } = yield* lockfiles.list(input)
  const haveVariants = new Set(locks.filter(({ variant }) => variant).map(toolName))
  return (yield* statesOf(locks)).flatMap(([lock, state]): ReadonlyArray<Outdated> => {
    if (Result.isFailure(state)) {
      return Report.isGone(state.failure)
        ? []
        : [{ lock, findings: [], error: state.failure }]
    }
    const { check, now } = state.success
    if (lock.variant || now.root.version !== lock.lockfile.root.version) return []
    if (check._tag === "Locked" && haveVariants.has(toolName(lock))) return []
    const findings = compareLock(lock.lockfile, now)
    return findings.length === 0 ? [] : [{ lock, findings }]
  })
})

export const outdatedLocks = Effect.fn("outdatedLocks")(function*(input: OutdatedLocksInput) {
  const found = yield* findOutdated(input)
  const answer: Report.OutdatedLocks = {
    outdated: found.map(({ error, findings, lock }) => Report.outdatedOf(lock, findings, error))
  }
  return answer
})
