// Tools as they would run now, and the locks that count for them. A tool that would not run – unsigned, changed, of a
// project that nobody trusts – has no current state, so nothing is locked that would not run.
import { Effect, Option, Result } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import { ChainResolver, type ResolvedChain, type ResolveError } from "../../services/chain/ChainResolver.ts"
import { Dependencies } from "../../services/dependency/Dependencies.ts"
import { EnvResolver } from "../../services/env/EnvResolver.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import { freeze, type Frozen, withMachine } from "../../services/lockfile/Lockfile.ts"
import type { FreezeQuery, LockQueryError, LockState } from "../../services/lockfile/Lockfiles.ts"
import { LockfileStore, type LockScope } from "../../services/lockfile/LockfileStore.ts"
import { keyOf } from "../../services/lockfile/lockName.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { sha256 } from "../identity/sha256.ts"

/** The scope that a tool's lock belongs to: that of the tool itself. */
export const scopeOf = (chain: Chain): LockScope => chain.leaf.tool.location.tier === "project" ? "project" : "user"

/** Whether an error is about a file of the project. */
const isAboutProject = (error: ResolveError): boolean => {
  const paths = error._tag === "ItemAmbiguous"
    ? error.candidates
    : "failedAt" in error
    ? [error.failedAt.configPath]
    : "item" in error
    ? [error.item]
    : []
  return paths.some((path) => path.startsWith("project:"))
}

export const make = Effect.gen(function*() {
  const chains = yield* ChainResolver
  const dependencies = yield* Dependencies
  const environments = yield* EnvResolver
  const store = yield* LockfileStore
  const trust = yield* ProjectTrust
  const verifier = yield* Verifier

  const frozenChains = new WeakMap<Chain, Frozen>()

  /** What the chain alone tells, hashed once. */
  const freezeChain = (chain: Chain): Frozen => {
    const known = frozenChains.get(chain)
    if (known !== undefined) return known
    const frozen = freeze(chain, sha256)
    frozenChains.set(chain, frozen)
    return frozen
  }

  const isRestricted = Effect.map(trust.state, ({ _tag }) => _tag === "Restricted")

  /**
   * The locks that a chain is compared with, project first. Those of a restricted project do not count: none of its tools
   * runs, and they could only put words into messages about the tools of other tiers.
   */
  const locksFor = Effect.fnUntraced(function*(frozen: Frozen) {
    const withoutProject = yield* isRestricted
    const scopes = yield* store.locksFor(keyOf(frozen), frozen.chain_hash)
    return withoutProject ? scopes.filter(({ scope }) => scope !== "project") : scopes
  })

  const packagesOf = Effect.fnUntraced(function*(chain: Chain) {
    const frozen = freezeChain(chain)
    const first = (yield* locksFor(frozen)).find(({ invalid, locks }) => invalid.length > 0 || locks.length > 0)
    // Of several locks of a version, the one of this chain.
    const locks = first?.invalid.length === 0 ? first.locks : []
    const lock = locks.find(({ lockfile }) => lockfile.chain_hash === frozen.chain_hash) ?? locks[0]
    return lock?.lockfile.dependencies?.packages
  })

  /** The packages that are installed for a chain; undefined if it declares none, or they are not all there. */
  const installedFor = Effect.fnUntraced(function*(chain: Chain, interpreter: string | undefined) {
    const pins = yield* packagesOf(chain)
    return Option.getOrUndefined(yield* Effect.option(dependencies.installed({ chain, interpreter, pins })))
  })

  const stateOf = Effect.fnUntraced(function*(
    resolved: Result.Result<ResolvedChain, ResolveError>,
    installed: FreezeQuery["installed"]
  ) {
    const { chain } = yield* Effect.fromResult(resolved).pipe(
      // The error quotes a file, and a restricted project must not be quoted.
      Effect.tapError((error) => isAboutProject(error) ? trust.require : Effect.void)
    )
    if (chain.links.some(({ tool }) => tool.location.tier === "project")) yield* trust.require
    for (const { snapshot } of chain.links) yield* verifier.verify(snapshot)
    const answer = Option.getOrUndefined(yield* Effect.option(environments.interpreter(chain)))
    const interpreter = answer?._tag === "Found" ? answer.interpreter : undefined
    const packages = installed ?? (yield* installedFor(chain, interpreter?.path))
    return { chain, now: withMachine(freezeChain(chain), interpreter, packages) }
  })

  /** Uses the current state of each tool: one answer for each, in their order. An item is read once for all of them. */
  const forEachTool = Effect.fnUntraced(function*<Query extends FreezeQuery, A>(
    queries: ReadonlyArray<Query>,
    use: (state: Pick<LockState, "chain" | "now">, query: Query) => Effect.Effect<A, LockQueryError>
  ) {
    const resolved = yield* chains.resolveBatch(queries.map(({ id, tier }) => ({ id, tier })))
    return yield* Effect.forEach(queries, (query, index) =>
      Effect.result(
        Effect.flatMap(stateOf(resolved[index]!, query.installed), (state) => use(state, query))
      ))
  })

  return { freezeChain, isRestricted, locksFor, packagesOf, forEachTool }
})

export type CurrentTools = Effect.Success<typeof make>
