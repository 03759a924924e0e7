// The answers of the lock commands, in one form for the command line, for tools and for embedders. Pure.
import type { ErrorObject, KiwiError } from "../error/KiwiError.ts"
import { toErrorObject } from "../error/KiwiError.ts"
import { qualifiedId } from "../item/ItemPath.ts"
import type { LockFinding } from "./compareLock.ts"
import { showFinding } from "./compareLock.ts"
import type { LockQuery, LockState } from "./Lockfiles.ts"
import type { LockEntry, LockInvalid, LockScope, StoredLock } from "./LockfileStore.ts"
import { showLock } from "./lockName.ts"
import { isShortVersion } from "./lockQuote.ts"

/** The tool of a lock. Its category is read from its path, since the lock of a tool without one is in "tools". */
export const toolOfLock = ({ lockfile: { resolved_chain: [leaf] } }: StoredLock) => ({
  id: leaf.tool_id,
  category: leaf.path.slice(leaf.path.indexOf(":") + 1, Math.max(0, leaf.path.lastIndexOf("/"))),
  tier: leaf.tier
})

/** The query that finds the tool of a lock. */
export const queryOfLock = (lock: StoredLock): LockQuery => {
  const tool = toolOfLock(lock)
  return { id: qualifiedId(tool), tier: tool.tier }
}

/** Whether an invalid lock is of this tool by its name. `id`: "add" or "math/add". */
export const isOf = ({ lockfile, tool }: LockInvalid, id: string): boolean =>
  tool !== "" && (id === tool || (id.endsWith(`/${tool}`) && lockfile.includes(`:lockfiles/${id}@`)))

/** Whether a tool is in the locked chain of another one. */
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

export const summaryOf = (
  { lockfile: { root: { category, tool_id, version } }, path, scope }: StoredLock
): LockSummary => ({
  tool_id,
  version,
  category,
  scope,
  path
})

/** `locked`: as it was locked. `built-in`: it came with Kiwi and needs no lock. */
export type LockStatus = "locked" | "built-in" | "missing" | "changed" | "invalid" | "error"

export interface ValidatedLock {
  readonly tool_id: string
  /** Of the tool as it is now; "" if it cannot be resolved. */
  readonly version: string
  readonly state: LockStatus
  /** "project:lockfiles/math/add@1.0.0.lock.json"; absent if there is none. */
  readonly lockfile?: string
  /** One sentence each: what was locked, and what is there. */
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
  if (problem._tag === "LockMissing") return { ...base, state: "missing", error }
  const { lockfile } = problem
  return problem._tag === "LockInvalid"
    ? { ...base, state: "invalid", lockfile, error }
    : { ...base, state: "changed", lockfile, differences: problem.findings.map(showFinding), error }
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
  /** Ids and versions of the links, leaf first: "add@1.0.0"; "another tool" if there is no tool of that id. */
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

/** `held`: the tool is as this lock says. `other chain`: this lock is of another chain of that version. */
export type VerifiedStatus = "held" | "other chain" | "changed" | "invalid" | "no tool" | "other version" | "error"

export interface VerifiedLock {
  readonly lockfile: string
  readonly state: VerifiedStatus
  readonly differences: ReadonlyArray<string>
  readonly error?: ErrorObject
}

export interface VerifiedLocks {
  readonly ok: boolean
  readonly locks: ReadonlyArray<VerifiedLock>
  /** The number of signed tools without a lock; absent if there are none. */
  readonly unlocked?: number
}

/** Whether the command fails. A lock whose tool is gone or has another version is listed, and is no failure. */
export const isTrouble = ({ state }: VerifiedLock): boolean =>
  state === "changed" || state === "invalid" || state === "error"

export const unusable = (lock: LockInvalid): VerifiedLock => ({
  lockfile: lock.lockfile,
  state: "invalid",
  differences: [],
  error: toErrorObject(lock)
})

/** Whether there is no such tool. An invalid id counts too: it is a text of the lock, and must not be quoted. */
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
  /** Why its chain cannot be resolved or verified any more. */
  readonly error?: ErrorObject
}

export interface OutdatedLocks {
  readonly outdated: ReadonlyArray<OutdatedLock>
}

export const outdatedOf = (
  lock: StoredLock,
  findings: ReadonlyArray<LockFinding>,
  error?: KiwiError
): OutdatedLock => ({
  ...summaryOf(lock),
  differences: findings.map(showFinding),
  ...(error === undefined ? {} : { error: toErrorObject(error) })
})

export interface FrozenLock extends Omit<LockSummary, "path"> {
  /** Absent in a dry run, if there is no lock yet. */
  readonly path?: string | undefined
  /** `same`: the lock says this already, and stays as it is. */
  readonly change: "new" | "changed" | "same"
  /** One sentence each: what was locked before, and what is locked now. */
  readonly differences: ReadonlyArray<string>
}

export interface FrozenLocks {
  readonly dry_run: boolean
  readonly locks: ReadonlyArray<FrozenLock>
  /** Tools that could not be locked, of a glob or of dependents. */
  readonly refused: ReadonlyArray<{ readonly tool: string; readonly error: ErrorObject }>
}

export interface PrunedLocks {
  readonly dry_run: boolean
  /** Milliseconds. */
  readonly older_than: number
  readonly removed: ReadonlyArray<LockSummary>
}
