// The part of a LockfileStore that is the same for files and for memory: which lockfiles are read, which of them count,
// and their order. A lockfile that is invalid is always reported, and never passed over for another one.
import { Clock, DateTime, Effect, Order, Result, SemVer } from "effect"
import { type FileWrite, WriteRefused } from "../../services/files/SafeFiles.ts"
import { isCategory } from "../../services/item/ItemId.ts"
import type { Frozen } from "../../services/lockfile/Lockfile.ts"
import { LockInvalid, LockScopeMissing } from "../../services/lockfile/LockfileStore.ts"
import type {
  LockEntry,
  LockfileStore,
  LockFilter,
  LockKey,
  LockScope,
  LockWriteError,
  PruneInput,
  SaveOptions,
  StoredLock
} from "../../services/lockfile/LockfileStore.ts"
import { isSameLockfile, printLockfile, readLockfile } from "../../services/lockfile/lockfileText.ts"
import { instantOf, later } from "../../services/lockfile/LockIndex.ts"
import { keyOf, lockPath, showLock, toolOfPath } from "../../services/lockfile/lockName.ts"
import type { LockError } from "../../services/workspace/ProcessLock.ts"
import { sha256 } from "../identity/sha256.ts"

/** What the file of a lock says, or why it cannot be used. */
export type Found = Result.Result<StoredLock, LockInvalid>

/** The lockfiles of one scope. Paths are below its lockfiles folder. */
export interface ScopeBackend {
  readonly scope: LockScope
  /** Undefined if there is no such file. `now` in milliseconds. */
  readonly read: (path: string, now: number) => Found | undefined
  /** Every lockfile, or those of a category and the categories below it. */
  readonly walk: (category: string | undefined) => Effect.Effect<ReadonlyArray<Found>>
  /** Of all lockfiles, and of folders that cannot be walked. The same array as before if nothing has changed. */
  readonly paths: (now: number) => ReadonlyArray<string>
  /** One answer for each, in their order. */
  readonly writeAll: (
    writes: ReadonlyArray<FileWrite>
  ) => Effect.Effect<ReadonlyArray<Result.Result<void, WriteRefused>>>
  /** Removes a file, and the folders that are empty without it. */
  readonly remove: (path: string) => Effect.Effect<void, WriteRefused>
  /** Runs an effect while no other process changes these files. */
  readonly exclusively: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | LockError>
  /** When a lock last held, as far as the index and memory know; undefined if they do not. */
  readonly lastValidated: Effect.Effect<(lock: StoredLock) => string | undefined>
  readonly markValidated: (lock: StoredLock) => Effect.Effect<void>
  /** Takes note of files that were written or removed. Called under `exclusively`. */
  readonly changed: (paths: ReadonlyArray<string>) => Effect.Effect<void>
  /** Removes the unfinished files of writers that were killed. */
  readonly sweep: Effect.Effect<void, LockWriteError>
  /** Makes the index anew. */
  readonly rebuild: Effect.Effect<void, LockWriteError>
}

export const lockInvalid = (scope: LockScope, path: string, issue: string): LockInvalid =>
  new LockInvalid({ lockfile: showLock({ scope, path }), issue, tool: toolOfPath(path) ?? "" })

/** The lock that the text of a file gives. */
export const readStored = (scope: LockScope, path: string, text: string): Found => {
  if (toolOfPath(path) === undefined) {
    return Result.fail(lockInvalid(scope, path, "it is not called <category>/<id>@<version>.lock.json"))
  }
  const read = readLockfile(text, sha256)
  if (Result.isFailure(read)) return Result.fail(lockInvalid(scope, path, read.failure))
  const lockfile = read.success
  const key = keyOf(lockfile)
  if (path === lockPath(key)) return Result.succeed({ lockfile, scope, path, variant: false })
  if (path === lockPath(key, lockfile.chain_hash)) return Result.succeed({ lockfile, scope, path, variant: true })
  return Result.fail(lockInvalid(scope, path, "it says that it is of another tool, version, category or chain"))
}

const noPaths: ReadonlyArray<string> = []

const isFor = (lock: StoredLock, key: LockKey, variant: boolean): boolean => {
  const { root } = lock.lockfile
  return lock.variant === variant && root.version === key.version && root.tool_id === key.toolId &&
    root.category === key.category
}

const passes = ({ lockfile: { root } }: StoredLock, { category, toolId, version }: LockFilter): boolean =>
  (toolId === undefined || root.tool_id === toolId) && (version === undefined || root.version === version) &&
  (category === undefined || category === "" || `${root.category}/`.startsWith(`${category}/`))

/** Texts that are no versions come first; those that are equal as versions are ordered as texts. */
const byVersion = Order.make((a: string, b: string) => {
  const [left, right] = [SemVer.parse(a), SemVer.parse(b)]
  if (Result.isSuccess(left) && Result.isSuccess(right)) {
    return SemVer.Order(left.success, right.success) || Order.String(a, b)
  }
  return Result.isSuccess(left) ? 1 : Result.isSuccess(right) ? -1 : Order.String(a, b)
})

const byName = Order.combineAll<StoredLock>([
  Order.mapInput(Order.String, ({ scope }) => scope),
  Order.mapInput(Order.String, ({ lockfile }) => lockfile.root.category),
  Order.mapInput(Order.String, ({ lockfile }) => lockfile.root.tool_id),
  Order.mapInput(byVersion, ({ lockfile }) => lockfile.root.version),
  Order.mapInput(Order.Boolean, ({ variant }) => variant),
  Order.mapInput(Order.String, ({ path }) => path)
])

/** A lock that is to be written, and the text of its file. */
interface Draft {
  readonly stored: StoredLock
  readonly text: string
}

/** Fails if the text could not be read again. */
const draft = (
  frozen: Frozen,
  scope: LockScope,
  variant: boolean,
  now: DateTime.Utc
): Result.Result<Draft, LockInvalid> => {
  const key = keyOf(frozen)
  const path = lockPath(key, variant ? frozen.chain_hash : undefined)
  if (path === undefined) {
    const wanted = `${key.category}/${key.toolId}@${key.version}`
    return Result.fail(lockInvalid(scope, wanted, "its category, id and version make no name of a file"))
  }
  const generated_at = DateTime.formatIso(now)
  const text = printLockfile({ ...frozen, lockfile_version: 1, generated_at, registry: null })
  return Result.map(readStored(scope, path, text), (stored) => ({ stored, text }))
}

/** Whether a lock has not held for so long. One that does not say how old it is never counts as stale. */
const isStale = (lock: LockEntry, before: number): boolean =>
  (instantOf(later(lock.lockfile.generated_at, lock.lastValidated) ?? "") ?? Infinity) < before

/** `backends`: those that there are, project first. */
export const make = (backends: ReadonlyArray<ScopeBackend>): LockfileStore["Service"] => {
  const backendsOf = (scope: LockScope | undefined): ReadonlyArray<ScopeBackend> =>
    scope === undefined ? backends : backends.filter((backend) => backend.scope === scope)

  const backendOf = (scope: LockScope): Effect.Effect<ScopeBackend, LockScopeMissing> => {
    const [backend] = backendsOf(scope)
    return backend === undefined ? Effect.fail(new LockScopeMissing({ scope })) : Effect.succeed(backend)
  }

  const locksIn = ({ read, scope }: ScopeBackend, key: LockKey, chainHash: string, now: number) => {
    const locks: Array<StoredLock> = []
    const invalid: Array<LockInvalid> = []
    for (const variant of [false, true]) {
      const path = lockPath(key, variant ? chainHash : undefined)
      const found = path === undefined ? undefined : read(path, now)
      if (found === undefined) continue
      if (Result.isFailure(found)) invalid.push(found.failure)
      else if (isFor(found.success, key, variant)) locks.push(found.success)
    }
    return { scope, locks, invalid }
  }

  /** Fails if there is a lock of another tool with the same name. */
  const requireOwnName = (backend: ScopeBackend, { lockfile, path, variant }: StoredLock, now: DateTime.Utc) => {
    const before = backend.read(path, DateTime.toEpochMillis(now))
    if (before === undefined || Result.isFailure(before) || isFor(before.success, keyOf(lockfile), variant)) {
      return Result.void
    }
    const { tool_id: toolId, version } = before.success.lockfile.root
    const detail = `it is the lock of ${toolId} ${version}, whose name is the same`
    return Result.fail(new WriteRefused({ path: `lockfiles/${path}`, issue: "exists", detail }))
  }

  /** Writes drafts, one answer for each. The caller holds the scope's lock. */
  const write = Effect.fnUntraced(function*(backend: ScopeBackend, drafts: ReadonlyArray<Draft>, now: DateTime.Utc) {
    const names = drafts.map(({ stored }) => requireOwnName(backend, stored, now))
    const free = drafts.filter((_, index) => Result.isSuccess(names[index]!))
    const written = yield* backend.writeAll(free.map(({ stored, text }) => ({ path: stored.path, data: text })))
    yield* backend.changed(free.map(({ stored }) => stored.path))
    const answers = written.values()
    return drafts.map(({ stored }, index) =>
      Result.map(Result.flatMap(names[index]!, () => answers.next().value!), () => stored)
    )
  })

  const saveAll = Effect.fn("LockfileStore.saveAll")(function*<E = never>(
    locks: ReadonlyArray<SaveOptions<E> & { readonly frozen: Frozen }>
  ) {
    const now = yield* DateTime.now
    const answers: Array<Result.Result<StoredLock, LockWriteError | E>> = locks.map(({ scope }) =>
      Result.fail(new LockScopeMissing({ scope }))
    )
    for (const backend of backends) {
      const drafts: Array<Draft & { readonly index: number }> = []
      for (const [index, { frozen, scope, variant = false }] of locks.entries()) {
        if (scope !== backend.scope) continue
        const made = draft(frozen, scope, variant, now)
        if (Result.isFailure(made)) answers[index] = Result.fail(made.failure)
        else drafts.push({ ...made.success, index })
      }
      if (drafts.length === 0) continue
      const saving = Effect.gen(function*() {
        const allowed: typeof drafts = []
        for (const one of drafts) {
          const provided = yield* Effect.result(locks[one.index]!.provided ?? Effect.void)
          if (Result.isFailure(provided)) answers[one.index] = Result.fail(provided.failure)
          else allowed.push(one)
        }
        const written = yield* write(backend, allowed, now)
        for (const [at, { index }] of allowed.entries()) answers[index] = written[at]!
      })
      const held = yield* Effect.result(backend.exclusively(saving))
      if (Result.isSuccess(held)) continue
      for (const { index } of drafts) answers[index] = Result.fail(held.failure)
    }
    return answers
  })

  const save = Effect.fn("LockfileStore.save")(function*<E = never>(frozen: Frozen, options: SaveOptions<E>) {
    const [saved] = yield* saveAll([{ ...options, frozen }])
    return yield* Effect.fromResult(saved!)
  })

  const listScope = Effect.fnUntraced(function*(backend: ScopeBackend, category: string | undefined) {
    if (category !== undefined && !isCategory(category)) return { locks: [], invalid: [] }
    const found = yield* backend.walk(category === "" ? undefined : category)
    const lastValidated = yield* backend.lastValidated
    const locks: Array<LockEntry> = []
    const invalid: Array<LockInvalid> = []
    for (const one of found) {
      if (Result.isFailure(one)) invalid.push(one.failure)
      else locks.push({ ...one.success, lastValidated: lastValidated(one.success) })
    }
    return { locks, invalid }
  })

  const list = Effect.fn("LockfileStore.list")(function*(filter: LockFilter = {}) {
    const found = yield* Effect.forEach(backendsOf(filter.scope), (backend) => listScope(backend, filter.category))
    const mayBeOf = ({ tool }: LockInvalid) => filter.toolId === undefined || tool === "" || tool === filter.toolId
    return {
      locks: found.flatMap(({ locks }) => locks).filter((lock) => passes(lock, filter)).toSorted(byName),
      invalid: found.flatMap(({ invalid }) => invalid).filter(mayBeOf)
        .toSorted(Order.mapInput(Order.String, ({ lockfile }) => lockfile))
    }
  })

  const remove = Effect.fn("LockfileStore.remove")(function*({ path, scope }: Pick<StoredLock, "scope" | "path">) {
    const backend = yield* backendOf(scope)
    if (toolOfPath(path) === undefined) {
      const detail = "it is not called as a lockfile is"
      return yield* new WriteRefused({ path: `lockfiles/${path}`, issue: "outside", detail })
    }
    yield* backend.exclusively(Effect.andThen(backend.remove(path), backend.changed([path])))
  })

  const pruneScope = Effect.fnUntraced(function*(backend: ScopeBackend, input: PruneInput) {
    const now = yield* Clock.currentTimeMillis
    const before = now - input.olderThan
    if (input.dryRun !== true) yield* Effect.ignore(backend.sweep)
    const stale = input.only?.filter(({ scope }) => scope === backend.scope) ??
      (yield* listScope(backend, input.category)).locks.filter((lock) => isStale(lock, before)).toSorted(byName)
    if (stale.length === 0 || input.dryRun === true) return stale
    return yield* backend.exclusively(Effect.gen(function*() {
      // Meanwhile somebody may have made one anew, or found that it holds.
      const lastValidated = yield* backend.lastValidated
      const still = stale.filter(({ lockfile, path }) => {
        const found = backend.read(path, now)
        return found !== undefined && Result.isSuccess(found) && isSameLockfile(found.success.lockfile, lockfile) &&
          isStale({ ...found.success, lastValidated: lastValidated(found.success) }, before)
      })
      yield* Effect.ensuring(
        Effect.forEach(still, ({ path }) => backend.remove(path), { discard: true }),
        backend.changed(still.map(({ path }) => path))
      )
      return still
    }))
  })

  const prune = Effect.fn("LockfileStore.prune")(function*(input: PruneInput) {
    if (input.scope !== undefined) yield* backendOf(input.scope)
    const removed = yield* Effect.forEach(backendsOf(input.scope), (backend) => pruneScope(backend, input))
    return removed.flat()
  })

  return {
    locksFor: (key, chainHash) =>
      Effect.map(
        Clock.currentTimeMillis,
        (now) => backends.map((backend) => locksIn(backend, key, chainHash, now))
      ),
    paths: (scope) => Effect.map(Clock.currentTimeMillis, (now) => backendsOf(scope)[0]?.paths(now) ?? noPaths),
    save,
    saveAll,
    list,
    remove,
    prune,
    markValidated: (lock) => backendsOf(lock.scope)[0]?.markValidated(lock) ?? Effect.void,
    rebuildIndex: Effect.forEach(backends, ({ rebuild, sweep }) => Effect.andThen(sweep, rebuild), {
      discard: true
    }).pipe(Effect.withSpan("LockfileStore.rebuildIndex"))
  }
}
