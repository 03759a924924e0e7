// What every LockfileStore does above its backend: which files are looked at, which of them count, and in what order
// they are told. A file that is there and cannot be believed is always told, and never passed over for another.
import { Clock, DateTime, Effect, Order, Result, SemVer } from "effect"
import { type FileWrite, WriteRefused } from "../../services/files/SafeFiles.ts"
import { isCategory } from "../../services/item/ItemId.ts"
import type { Frozen, Lockfile } from "../../services/lockfile/Lockfile.ts"
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
import { printLockfile, readLockfile } from "../../services/lockfile/lockfileText.ts"
import { heldSince, instantOf, later } from "../../services/lockfile/LockIndex.ts"
import type { LockIndex } from "../../services/lockfile/LockIndex.ts"
import { keyOf, lockPath, nameFits, parseLockPath, variantPath } from "../../services/lockfile/lockName.ts"
import type { LockError } from "../../services/workspace/ProcessLock.ts"
import { sha256 } from "../identity/sha256.ts"

/** A lockfile that is there. */
export type Found = Result.Result<StoredLock, LockInvalid>

export interface Backend {
  /** Those that there are, project first. */
  readonly scopes: ReadonlyArray<LockScope>
  /** What lies at a path now; undefined for nothing. `now` in milliseconds. */
  readonly read: (scope: LockScope, path: string, now: number) => Found | undefined
  /** Every lockfile, or those of a category and below it. */
  readonly walk: (scope: LockScope, category: string | undefined) => Effect.Effect<ReadonlyArray<Found>>
  /** One answer for each, in their order. */
  readonly writeAll: (
    scope: LockScope,
    writes: ReadonlyArray<FileWrite>
  ) => Effect.Effect<ReadonlyArray<Result.Result<void, WriteRefused>>>
  /** Removes a file, and the folders that it leaves empty. */
  readonly remove: (scope: LockScope, path: string) => Effect.Effect<void, WriteRefused>
  /** Runs what changes a scope's files while no other process does. */
  readonly exclusively: (
    scope: LockScope
  ) => <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | LockError>
  /** What is remembered about a scope's locks: believed where the files confirm it. */
  readonly index: (scope: LockScope) => Effect.Effect<LockIndex | undefined>
  readonly held: (lock: StoredLock) => Effect.Effect<void>
  /** That files were written or removed. Called under `exclusively`. */
  readonly changed: (scope: LockScope, paths: ReadonlyArray<string>) => Effect.Effect<void>
  /** Clears away what killed writers left. */
  readonly sweep: (scope: LockScope) => Effect.Effect<void, LockWriteError>
  /** Makes a scope's index anew. */
  readonly rebuild: (scope: LockScope) => Effect.Effect<void, LockWriteError>
}

export const showLockfile = (scope: LockScope, path: string): string => `${scope}:lockfiles/${path}`

export const lockInvalid = (scope: LockScope, path: string, issue: string): LockInvalid =>
  new LockInvalid({ lockfile: showLockfile(scope, path), issue, tool: parseLockPath(path)?.toolId ?? "" })

/** What the text of the file at a path says. */
export const readStored = (scope: LockScope, path: string, text: string): Found => {
  const name = parseLockPath(path)
  if (name === undefined) {
    return Result.fail(lockInvalid(scope, path, "it is not called <category>/<id>@<version>.lock.json"))
  }
  const read = readLockfile(text, sha256)
  if (Result.isFailure(read)) return Result.fail(lockInvalid(scope, path, read.failure))
  const lockfile = read.success
  const fits = nameFits(name, lockfile)
  return fits === undefined
    ? Result.fail(lockInvalid(scope, path, "it says that it is of another tool, version, category or chain"))
    : Result.succeed({ lockfile, scope, path, variant: fits === "variant" })
}

const isFor = (lock: StoredLock, key: LockKey, variant: boolean): boolean => {
  const { root } = lock.lockfile
  return lock.variant === variant && root.version === key.version && root.tool_id === key.toolId &&
    root.category === key.category
}

const isBelow = (category: string, folder: string): boolean => category === folder || category.startsWith(`${folder}/`)

const passes = (lock: StoredLock, filter: LockFilter): boolean => {
  const { root } = lock.lockfile
  return (filter.toolId === undefined || root.tool_id === filter.toolId) &&
    (filter.version === undefined || root.version === filter.version) &&
    (filter.category === undefined || filter.category === "" || isBelow(root.category, filter.category))
}

const byText = (a: string, b: string): -1 | 0 | 1 => a < b ? -1 : a > b ? 1 : 0

/** As versions; what is none comes first, and texts tell those apart that are equal as versions. */
const byVersion = (a: string, b: string): -1 | 0 | 1 => {
  const [left, right] = [SemVer.parse(a), SemVer.parse(b)]
  if (Result.isSuccess(left) && Result.isSuccess(right)) {
    return SemVer.Order(left.success, right.success) || byText(a, b)
  }
  return Result.isSuccess(left) ? 1 : Result.isSuccess(right) ? -1 : byText(a, b)
}

const order: Order.Order<StoredLock> = (a, b) => {
  const [left, right] = [a.lockfile.root, b.lockfile.root]
  return byText(a.scope, b.scope) || byText(left.category, right.category) || byText(left.tool_id, right.tool_id) ||
    byVersion(left.version, right.version) || Order.Boolean(a.variant, b.variant) || byText(a.path, b.path)
}

const lockfileOf = (frozen: Frozen, generatedAt: string): Lockfile => ({
  lockfile_version: 1,
  generated_at: generatedAt,
  root: frozen.root,
  resolved_chain: frozen.resolved_chain,
  chain_hash: frozen.chain_hash,
  runtime: frozen.runtime,
  dependencies: frozen.dependencies,
  registry: null
})

export const make = (backend: Backend): LockfileStore["Service"] => {
  const { scopes } = backend

  const requireScope = (scope: LockScope): Effect.Effect<void, LockScopeMissing> =>
    scopes.includes(scope) ? Effect.void : Effect.fail(new LockScopeMissing({ scope }))

  const scopesOf = (scope: LockScope | undefined): ReadonlyArray<LockScope> =>
    scope === undefined ? scopes : scopes.filter((one) => one === scope)

  const locksOf = (scope: LockScope, key: LockKey, chainHash: string, now: number) => {
    const locks: Array<StoredLock> = []
    const invalid: Array<LockInvalid> = []
    const look = (path: string | undefined, variant: boolean) => {
      const found = path === undefined ? undefined : backend.read(scope, path, now)
      if (found === undefined) return
      if (Result.isFailure(found)) invalid.push(found.failure)
      else if (isFor(found.success, key, variant)) locks.push(found.success)
    }
    look(lockPath(key), false)
    look(variantPath(key, chainHash), true)
    return { scope, locks, invalid }
  }

  const locksFor: LockfileStore["Service"]["locksFor"] = (key, chainHash) =>
    Effect.map(Clock.currentTimeMillis, (now) => scopes.map((scope) => locksOf(scope, key, chainHash, now)))

  /** A lock that can be written: its text can be read again. */
  const draft = Effect.fnUntraced(function*(frozen: Frozen, scope: LockScope, variant: boolean, now: DateTime.Utc) {
    yield* requireScope(scope)
    const lockfile = lockfileOf(frozen, DateTime.formatIso(now))
    const key = keyOf(lockfile)
    const path = variant ? variantPath(key, lockfile.chain_hash) : lockPath(key)
    if (path === undefined) {
      return yield* lockInvalid(
        scope,
        `${key.category}/${key.toolId}@${key.version}`,
        "its category, id and version make no name of a file"
      )
    }
    const text = printLockfile(lockfile)
    const stored = yield* Effect.fromResult(readStored(scope, path, text))
    return { path, text, stored }
  })

  /** Under the scope's lock. */
  const requireOwnName = ({ lockfile, path, scope, variant }: StoredLock, now: DateTime.Utc) => {
    const before = backend.read(scope, path, DateTime.toEpochMillis(now))
    if (before === undefined || Result.isFailure(before) || isFor(before.success, keyOf(lockfile), variant)) {
      return Effect.void
    }
    const { tool_id: toolId, version } = before.success.lockfile.root
    const detail = `it is the lock of ${toolId} ${version}, whose name is the same`
    return Effect.fail(new WriteRefused({ path: `lockfiles/${path}`, issue: "exists", detail }))
  }

  const save = Effect.fn("LockfileStore.save")(function*<E = never>(frozen: Frozen, options: SaveOptions<E>) {
    const { provided = Effect.void, scope, variant = false } = options
    const now = yield* DateTime.now
    const { path, stored, text } = yield* draft(frozen, scope, variant, now)
    yield* backend.exclusively(scope)(Effect.gen(function*() {
      yield* provided
      yield* requireOwnName(stored, now)
      yield* Effect.flatMap(backend.writeAll(scope, [{ path, data: text }]), ([written]) => Effect.fromResult(written!))
      yield* backend.changed(scope, [path])
    }))
    return stored
  })

  const saveAll = Effect.fn("LockfileStore.saveAll")(function*(
    locks: ReadonlyArray<{ readonly frozen: Frozen; readonly scope: LockScope }>
  ) {
    const now = yield* DateTime.now
    const drafts = yield* Effect.forEach(locks, ({ frozen, scope }) => Effect.result(draft(frozen, scope, false, now)))
    const answers = drafts.map((one): Result.Result<StoredLock, LockWriteError> => Result.map(one, (d) => d.stored))
    for (const scope of scopes) {
      const ofScope = [...drafts.entries()].flatMap(([index, one]) =>
        Result.isSuccess(one) && one.success.stored.scope === scope ? [{ index, ...one.success }] : []
      )
      if (ofScope.length === 0) continue
      const writing = backend.exclusively(scope)(Effect.gen(function*() {
        const free: typeof ofScope = []
        for (const one of ofScope) {
          const owned = yield* Effect.result(requireOwnName(one.stored, now))
          if (Result.isSuccess(owned)) free.push(one)
          else answers[one.index] = Result.fail(owned.failure)
        }
        const written = yield* backend.writeAll(scope, free.map(({ path, text }) => ({ path, data: text })))
        for (const [at, { index }] of free.entries()) answers[index] = Result.andThen(written[at]!, answers[index]!)
        yield* backend.changed(scope, free.map(({ path }) => path))
      }))
      const done = yield* Effect.result(writing)
      if (Result.isFailure(done)) { for (const { index } of ofScope) answers[index] = Result.fail(done.failure) }
    }
    return answers
  })

  const entries = Effect.fnUntraced(function*(scope: LockScope, category: string | undefined) {
    if (category !== undefined && !isCategory(category)) return { locks: [], invalid: [] }
    const found = yield* backend.walk(scope, category === "" ? undefined : category)
    const index = yield* backend.index(scope)
    const locks: Array<LockEntry> = []
    const invalid: Array<LockInvalid> = []
    for (const one of found) {
      if (Result.isFailure(one)) invalid.push(one.failure)
      else locks.push({ ...one.success, lastValidated: heldSince(index, one.success) })
    }
    return { locks, invalid }
  })

  const list = Effect.fn("LockfileStore.list")(function*(filter: LockFilter = {}) {
    const found = yield* Effect.forEach(scopesOf(filter.scope), (scope) => entries(scope, filter.category))
    const named = (error: LockInvalid): boolean =>
      filter.toolId === undefined || error.tool === "" || error.tool === filter.toolId
    return {
      locks: found.flatMap(({ locks }) => locks).filter((lock) => passes(lock, filter)).toSorted(order),
      invalid: found.flatMap(({ invalid }) => invalid).filter(named).toSorted((a, b) => byText(a.lockfile, b.lockfile))
    }
  })

  const dependents = Effect.fn("LockfileStore.dependents")(function*(toolIds: ReadonlyArray<string>) {
    const wanted = new Set(toolIds)
    const { locks } = yield* list()
    return locks.filter(({ lockfile }) => lockfile.resolved_chain.slice(1).some((link) => wanted.has(link.tool_id)))
  })

  const remove = Effect.fn("LockfileStore.remove")(function*({ path, scope }: Pick<StoredLock, "scope" | "path">) {
    yield* requireScope(scope)
    if (parseLockPath(path) === undefined) {
      const detail = "it is not called as a lockfile is"
      return yield* new WriteRefused({ path: `lockfiles/${path}`, issue: "outside", detail })
    }
    yield* backend.exclusively(scope)(Effect.andThen(backend.remove(scope, path), backend.changed(scope, [path])))
  })

  /** Whether it is so old; what does not say how old it is stays. */
  const isStale = (lock: LockEntry, before: number): boolean => {
    const seen = later(lock.lockfile.generated_at, lock.lastValidated)
    return (instantOf(seen ?? "") ?? Infinity) < before
  }

  const pruneScope = Effect.fnUntraced(function*(scope: LockScope, input: PruneInput) {
    const now = yield* Clock.currentTimeMillis
    const before = now - input.olderThan
    if (input.dryRun !== true) yield* Effect.ignore(backend.sweep(scope))
    const { locks } = yield* entries(scope, input.category)
    const stale = locks.filter((lock) => isStale(lock, before)).toSorted(order)
    if (stale.length === 0 || input.dryRun === true) return stale
    return yield* backend.exclusively(scope)(Effect.gen(function*() {
      // Meanwhile somebody may have made one anew, or found that it holds.
      const index = yield* backend.index(scope)
      const still = stale.filter(({ path }) => {
        const found = backend.read(scope, path, now)
        return found !== undefined && Result.isSuccess(found) &&
          isStale({ ...found.success, lastValidated: heldSince(index, found.success) }, before)
      })
      yield* Effect.ensuring(
        Effect.forEach(still, ({ path }) => backend.remove(scope, path), { discard: true }),
        backend.changed(scope, still.map(({ path }) => path))
      )
      return still
    }))
  })

  const prune = Effect.fn("LockfileStore.prune")(function*(input: PruneInput) {
    if (input.scope !== undefined) yield* requireScope(input.scope)
    const removed = yield* Effect.forEach(scopesOf(input.scope), (scope) => pruneScope(scope, input))
    return removed.flat()
  })

  return {
    locksFor,
    save,
    saveAll,
    list,
    dependents,
    remove,
    prune,
    held: (lock) => scopes.includes(lock.scope) ? backend.held(lock) : Effect.void,
    rebuildIndex: Effect.forEach(scopes, (scope) => Effect.andThen(backend.sweep(scope), backend.rebuild(scope)), {
      discard: true
    }).pipe(
      Effect.withSpan("LockfileStore.rebuildIndex")
    )
  }
}
