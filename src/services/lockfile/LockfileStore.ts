// Where lockfiles are: `.ai/lockfiles/<category>/<id>@<version>.lock.json` of project and user. Files are the truth; the
// index beside them only remembers when a lock last held, and is rebuilt from the files whenever it is in doubt.
import { Context, type Effect, type Result, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { Frozen, Lockfile } from "./Lockfile.ts"

/** Whose locks: the project's win over yours. */
export const LockScope = Schema.Literals(["project", "user"])
export type LockScope = typeof LockScope.Type

/** A lockfile is there and cannot be used: no JSON, another version, a wrong hash, not what its name says, a link. */
export class LockInvalid extends Schema.TaggedError<LockInvalid>()("LockInvalid", {
  /** "project:lockfiles/math/add@1.0.0.lock.json" */
  lockfile: Schema.String,
  issue: Schema.String,
  /** The tool it is for, as far as its name says; "" where it says none. */
  tool: Schema.String,
  /** What to do, where making a lock anew would not help. */
  remedy: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return `${this.lockfile} is no lockfile that can be used: ${this.issue}`
  }
  get remediation() {
    if (this.remedy !== undefined) return this.remedy
    return this.tool === "" ? `Remove or rename ${this.lockfile}` : `kiwi lockfile freeze ${this.tool}`
  }
  get refusal() {
    return "denied" as const
  }
  get brief() {
    return "lock invalid"
  }
}

/** There is no project whose lockfiles could be written. */
export class LockScopeMissing extends Schema.TaggedError<LockScopeMissing>()("LockScopeMissing", {
  scope: LockScope
}) {
  override get message() {
    return "There is no project here, so it has no lockfiles"
  }
  get remediation() {
    return "Name a project, or use the scope user"
  }
}

/** What a lock is for. `category` as `lockCategory` gives it. */
export interface LockKey {
  readonly toolId: string
  readonly version: string
  readonly category: string
}

/** A lock that was read. */
export interface StoredLock {
  readonly lockfile: Lockfile
  readonly scope: LockScope
  /** Path below the scope's lockfiles folder: "math/add@1.0.0.lock.json". */
  readonly path: string
  /** Whether its file is named after its chain: one of several locks of that version. */
  readonly variant: boolean
}

export interface LockEntry extends StoredLock {
  /** When a call or a validation last found the chain as locked; undefined when never. ISO 8601. */
  readonly lastValidated: string | undefined
}

/** What a listing found; nothing is skipped without being named. */
export interface LockListing {
  /** By scope, category, id, version (as versions), variant last. */
  readonly locks: ReadonlyArray<LockEntry>
  readonly invalid: ReadonlyArray<LockInvalid>
}

export interface LockFilter {
  readonly scope?: LockScope | undefined
  /** This category and those below it. */
  readonly category?: string | undefined
  readonly toolId?: string | undefined
  readonly version?: string | undefined
}

/** What a call has to be held against, in one scope. Both empty: no lock. */
export interface ScopeLocks {
  readonly scope: LockScope
  /** The lock of that version, then the one that is named after the chain's hash, as far as they are there. */
  readonly locks: ReadonlyArray<StoredLock>
  readonly invalid: ReadonlyArray<LockInvalid>
}

export interface PruneInput {
  readonly scope?: LockScope | undefined
  readonly category?: string | undefined
  /** Strictly older: since it last held, else since it was made. Milliseconds. */
  readonly olderThan: number
  readonly dryRun?: boolean | undefined
}

/** `LockInvalid`: what was to be frozen makes no lockfile that could be read again. */
export type LockWriteError = LockScopeMissing | LockInvalid | WriteRefused | LockError

export interface SaveOptions<E> {
  readonly scope: LockScope
  readonly variant?: boolean | undefined
  /** Asked when nobody else can write in that scope any more; what it fails with keeps the lock from being written. */
  readonly provided?: Effect.Effect<void, E> | undefined
}

export class LockfileStore extends Context.Service<LockfileStore, {
  /**
   * The locks that a chain has to be held against, project first. On the path of every call: four stats when nothing
   * changed since the last time, no listing, no index, no write.
   */
  readonly locksFor: (key: LockKey, chainHash: string) => Effect.Effect<ReadonlyArray<ScopeLocks>>
  /**
   * Writes a lock, atomically, under the store's lock between processes. A lock of the same version is replaced;
   * with `variant`, it stays, and the new one is written beside it under the hash of its chain. The text ends without
   * a newline, indented by two.
   */
  readonly save: <E = never>(
    frozen: Frozen,
    options: SaveOptions<E>
  ) => Effect.Effect<StoredLock, LockWriteError | E>
  /** As `save`, for many at once: one answer for each, in their order. A lock that cannot be written stops no other. */
  readonly saveAll: (
    locks: ReadonlyArray<{ readonly frozen: Frozen; readonly scope: LockScope }>
  ) => Effect.Effect<ReadonlyArray<Result.Result<StoredLock, LockWriteError>>>
  /** Every lock of both scopes. Any depth of categories; pre-release versions and variants told apart by content. */
  readonly list: (filter?: LockFilter) => Effect.Effect<LockListing>
  /** Locks whose chain has one of these tools as a link other than the leaf. Reads every lock once. */
  readonly dependents: (toolIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<StoredLock>>
  /** Removes one lock; absent is fine. */
  readonly remove: (lock: Pick<StoredLock, "scope" | "path">) => Effect.Effect<void, LockWriteError>
  /** Removes what is stale, also what the index does not know; says what it removed. Invalid files are kept. */
  readonly prune: (input: PruneInput) => Effect.Effect<ReadonlyArray<StoredLock>, LockWriteError>
  /**
   * Remembers that a lock held. In memory; written to the index at most once a day for a lock, when the kernel closes
   * or every few minutes, and never by a caller who waits.
   */
  readonly held: (lock: StoredLock) => Effect.Effect<void>
  /** Makes the indexes anew from the files, keeping what the old ones remember and the files confirm. */
  readonly rebuildIndex: Effect.Effect<void, LockWriteError>
}>()("kiwi/services/lockfile/LockfileStore") {}
