// What is told about locks, in the one form that the command line, tools and programs share. Pure.
import type { ErrorObject, KiwiError } from "../error/KiwiError.ts"
import { toErrorObject } from "../error/KiwiError.ts"
import { qualifiedId } from "../item/ItemPath.ts"
import type { LockFinding } from "./compareLock.ts"
import { showFinding } from "./compareLock.ts"
import type { LockQuery, LockState, Outdated } from "./Lockfiles.ts"
import type { LockEntry, LockInvalid, LockScope, StoredLock } from "./LockfileStore.ts"
import { isShortVersion } from "./lockQuote.ts"

/** `project:lockfiles/math/add@1.0.0.lock.json` */
export const showLock = ({ path, scope }: Pick<StoredLock, "path" | "scope">): string => `${scope}:lockfiles/${path}`

/** The tool that a lock is of; its folder is told by its path, since locks of the topmost one are kept under "tools". */
export const toolOfLock = ({ lockfile: { resolved_chain: [leaf] } }: StoredLock) => ({
  id: leaf.tool_id,
  category: leaf.path.slice(leaf.path.indexOf(":") + 1, Math.max(0, leaf.path.lastIndexOf("/"))),
  tier: leaf.tier
})

/** How the tool of a lock is found. */
export const queryOfLock = (lock: StoredLock): LockQuery => {
  const tool = toolOfLock(lock)
  return { id: qualifiedId(tool), tier: tool.tier }
}

/** Whether a lock that cannot be used is of this tool, as far as its name says: `id` or `category/id`. */
export const isOf = ({ lockfile, tool }: LockInvalid, id: string): boolean =>
  tool !== "" && (id === tool || (id.endsWith(`/${tool}`) && lockfile.includes(`:lockfiles/${id}@`)))

export const hasLink = ({ lockfile: { resolved_chain } }: StoredLock, id: string): boolean =>
  resolved_chain.slice(1).some((link) => link.tool_id === id)

export interface LockSummary {
  readonly tool_id: string
  readonly version: string
  readonly category: string
  readonly scope: LockScope
  /** Below the scope's lockfiles folder. */
  readonly path: string
}

export const summaryOf = ({ lockfile: { root }, path, scope }: StoredLock): LockSummary => ({
  tool_id: root.tool_id,
  version: root.version,
  category: root.category,
  scope,
  path
})

/** `locked`: as it was locked. `built-in`: it came with Kiwi, which is its lock. */
export type LockStanding = "locked" | "built-in" | "missing" | "changed" | "invalid" | "error"

export interface ValidatedLock {
  readonly tool_id: string
  /** Of the tool as it is now; "" where it cannot be told. */
  readonly version: string
  readonly state: LockStanding
  /** `project:lockfiles/math/add@1.0.0.lock.json`, where there is one. */
  readonly lockfile?: string
  /** What was locked and what is there. */
  readonly differences: ReadonlyArray<string>
  readonly error?: ErrorObject
}

export interface ValidatedLocks {
  readonly ok: boolean
  readonly tools: ReadonlyArray<ValidatedLock>
}

export const validated = ({ check, now }: LockState): ValidatedLock => {
  const { tool_id, version } = now.root
  const base = { tool_id, version, differences: [] }
  if (check._tag === "Built-in") return { ...base, state: "built-in" }
  if (check._tag === "Locked") return { ...base, state: "locked", lockfile: showLock(check.lock) }
  const { problem } = check
  const error = toErrorObject(problem)
  switch (problem._tag) {
    case "LockMissing":
      return { ...base, state: "missing", error }
    case "LockInvalid":
      return { ...base, state: "invalid", lockfile: problem.lockfile, error }
    case "LockMismatch":
      return {
        ...base,
        state: "changed",
        lockfile: problem.lockfile,
        differences: problem.findings.map((finding) => showFinding(finding as LockFinding)),
        error
      }
  }
}

export const notValidated = (tool: string, error: KiwiError): ValidatedLock => ({
  tool_id: tool,
  version: "",
  state: "error",
  differences: [],
  error: toErrorObject(error)
})

export const isAsLocked = ({ state }: ValidatedLock): boolean => state === "locked" || state === "built-in"

export interface ListedLock extends LockSummary {
  readonly chain_hash: string
  /** Ids and versions of the links, leaf first: `add@1.0.0`; "another tool" where there is none of its id. */
  readonly chain: ReadonlyArray<string>
  readonly variant: boolean
  readonly generated_at: string
  /** When it was last found to hold; absent when never. */
  readonly last_validated?: string
}

export interface InvalidLock {
  readonly lockfile: string
  readonly issue: string
  readonly remediation: string
}

export interface ListedLocks {
  readonly locks: ReadonlyArray<ListedLock>
  readonly invalid: ReadonlyArray<InvalidLock>
}

export const listed = (lock: LockEntry, tools: ReadonlySet<string>): ListedLock => ({
  ...summaryOf(lock),
  chain_hash: lock.lockfile.chain_hash,
  chain: lock.lockfile.resolved_chain.map(({ tool_id, version }, i) =>
    i === 0 || (tools.has(tool_id) && isShortVersion(version)) ? `${tool_id}@${version}` : "another tool"
  ),
  variant: lock.variant,
  generated_at: lock.lockfile.generated_at,
  ...(lock.lastValidated === undefined ? {} : { last_validated: lock.lastValidated })
})

export const invalidOf = ({ issue, lockfile, remediation }: LockInvalid): InvalidLock => ({
  lockfile,
  issue,
  remediation
})

/** `held`: the tool is as this lock says. `other chain`: it is as another lock of that version says. */
export type VerifiedStanding = "held" | "other chain" | "changed" | "invalid" | "no tool" | "other version" | "error"

export interface VerifiedLock {
  readonly lockfile: string
  readonly state: VerifiedStanding
  readonly differences: ReadonlyArray<string>
  readonly error?: ErrorObject
}

export interface VerifiedLocks {
  readonly ok: boolean
  readonly locks: ReadonlyArray<VerifiedLock>
  /** How many signed tools have no lock. Absent: none. */
  readonly unlocked?: number
}

/** A lock that has lost its tool, or is of another version of it, is told and no trouble. */
export const isTrouble = ({ state }: VerifiedLock): boolean =>
  state === "changed" || state === "invalid" || state === "error"

export const unusable = (lock: LockInvalid): VerifiedLock => ({
  lockfile: lock.lockfile,
  state: "invalid",
  differences: [],
  error: toErrorObject(lock)
})

/** An id that nothing can have is the lock's own text, and is not told. */
export const isGone = ({ _tag }: Pick<KiwiError, "_tag">): boolean =>
  _tag === "ItemNotFound" || _tag === "ItemIdInvalid"

export const unresolved = (lock: StoredLock, failure: KiwiError): VerifiedLock =>
  isGone(failure)
    ? { lockfile: showLock(lock), state: "no tool", differences: [] }
    : { lockfile: showLock(lock), state: "error", differences: [], error: toErrorObject(failure) }

export const verified = (lock: StoredLock, state: LockState): VerifiedLock => {
  const row = { lockfile: showLock(lock), differences: [] }
  const { check, now } = state
  if (now.root.version !== lock.lockfile.root.version) return { ...row, state: "other version" }
  if (check._tag === "Built-in") return { ...row, state: "held" }
  if (check._tag === "Locked") {
    return { ...row, state: showLock(check.lock) === row.lockfile ? "held" : "other chain" }
  }
  const { differences, error, lockfile } = validated(state)
  if (lock.variant && lockfile !== row.lockfile) return { ...row, state: "other chain" }
  return {
    ...row,
    state: "changed",
    differences: lockfile === row.lockfile ? differences : [],
    ...(error === undefined ? {} : { error })
  }
}

export interface OutdatedLock extends LockSummary {
  readonly differences: ReadonlyArray<string>
  /** Why its chain cannot be resolved or believed any more. */
  readonly error?: ErrorObject
}

export interface OutdatedLocks {
  readonly outdated: ReadonlyArray<OutdatedLock>
}

export const outdatedOf = ({ error, findings, lock }: Outdated): OutdatedLock => ({
  ...summaryOf(lock),
  differences: findings.map(showFinding),
  ...(error === undefined ? {} : { error: toErrorObject(error) })
})

export interface FrozenLock extends Omit<LockSummary, "path"> {
  /** Not there yet in a dry run of a new one. */
  readonly path?: string | undefined
  /** `same`: what is there says this already, and stays as it is. */
  readonly change: "new" | "changed" | "same"
  /** What the lock said before and what it says now. */
  readonly differences: ReadonlyArray<string>
}

export interface FrozenLocks {
  readonly dry_run: boolean
  readonly locks: ReadonlyArray<FrozenLock>
  /** Tools of a glob, or dependents, of which no lock was made. */
  readonly refused: ReadonlyArray<{ readonly tool: string; readonly error: ErrorObject }>
}

export interface PrunedLocks {
  readonly dry_run: boolean
  /** Milliseconds. */
  readonly older_than: number
  readonly removed: ReadonlyArray<LockSummary>
}
