// What can be done with locks, for the command line, for tools and for a call. A tool is resolved and verified before it is
// locked; a lock that says something else is replaced only with a person's consent.
import { Context, type Effect, type Result, Schema } from "effect"
import type { Chain } from "../chain/Chain.ts"
import type { ResolveError } from "../chain/ChainResolver.ts"
import type { InstalledPackage, InstalledSet } from "../dependency/InstalledPackage.ts"
import type { ResolvedEnv } from "../env/EnvResolver.ts"
import type { FailedAt, ValidationIssue } from "../error/KiwiError.ts"
import type { SignedItem } from "../integrity/Signatures.ts"
import type { VerifyError } from "../integrity/Verifier.ts"
import type { Tier } from "../item/ItemId.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "../trust/HumanAct.ts"
import type { ProjectRestricted } from "../trust/ProjectTrust.ts"
import { LockFinding, showFindings } from "./compareLock.ts"
import type { Frozen } from "./Lockfile.ts"
import type { LockFilter, LockInvalid, LockListing, LockScope, LockWriteError, StoredLock } from "./LockfileStore.ts"

/** There is no lock for this version of the tool. */
export class LockMissing extends Schema.TaggedError<LockMissing>()("LockMissing", {
  tool: Schema.String,
  version: Schema.String,
  /** Somebody asked for this version by name, so locking the present one would not help. */
  named: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    return `There is no lockfile for ${this.tool} ${this.version}`
  }
  get remediation() {
    return this.named === true ? `kiwi lockfile list --tool ${this.tool}` : `kiwi lockfile freeze ${this.tool}`
  }
  get refusal() {
    return "denied" as const
  }
  get brief() {
    return "not locked"
  }
}

/** The list is part of every answer, so it has to be short. */
const mostIssues = 20

const issuesOf = (findings: ReadonlyArray<LockFinding>): ReadonlyArray<ValidationIssue> =>
  findings.slice(0, mostIssues).map((f) => ({ field: f.field, error: `${f.locked} was locked, ${f.now} is there` }))

/** The chain is not the one that was locked. */
export class LockMismatch extends Schema.TaggedError<LockMismatch>()("LockMismatch", {
  tool: Schema.String,
  lockfile: Schema.String,
  /** The file of the first link that differs: "project:tools/math/add.py". */
  configPath: Schema.String,
  findings: Schema.Array(LockFinding)
}) {
  override get message() {
    return `${this.tool} is not as ${this.lockfile} has it: ${showFindings(this.findings)}`
  }
  get remediation() {
    return `kiwi lockfile diff ${this.tool}`
  }
  get failedAt(): FailedAt {
    const first = this.findings[0]
    return {
      toolId: first?.tool ?? this.tool,
      configPath: this.configPath,
      validationErrors: issuesOf(this.findings.filter(({ link }) => link === first?.link))
    }
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return issuesOf(this.findings)
  }
  get refusal() {
    return "denied" as const
  }
  get brief() {
    return "not as locked"
  }
}

export type LockProblem = LockMissing | LockMismatch | LockInvalid

/** A chain that has only links of the system tier needs no lock: they are fixed by the package that they came with. */
export type LockCheck =
  | { readonly _tag: "Built-in" }
  | { readonly _tag: "Locked"; readonly lock: StoredLock }
  | { readonly _tag: "Problem"; readonly problem: LockProblem }

/** A tool, as ItemStore finds it. */
export interface LockQuery {
  readonly id: string
  readonly tier?: Tier | undefined
}

/** A tool as it would run now, and how it compares with its lock. */
export interface LockState {
  readonly chain: Chain
  readonly now: Frozen
  readonly check: LockCheck
}

export interface FreezeQuery extends LockQuery {
  /** Default: the scope of the tool. */
  readonly scope?: LockScope | undefined
  /** Writes a lock beside the present one, not in its place. */
  readonly variant?: boolean | undefined
  /** The packages to lock. Default: those that are installed for the chain. */
  readonly installed?: InstalledSet | undefined
}

export interface FreezePlan {
  readonly frozen: Frozen
  readonly scope: LockScope
  readonly variant: boolean
  /** The lock whose file it would replace. */
  readonly before: StoredLock | undefined
  /** How it differs from the lock that counts today; undefined if there is none, or it says the same. */
  readonly replaces: ReadonlyArray<LockFinding> | undefined
  /** The consent that it needs if it lets something else run than before. */
  readonly request: HumanRequest | undefined
}

export interface PruneQuery {
  /** Milliseconds since it last held, else since it was made. Default: the setting `lockfile.keep`, 90 days. */
  readonly olderThan?: number | undefined
  readonly scope?: LockScope | undefined
  readonly category?: string | undefined
}

export interface PrunePlan {
  readonly input: PruneQuery & { readonly olderThan: number }
  readonly stale: ReadonlyArray<StoredLock>
  /** The consent that it needs if a lock is removed sooner than `lockfile.keep` says. */
  readonly request: HumanRequest | undefined
}

/** The lock of one signed tool. */
export type SignedLock =
  /** `besides`: differences from the lock before that are not about the items that were signed with it. */
  | { readonly _tag: "Locked"; readonly lock: StoredLock; readonly besides: ReadonlyArray<LockFinding> }
  /** The lock says this already. */
  | { readonly _tag: "Unchanged"; readonly lock: StoredLock }
  | { readonly _tag: "Failed"; readonly error: LockQueryError | LockWriteError }

export interface SignedLocks {
  /** By the path of the tool, as `showLocation` gives it. */
  readonly tools: ReadonlyMap<string, SignedLock>
  /** Locks of other tools whose chains contain signed ones, as they were made anew. */
  readonly dependents: ReadonlyArray<StoredLock>
}

export type LockQueryError = ResolveError | VerifyError | ProjectRestricted

export class Lockfiles extends Context.Service<Lockfiles, {
  /**
   * Compares a resolved and verified chain with its locks. Every call asks, so it is cheap. `env` and `installed` are
   * compared if they are given.
   */
  readonly check: (
    chain: Chain,
    env: Pick<ResolvedEnv, "interpreter"> | undefined,
    installed: InstalledSet | undefined
  ) => Effect.Effect<LockCheck>
  /** Notes that a lock held just now, for a tool that is run. A validation notes it itself. */
  readonly markValidated: (lock: StoredLock) => Effect.Effect<void>
  /** The packages that the chain's lock names; undefined if there is no usable lock, or it names none. */
  readonly packagesOf: (chain: Chain) => Effect.Effect<ReadonlyArray<InstalledPackage> | undefined>
  /**
   * Resolves and verifies a tool, finds its interpreter and packages if it can, compares it with its locks, and notes
   * that a lock held.
   */
  readonly validate: (query: LockQuery) => Effect.Effect<LockState, LockQueryError>
  /** The same for many tools. Each item is read once for all of them. */
  readonly validateAll: (
    queries: ReadonlyArray<LockQuery>
  ) => Effect.Effect<ReadonlyArray<Result.Result<LockState, LockQueryError>>>
  readonly planFreeze: (query: FreezeQuery) => Effect.Effect<FreezePlan, LockQueryError>
  /** The same for many tools. Each item is read once for all of them. */
  readonly planFreezeAll: (
    queries: ReadonlyArray<FreezeQuery>
  ) => Effect.Effect<ReadonlyArray<Result.Result<FreezePlan, LockQueryError>>>
  /** Writes the lock. Fails with `HumanRequired` if it needs a consent that `act` is not. */
  readonly freeze: (
    plan: FreezePlan,
    act: HumanAct | undefined
  ) => Effect.Effect<StoredLock, LockWriteError | HumanRequired>
  /**
   * Locks the tools that a person has just signed, and locks again every chain that differs from its lock by nothing
   * but these items. `act` is the signing. Never fails: the answer says which tools could not be locked, and why.
   */
  readonly lockSigned: (
    signed: ReadonlyArray<SignedItem>,
    act: HumanAct
  ) => Effect.Effect<SignedLocks>
  /** Of a restricted project the locks are only named, as invalid ones. */
  readonly list: (filter?: LockFilter) => Effect.Effect<LockListing>
  readonly planPrune: (query: PruneQuery) => Effect.Effect<PrunePlan, LockWriteError>
  /** Removes the locks of the plan that are as they were and still stale. Fails with `HumanRequired` if it needs a consent that `act` is not. */
  readonly prune: (
    plan: PrunePlan,
    act: HumanAct | undefined
  ) => Effect.Effect<ReadonlyArray<StoredLock>, LockWriteError | HumanRequired>
}>()("kiwi/services/lockfile/Lockfiles") {}
