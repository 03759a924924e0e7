// What can be done with locks, over the resolved and verified chains of this kernel. Nothing is locked that would not
// run: unsigned, tampered or foreign links are refused before a lock is made of them.
import { Duration, Effect, Iterable, Layer, Option, Result } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import { ChainResolver, type ResolvedChain, type ResolveError } from "../../services/chain/ChainResolver.ts"
import { Dependencies } from "../../services/dependency/Dependencies.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import { EnvResolver } from "../../services/env/EnvResolver.ts"
import { isSameProgram } from "../../services/env/ResolvedInterpreter.ts"
import type { SignedItem } from "../../services/integrity/Signatures.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import { compareLock, type LockFinding, lockLosses, showFinding } from "../../services/lockfile/compareLock.ts"
import { freeze, type Frozen, type LockedDependencies } from "../../services/lockfile/Lockfile.ts"
import {
  type FreezePlan,
  type FreezeQuery,
  type LockCheck,
  Lockfiles,
  LockMismatch,
  LockMissing,
  type LockQuery,
  type LockQueryError,
  type LockState,
  type Outdated,
  type PrunePlan,
  type PruneQuery,
  type SignedLock,
  type SignedLocks
} from "../../services/lockfile/Lockfiles.ts"
import {
  LockfileStore,
  type LockFilter,
  LockInvalid,
  type LockScope,
  type LockWriteError,
  type ScopeLocks,
  type StoredLock
} from "../../services/lockfile/LockfileStore.ts"
import { type Quote, quoteAll } from "../../services/lockfile/lockQuote.ts"
import { queryOfLock, showLock } from "../../services/lockfile/lockReport.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { type HumanAct, type HumanRequest, requireAct } from "../../services/trust/HumanAct.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { sha256 } from "../identity/sha256.ts"

type Interpreter = Parameters<typeof freeze>[0]["interpreter"]

/** Whether the file that an error is about lies there. */
const isAbout = (tier: string, error: ResolveError): boolean =>
  error._tag === "ItemAmbiguous"
    ? error.candidates.some((place) => place.startsWith(tier))
    : "failedAt" in error
    ? error.failedAt.configPath.startsWith(tier)
    : "item" in error && error.item.startsWith(tier)

const isBuiltIn = (chain: Chain): boolean => chain.links.every((link) => link.tool.location.tier === "system")

/** Where a lock of this tool belongs: beside it. */
const scopeOf = (chain: Chain): LockScope => chain.leaf.tool.location.tier === "project" ? "project" : "user"

/** The path of the link that a finding is about; the leaf's where it is about none. */
const placeOf = (chain: Chain, finding: LockFinding | undefined): string =>
  showLocation((chain.links[finding?.link ?? 0] ?? chain.leaf).tool.location)

const mismatch = (chain: Chain, lock: StoredLock, findings: ReadonlyArray<LockFinding>): LockMismatch =>
  new LockMismatch({
    tool: chain.leaf.tool.location.id,
    lockfile: showLock(lock),
    configPath: placeOf(chain, findings[0]),
    findings: [...findings]
  })

/** What one scope's locks say of a chain; undefined where there are none. */
const checkScope = (chain: Chain, now: Frozen, { invalid, locks }: ScopeLocks): LockCheck | undefined => {
  if (invalid[0] !== undefined) return { _tag: "Problem", problem: invalid[0] }
  let nearest: { readonly lock: StoredLock; readonly findings: ReadonlyArray<LockFinding> } | undefined
  for (const lock of locks) {
    const findings = compareLock(lock.lockfile, now)
    if (findings.length === 0) return { _tag: "Locked", lock }
    if (nearest === undefined || findings.length < nearest.findings.length) nearest = { lock, findings }
  }
  if (nearest === undefined) return undefined
  return { _tag: "Problem", problem: mismatch(chain, nearest.lock, nearest.findings) }
}

const sameInterpreter = (a: Interpreter, b: Interpreter): boolean =>
  a === b || (a?.kind === b?.kind && a?.version === b?.version && a?.variable === b?.variable &&
    isSameProgram(a?.program, b?.program))

const asLocked = (installed: InstalledSet | undefined): LockedDependencies | null =>
  installed === undefined ? null : { ecosystem: installed.ecosystem, packages: installed.packages }

/** What a machine without the interpreter or the packages cannot tell stays as it was locked. */
const keeping = (locked: Frozen, now: Frozen): Frozen => ({
  ...now,
  runtime: { ...now.runtime, interpreter: now.runtime.interpreter ?? locked.runtime.interpreter },
  dependencies: now.dependencies ?? locked.dependencies
})

interface Remembered {
  readonly interpreter: Interpreter
  readonly installed: LockedDependencies | null
  readonly now: Frozen
}

export const make = Effect.gen(function*() {
  const chains = yield* ChainResolver
  const dependencies = yield* Dependencies
  const environments = yield* EnvResolver
  const settings = yield* Settings
  const store = yield* LockfileStore
  const trust = yield* ProjectTrust
  const verifier = yield* Verifier

  const remembered = new WeakMap<Chain, Remembered>()
  const frozenOf = (chain: Chain, interpreter: Interpreter, installed: LockedDependencies | null): Frozen => {
    const known = remembered.get(chain)
    const isKnown = known?.installed?.packages === installed?.packages &&
      sameInterpreter(known?.interpreter, interpreter)
    if (known !== undefined && isKnown) return known.now
    const now = freeze({ chain, interpreter, dependencies: installed }, sha256)
    remembered.set(chain, { interpreter, installed, now })
    return now
  }

  const isRestricted = Effect.map(trust.state, ({ _tag }) => _tag === "Restricted")

  /** Nothing of a restricted project runs, so its locks have no say: over another tier's tools they would only talk. */
  const locksFor = Effect.fnUntraced(function*({ chain_hash: hash, root }: Pick<Frozen, "root" | "chain_hash">) {
    const { category, tool_id: toolId, version } = root
    const withoutProject = yield* isRestricted
    const scopes = yield* store.locksFor({ toolId, version, category }, hash)
    return withoutProject ? scopes.filter(({ scope }) => scope !== "project") : scopes
  })

  /** Of a restricted project every lock is named, and nothing that it says. */
  const list = Effect.fn("Lockfiles.list")(function*(filter?: LockFilter) {
    const found = yield* store.list(filter)
    if (!(yield* isRestricted)) return found
    const { locks } = found
    const unread = locks.filter(({ scope }) => scope === "project").map((lock) =>
      new LockInvalid({
        lockfile: showLock(lock),
        issue: "it is a file of a project that nobody trusts, and is not read",
        tool: lock.lockfile.root.tool_id,
        remedy: "kiwi trust project"
      })
    )
    return { locks: locks.filter(({ scope }) => scope !== "project"), invalid: [...found.invalid, ...unread] }
  })

  const hold = Effect.fnUntraced(function*(chain: Chain, now: Frozen): Effect.fn.Return<LockCheck> {
    if (isBuiltIn(chain)) return { _tag: "Built-in" }
    const { tool_id: toolId, version } = now.root
    for (const scope of yield* locksFor(now)) {
      const found = checkScope(chain, now, scope)
      if (found !== undefined) return found
    }
    return { _tag: "Problem", problem: new LockMissing({ tool: toolId, version }) }
  })

  const check = Effect.fnUntraced(function*(
    chain: Chain,
    env: { readonly interpreter: Interpreter } | undefined,
    installed: InstalledSet | undefined
  ) {
    const found = yield* hold(chain, frozenOf(chain, env?.interpreter, asLocked(installed)))
    if (found._tag === "Locked") yield* store.held(found.lock)
    return found
  })

  const packagesOf = Effect.fnUntraced(function*(chain: Chain) {
    const now = frozenOf(chain, undefined, null)
    const { chain_hash: hash } = now
    const first = (yield* locksFor(now)).find(({ invalid, locks }) => invalid.length > 0 || locks.length > 0)
    // Of several locks of a version, the one that is named after this chain.
    const locks = first?.invalid.length === 0 ? first.locks : []
    const lock = locks.find(({ lockfile }) => lockfile.chain_hash === hash) ?? locks[0]
    return lock?.lockfile.dependencies?.packages
  })

  /** What is installed for a chain, as far as it is. */
  const installedFor = Effect.fnUntraced(function*(chain: Chain, interpreter: string | undefined) {
    const installed = yield* Effect.option(
      dependencies.installed({ chain, interpreter, pins: yield* packagesOf(chain) })
    )
    return asLocked(Option.getOrUndefined(installed))
  })

  /** The chain as it would run: of a trusted project, every link verified. */
  const prove = Effect.fnUntraced(function*(
    resolving: Effect.Effect<ResolvedChain, ResolveError>,
    packages?: InstalledSet
  ) {
    const { chain } = yield* resolving.pipe(
      // What is wrong with a file quotes it, and nobody listens to a restricted project.
      Effect.tapError((error) => isAbout("project:", error) ? trust.require : Effect.void)
    )
    if (chain.links.some((link) => link.tool.location.tier === "project")) yield* trust.require
    for (const link of chain.links) yield* verifier.verify(link.snapshot)
    const answer = yield* Effect.option(environments.interpreter(chain))
    const interpreter = Option.isSome(answer) && answer.value._tag === "Found" ? answer.value.interpreter : undefined
    const installed = packages === undefined ? yield* installedFor(chain, interpreter?.path) : asLocked(packages)
    return { chain, now: frozenOf(chain, interpreter, installed) }
  })

  /** One use for each of many tools, whose folders are looked at once. */
  const forEachTool = Effect.fnUntraced(function*<Q extends LockQuery, A>(
    queries: ReadonlyArray<Q>,
    use: (query: Q, resolving: Effect.Effect<ResolvedChain, ResolveError>) => Effect.Effect<A, LockQueryError>
  ) {
    const resolved = yield* chains.resolveBatch(queries.map(({ id, tier }) => ({ id, tier })))
    return yield* Effect.forEach(
      Iterable.zip(queries, resolved),
      ([query, chain]) => Effect.result(use(query, Effect.fromResult(chain)))
    )
  })

  const validate = Effect.fn("Lockfiles.validate")(function*(
    query: LockQuery,
    resolving: Effect.Effect<ResolvedChain, ResolveError> = chains.resolve({ id: query.id, tier: query.tier })
  ) {
    const { chain, now } = yield* prove(resolving)
    const found = yield* hold(chain, now)
    if (found._tag === "Locked") yield* store.held(found.lock)
    return { chain, now, check: found } satisfies LockState as LockState
  })

  /** What a save would replace, and what a person has to be asked before it does. */
  const replacement = Effect.fnUntraced(function*(frozen: Frozen, scope: LockScope, variant: boolean) {
    const { tool_id: toolId, version } = frozen.root
    const scopes = yield* locksFor(frozen)
    const at = scopes.find((s) => s.scope === scope)
    const locks = at?.locks ?? []
    const lock = locks.find((found) => found.variant === variant)
    const others = scopes.filter((s) => s.scope !== scope)
    const invalid = [...at?.invalid ?? [], ...others.flatMap((s) => s.invalid)][0]
    // What a variant would let run besides is as new as what a lock in the place of another lets run, and so is what a
    // lock of one scope would let run before the other's is asked.
    const against = lock ?? locks[0] ?? others.flatMap((s) => s.locks)[0]
    const findingsWith = (quote?: Quote) =>
      against === undefined
        ? []
        : [...compareLock(against.lockfile, frozen, quote), ...lockLosses(against.lockfile, frozen, quote)]
    const findings = findingsWith()
    // Where locks are strict, the first one is what lets a tool run.
    const isFirstOfStrict = against === undefined && (yield* settings.current).lockfileMode === "strict"
    // What says the same as the lock beside it today still lets it run when that one is replaced.
    const isKept = variant && lock === undefined && locks.length > 0
    const asksNobody = findings.length === 0 && invalid === undefined && !isFirstOfStrict && !isKept
    const request: HumanRequest | undefined = asksNobody
      ? undefined
      : {
        kind: "loosen-lock",
        title: `Lock ${toolId} ${version} as it is now`,
        details: [
          ...frozen.resolved_chain.map((l) =>
            `${l.tool_id} ${l.version} ${l.integrity.slice(0, 12)} ${l.tier}:tools/${l.path}`
          ),
          ...(invalid === undefined
            ? []
            : [`counts in the place of ${invalid.lockfile}, which cannot be used: ${invalid.issue}`]),
          ...findingsWith(quoteAll).map((finding) => `changes ${showFinding(finding)}`),
          ...(isKept ? ["stays beside the lock of the version, whatever that says later"] : [])
        ].join("\n"),
        digest: sha256(JSON.stringify(["lock", scope, variant, frozen, against?.lockfile ?? null])),
        command: `kiwi lockfile freeze ${toolId}`
      }
    return { findings, request }
  })

  const planFreeze = Effect.fn("Lockfiles.planFreeze")(function*(
    query: FreezeQuery,
    resolving: Effect.Effect<ResolvedChain, ResolveError> = chains.resolve({ id: query.id, tier: query.tier })
  ) {
    const { chain, now } = yield* prove(resolving, query.installed)
    const scope = query.scope ?? scopeOf(chain)
    const variant = query.variant ?? false
    const { findings, request } = yield* replacement(now, scope, variant)
    return {
      frozen: now,
      scope,
      variant,
      replaces: findings.length === 0 ? undefined : findings,
      request
    } satisfies FreezePlan as FreezePlan
  })

  const save = Effect.fn("Lockfiles.freeze")(function*(
    { frozen, scope, variant }: FreezePlan,
    act: HumanAct | undefined
  ) {
    // Asked again, and last: what is replaced is what the person has seen.
    const provided = Effect.flatMap(replacement(frozen, scope, variant), ({ request }) => requireAct(request, act))
    return yield* store.save(frozen, { scope, variant, provided })
  })

  /** Whether a lock differs from what is there by the signed items alone, and by what follows from them. */
  const isExplained = (findings: ReadonlyArray<LockFinding>, now: Frozen, signed: ReadonlySet<string>): boolean =>
    findings.some((finding) => finding.link !== undefined) && findings.every(({ field, link }) => {
      if (link === undefined) return field === "commands" || field === "variables"
      const at = now.resolved_chain[link]
      return (field === "version" || field === "integrity") && at !== undefined &&
        signed.has(`${at.tier}:tools/${at.path}`)
    })

  const refreezeDependents = Effect.fnUntraced(function*(signed: ReadonlyArray<SignedItem>) {
    const places = new Set(signed.map(({ location }) => showLocation(location)))
    const done: Array<StoredLock> = []
    const withoutProject = yield* isRestricted
    const locks = (yield* store.dependents(signed.map(({ location }) => location.id))).filter(({ scope }) =>
      !withoutProject || scope !== "project"
    )
    const resolved = yield* chains.resolveBatch(locks.map(queryOfLock))
    for (const [index, lock] of locks.entries()) {
      const proven = yield* Effect.option(prove(Effect.fromResult(resolved[index]!)))
      if (Option.isNone(proven)) continue
      const now = keeping(lock.lockfile, proven.value.now)
      // A lock of an earlier version is history.
      if (now.root.version !== lock.lockfile.root.version) continue
      if (!isExplained(compareLock(lock.lockfile, now), now, places)) continue
      const saved = yield* store.save(now, { scope: lock.scope, variant: lock.variant })
      if (saved.path !== lock.path) yield* store.remove(lock)
      done.push(saved)
    }
    return done
  })

  /** What has to be written for a signed tool, unless its lock says so already. */
  const planLock = Effect.fnUntraced(function*(
    resolving: Effect.Effect<ResolvedChain, ResolveError>,
    signed: ReadonlySet<string>
  ) {
    const { chain, now } = yield* prove(resolving)
    const scope = scopeOf(chain)
    const at = (yield* locksFor(now)).find((s) => s.scope === scope)
    const same = at?.locks.find((lock) => compareLock(lock.lockfile, now).length === 0)
    if (same !== undefined && at?.invalid.length === 0) return { _tag: "Unchanged", lock: same } as const
    const before = at?.locks.find((lock) => !lock.variant)
    const besides = before === undefined
      ? []
      : [...compareLock(before.lockfile, now), ...lockLosses(before.lockfile, now)].filter(({ link }) => {
        const place = link === undefined ? undefined : now.resolved_chain[link]
        return place === undefined || !signed.has(`${place.tier}:tools/${place.path}`)
      })
    return { _tag: "Write", frozen: now, scope, besides } as const
  })

  const lockSigned = Effect.fn("Lockfiles.lockSigned")(function*(signed: ReadonlyArray<SignedItem>, act: HumanAct) {
    const items = act.kind === "sign" ? signed.filter(({ location }) => location.type === "tool") : []
    const places = items.map(({ location }) => showLocation(location))
    const asSigned = new Set(places)
    const resolved = yield* chains.resolveBatch(items.map(({ location }) => ({
      id: qualifiedId(location),
      tier: location.tier
    })))
    const plans = yield* Effect.forEach(
      resolved,
      (chain) => Effect.result(planLock(Effect.fromResult(chain), asSigned))
    )
    const writes = plans.flatMap((plan) =>
      Result.isSuccess(plan) && plan.success._tag === "Write" ? [plan.success] : []
    )
    const written = new Map(Iterable.zip(writes, yield* store.saveAll(writes)))
    const failed = (error: LockQueryError | LockWriteError): SignedLock => ({ _tag: "Failed", error })
    const lockOf = (plan: Effect.Success<ReturnType<typeof planLock>>): SignedLock => {
      if (plan._tag === "Unchanged") return plan
      const lock = written.get(plan)!
      return Result.isFailure(lock)
        ? failed(lock.failure)
        : { _tag: "Locked", lock: lock.success, besides: plan.besides }
    }
    const locked = plans.map((plan) => Result.isFailure(plan) ? failed(plan.failure) : lockOf(plan.success))
    const tools = new Map(Iterable.zip(places, locked))
    const dependents = yield* refreezeDependents(items).pipe(Effect.orElseSucceed(() => []))
    return { tools, dependents } satisfies SignedLocks as SignedLocks
  })

  const planPrune = Effect.fn("Lockfiles.planPrune")(function*(query: PruneQuery) {
    const keep = Duration.toMillis((yield* settings.current).lockfileKeep)
    const input = { scope: query.scope, category: query.category, olderThan: query.olderThan ?? keep }
    const stale = yield* store.prune({ ...input, dryRun: true })
    const asks = input.olderThan < keep && stale.length > 0
    return {
      input,
      stale,
      request: asks
        ? {
          kind: "loosen-lock",
          title: `Remove ${stale.length} lockfile${
            stale.length === 1 ? "" : "s"
          } before the time that lockfile.keep gives`,
          details: stale.map(showLock).join("\n"),
          digest: sha256(JSON.stringify(["prune", input, stale.map(showLock)])),
          command: "kiwi lockfile prune --older-than DAYS"
        }
        : undefined
    } satisfies PrunePlan as PrunePlan
  })

  const prune = Effect.fn("Lockfiles.prune")(function*({ input }: PrunePlan, act: HumanAct | undefined) {
    const { request } = yield* planPrune(input)
    yield* requireAct(request, act)
    return yield* store.prune(input)
  })

  const outdated = Effect.fn("Lockfiles.outdated")(function*(filter?: LockFilter) {
    const { locks } = yield* list(filter)
    const found: Array<Outdated> = []
    const resolved = yield* forEachTool(locks.map(queryOfLock), (_, resolving) => prove(resolving))
    for (const [lock, result] of Iterable.zip(locks, resolved)) {
      if (Result.isFailure(result)) {
        found.push({ lock, findings: [], error: result.failure })
        continue
      }
      const { now } = result.success
      // A lock of an earlier version is history, and says nothing about what is there now.
      if (now.root.version !== lock.lockfile.root.version) continue
      const findings = compareLock(lock.lockfile, now)
      if (findings.length > 0) found.push({ lock, findings, error: undefined })
    }
    return found
  })

  return Lockfiles.of({
    check,
    packagesOf,
    validate: (query) => validate(query),
    validateAll: (queries) => forEachTool(queries, validate),
    planFreeze: (query) => planFreeze(query),
    planFreezeAll: (queries) => forEachTool(queries, planFreeze),
    freeze: save,
    lockSigned,
    list,
    planPrune,
    prune,
    outdated
  })
})

export const layer = Layer.effect(Lockfiles, make)
