// Everything that can be done with locks, once for the command line, for tools and for a call. Resolves and verifies
// before it locks; replaces a lock that says something else only for a person.
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
import { type LockFinding, showFindings } from "./compareLock.ts"
import type { Frozen } from "./Lockfile.ts"
import type { LockFilter, LockInvalid, LockListing, LockScope, LockWriteError, StoredLock } from "./LockfileStore.ts"

const Finding = Schema.Struct({
  link: Schema.UndefinedOr(Schema.Int),
  field: Schema.String,
  tool: Schema.String,
  locked: Schema.String,
  now: Schema.String
})

/** There is no lock for this version of the tool. */
export class LockMissing extends Schema.TaggedError<LockMissing>()("LockMissing", {
  tool: Schema.String,
  version: Schema.String,
  /** Somebody named this version: making a lock of the present one would not help. */
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

/** Of a list that is part of every answer. */
const mostIssues = 20

const issuesOf = (findings: ReadonlyArray<typeof Finding.Type>): ReadonlyArray<ValidationIssue> =>
  findings.slice(0, mostIssues).map((f) => ({ field: f.field, error: `${f.locked} was locked, ${f.now} is there` }))

/** The chain is not the one that was locked. */
export class LockMismatch extends Schema.TaggedError<LockMismatch>()("LockMismatch", {
  tool: Schema.String,
  lockfile: Schema.String,
  /** The file of the first link that differs: "project:tools/math/add.py". */
  configPath: Schema.String,
  findings: Schema.Array(Finding)
}) {
  override get message() {
    return `${this.tool} is not as ${this.lockfile} has it: ${showFindings(this.findings as Array<LockFinding>)}`
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

/** What a check found. A chain of system links alone is locked by the package that it came with. */
export type LockCheck =
  | { readonly _tag: "Built-in" }
  | { readonly _tag: "Locked"; readonly lock: StoredLock }
  | { readonly _tag: "Problem"; readonly problem: LockProblem }

/** A tool, as ItemStore finds it. */
export interface LockQuery {
  readonly id: string
  readonly tier?: Tier | undefined
}

/** What is there now, and how it compares. */
export interface LockState {
  readonly chain: Chain
  readonly now: Frozen
  readonly check: LockCheck
}

export interface FreezeQuery extends LockQuery {
  /** Default: where the tool lies. */
  readonly scope?: LockScope | undefined
  /** Beside the lock that is there. Default: in its place. */
  readonly variant?: boolean | undefined
  /** The packages to lock. Default: those that are installed for the chain. */
  readonly installed?: InstalledSet | undefined
}

export interface FreezePlan {
  readonly frozen: Frozen
  readonly scope: LockScope
  readonly variant: boolean
  /** How it differs from the lock that it would replace; undefined where there is none, or it says the same. */
  readonly replaces: ReadonlyArray<LockFinding> | undefined
  /** What a person is asked when it replaces something, or when locks are strict. */
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
  /** What a person is asked where something goes before the time that `lockfile.keep` gives. */
  readonly request: HumanRequest | undefined
}

/** What became of one signed tool's lock. */
export type SignedLock =
  /** `besides`: how it differs from the lock before in more than what was signed with it. */
  | { readonly _tag: "Locked"; readonly lock: StoredLock; readonly besides: ReadonlyArray<LockFinding> }
  /** The lock that is there says this already. */
  | { readonly _tag: "Unchanged"; readonly lock: StoredLock }
  | { readonly _tag: "Failed"; readonly error: LockQueryError | LockWriteError }

export interface SignedLocks {
  /** By the path of the tool, as `showLocation` gives it. */
  readonly tools: ReadonlyMap<string, SignedLock>
  /** Locks of other tools in whose chain the signed ones are. */
  readonly dependents: ReadonlyArray<StoredLock>
}

export type LockQueryError = ResolveError | VerifyError | ProjectRestricted

/** What can go wrong with anything that is done to locks. */
export type LockUseError = LockQueryError | LockWriteError | LockMissing | HumanRequired

export interface Outdated {
  readonly lock: StoredLock
  /** What the chain would be now; empty findings are never listed. */
  readonly findings: ReadonlyArray<LockFinding>
  /** Where the chain does not resolve or verify any more. */
  readonly error: LockQueryError | undefined
}

export class Lockfiles extends Context.Service<Lockfiles, {
  /**
   * Holds a resolved and verified chain against its locks. For every call: cheap, no effect but remembering that a
   * lock held. `env` and `installed` are compared where they are given.
   */
  readonly check: (
    chain: Chain,
    env: Pick<ResolvedEnv, "interpreter"> | undefined,
    installed: InstalledSet | undefined
  ) => Effect.Effect<LockCheck>
  /** The packages that the chain's lock names; undefined where no usable lock names any. */
  readonly packagesOf: (chain: Chain) => Effect.Effect<ReadonlyArray<InstalledPackage> | undefined>
  /** Resolves, verifies, resolves the environment as far as it can be, and checks. For `validate` and `diff`. */
  readonly validate: (query: LockQuery) => Effect.Effect<LockState, LockQueryError>
  /** The same for many tools, whose folders are looked at once. */
  readonly validateAll: (
    queries: ReadonlyArray<LockQuery>
  ) => Effect.Effect<ReadonlyArray<Result.Result<LockState, LockQueryError>>>
  readonly planFreeze: (query: FreezeQuery) => Effect.Effect<FreezePlan, LockQueryError>
  /** The same for many tools, whose folders are looked at once. */
  readonly planFreezeAll: (
    queries: ReadonlyArray<FreezeQuery>
  ) => Effect.Effect<ReadonlyArray<Result.Result<FreezePlan, LockQueryError>>>
  /** Writes the lock. Without an act only what asks for none; else `HumanRequired`. */
  readonly freeze: (
    plan: FreezePlan,
    act: HumanAct | undefined
  ) => Effect.Effect<StoredLock, LockWriteError | HumanRequired>
  /**
   * Locks the tools that a person has just signed, and locks anew every chain that differs from its lock by nothing
   * but these items. `act` is the signing. Never fails: what could not be locked says why.
   */
  readonly lockSigned: (
    signed: ReadonlyArray<SignedItem>,
    act: HumanAct
  ) => Effect.Effect<SignedLocks>
  readonly list: (filter?: LockFilter) => Effect.Effect<LockListing>
  readonly planPrune: (query: PruneQuery) => Effect.Effect<PrunePlan, LockWriteError>
  /** Removes what is stale now. Without an act only what asks for none; else `HumanRequired`. */
  readonly prune: (
    plan: PrunePlan,
    act: HumanAct | undefined
  ) => Effect.Effect<ReadonlyArray<StoredLock>, LockWriteError | HumanRequired>
  /** Every lock whose tool is still there in that version and whose chain is not what was locked. */
  readonly outdated: (filter?: LockFilter) => Effect.Effect<ReadonlyArray<Outdated>>
}>()("kiwi/services/lockfile/Lockfiles") {}
