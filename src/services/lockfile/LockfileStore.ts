// The lockfiles of the project and of the user: `lockfiles/<category>/<id>@<version>.lock.json`. The files decide; the
// index beside them only says when a lock last held, and can be made anew from the files at any time.
import { Context, type Effect, type Result, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { Frozen, Lockfile } from "./Lockfile.ts"

/** Whose locks. Those of the project count before those of the user. */
export const LockScope = Schema.Literals(["project", "user"])
export type LockScope = typeof LockScope.Type

/** There is a lockfile that cannot be used: no JSON, another version, a wrong hash, not what its name says, a link. */
export class LockInvalid extends Schema.TaggedError<LockInvalid>()("LockInvalid", {
  /** "project:lockfiles/math/add@1.0.0.lock.json" */
  lockfile: Schema.String,
  issue: Schema.String,
  /** The id of its tool, by its name; "" if the name is not that of a lockfile. */
  tool: Schema.String,
  /** What to do, if making the lock anew would not help. */
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

/** A lockfile of the project was to be written, and there is no project. */
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

/** The version of a tool that a lock is for. `category` as `lockCategory` gives it. */
export interface LockKey {
  readonly toolId: string
  readonly version: string
  readonly category: string
}

/** A lockfile that was read. */
export interface StoredLock {
  readonly lockfile: Lockfile
  readonly scope: LockScope
  /** Path below the scope's lockfiles folder: "math/add@1.0.0.lock.json". */
  readonly path: string
  /** Whether its file is named after its chain too: one of several locks of that version. */
  readonly variant: boolean
}

export interface LockEntry extends StoredLock {
  /** When a call or a validation last found the chain as locked; undefined when never. ISO 8601. */
  readonly lastValidated: string | undefined
}

/** Every lockfile is in one of the two lists. */
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

/** The locks of one scope that a chain is compared with. Both empty: there is no lock. */
export interface ScopeLocks {
  readonly scope: LockScope
  /** The lock of the version, then the variant of the chain, if there are any. */
  readonly locks: ReadonlyArray<StoredLock>
  readonly invalid: ReadonlyArray<LockInvalid>
}

export interface PruneInput {
  readonly scope?: LockScope | undefined
  readonly category?: string | undefined
  /** Milliseconds since a lock last held, else since it was made. Only strictly older ones are removed. */
  readonly olderThan: number
  /** Only these, where they are as they were. Default: whatever is stale. */
  readonly only?: ReadonlyArray<StoredLock> | undefined
  readonly dryRun?: boolean | undefined
}

/** `LockInvalid`: the lockfile could not be read again. */
export type LockWriteError = LockScopeMissing | LockInvalid | WriteRefused | LockError

export interface SaveOptions<E> {
  readonly scope: LockScope
  readonly variant?: boolean | undefined
  /** Runs under the lock between processes, before the write. If it fails, this lock is not written. */
  readonly provided?: Effect.Effect<void, E> | undefined
}

export class LockfileStore extends Context.Service<LockfileStore, {
  /**
   * The locks that a chain is compared with, project first. Every call asks: it costs four stats if nothing changed
   * since the last time, and no listing, index or write.
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
  /** As `save`, for many at once: one answer for each, in their order. One that cannot be written stops no other. */
  readonly saveAll: <E = never>(
    locks: ReadonlyArray<SaveOptions<E> & { readonly frozen: Frozen }>
  ) => Effect.Effect<ReadonlyArray<Result.Result<StoredLock, LockWriteError | E>>>
  /** Every lock of both scopes, at any depth of categories. */
  readonly list: (filter?: LockFilter) => Effect.Effect<LockListing>
  /**
   * The paths of all of a scope's lockfiles, valid or not, and of folders that cannot be walked. Reads no lockfile. The
   * same array as before only if nothing has changed.
   */
  readonly paths: (scope: LockScope) => Effect.Effect<ReadonlyArray<string>>
  /** Removes one lock. It may be gone already. */
  readonly remove: (lock: Pick<StoredLock, "scope" | "path">) => Effect.Effect<void, LockWriteError>
  /** Removes stale locks, in the index or not, and answers with them. Invalid files stay. */
  readonly prune: (input: PruneInput) => Effect.Effect<ReadonlyArray<StoredLock>, LockWriteError>
  /**
   * Notes that a lock held just now. The note is kept in memory, and written to the index in the background: every few
   * minutes if it is a day behind or a lockfile changed, and when the kernel closes.
   */
  readonly markValidated: (lock: StoredLock) => Effect.Effect<void>
  /** Makes the indexes anew from the files, with the times of the old ones that the files agree with. */
  readonly rebuildIndex: Effect.Effect<void, LockWriteError>
}>()("kiwi/services/lockfile/LockfileStore") {}
