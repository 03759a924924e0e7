// Locks over the chains, signatures and settings of this kernel: checking a tool against its locks, locking it, and
// removing old locks. A lock that lets something else run than before needs a person's consent.
import { Duration, Effect, Layer } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import { checkChain } from "../../services/lockfile/checkChain.ts"
import { compareReplaced, showFinding } from "../../services/lockfile/compareLock.ts"
import { type Frozen, showLink, withMachine } from "../../services/lockfile/Lockfile.ts"
import {
  type FreezePlan,
  type FreezeQuery,
  type LockCheck,
  Lockfiles,
  LockMissing,
  type LockQuery,
  type PrunePlan,
  type PruneQuery
} from "../../services/lockfile/Lockfiles.ts"
import { LockfileStore, type LockFilter, LockInvalid, type LockScope } from "../../services/lockfile/LockfileStore.ts"
import { showLock } from "../../services/lockfile/lockName.ts"
import { quoteAll } from "../../services/lockfile/lockQuote.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { type HumanRequest, requireAct } from "../../services/trust/HumanAct.ts"
import { sha256 } from "../identity/sha256.ts"
import * as CurrentTools from "./currentTools.ts"
import { scopeOf } from "./currentTools.ts"
import * as LockSigned from "./lockSigned.ts"

const isBuiltIn = (chain: Chain): boolean => chain.links.every(({ tool }) => tool.location.tier === "system")

export const make = Effect.gen(function*() {
  const settings = yield* Settings
  const store = yield* LockfileStore
  const tools = yield* CurrentTools.make
  const { forEachTool, freezeChain, isRestricted, locksFor, packagesOf } = tools

  /** The first scope that has locks decides. */
  const check = Effect.fnUntracedEager(function*(chain: Chain, now: Frozen): Effect.fn.Return<LockCheck> {
    if (isBuiltIn(chain)) return { _tag: "Built-in" }
    for (const { invalid, locks } of yield* locksFor(now)) {
      const found = invalid[0] ?? checkChain(chain, now, locks)
      if (found === undefined) continue
      return "_tag" in found ? { _tag: "Problem", problem: found } : { _tag: "Locked", lock: found }
    }
    return { _tag: "Problem", problem: new LockMissing({ tool: now.root.tool_id, version: now.root.version }) }
  })

  const validateAll = Effect.fn("Lockfiles.validate")(function*(queries: ReadonlyArray<LockQuery>) {
    return yield* forEachTool(
      queries,
      Effect.fnUntraced(function*({ chain, now }) {
        const found = yield* check(chain, now)
        if (found._tag === "Locked") yield* store.markValidated(found.lock)
        return { chain, now, check: found }
      })
    )
  })

  /** The locks of a restricted project are named, but nothing that they say is told. */
  const list = Effect.fn("Lockfiles.list")(function*(filter?: LockFilter) {
    const found = yield* store.list(filter)
    if (!(yield* isRestricted)) return found
    const unread = found.locks.filter(({ scope }) => scope === "project").map((lock) =>
      new LockInvalid({
        lockfile: showLock(lock),
        issue: "it is a file of a project that nobody trusts, and is not read",
        tool: lock.lockfile.root.tool_id,
        remedy: "kiwi trust project"
      })
    )
    return {
      locks: found.locks.filter(({ scope }) => scope !== "project"),
      invalid: [...found.invalid, ...unread]
    }
  })

  /** What saving a lock would replace, and the consent that it needs. */
  const planLock = Effect.fnUntraced(function*(frozen: Frozen, scope: LockScope, variant: boolean) {
    const { tool_id: toolId, version } = frozen.root
    const scopes = yield* locksFor(frozen)
    const own = scopes.filter((found) => found.scope === scope)
    const others = scopes.filter((found) => found.scope !== scope)
    const locks = own.flatMap((found) => found.locks)
    const before = locks.find((lock) => lock.variant === variant)
    const invalid = [...own, ...others].flatMap((found) => found.invalid)[0]
    // A variant lets a second chain run, and a lock in one scope can count before the other scope's: both are compared
    // with the lock that counts today, as a lock that replaces it is.
    const against = before ?? locks[0] ?? others.flatMap((found) => found.locks)[0]
    const findings = against === undefined ? [] : compareReplaced(against.lockfile, frozen)
    // Where locks are strict, the first one is what lets a tool run.
    const isFirstOfStrict = against === undefined && (yield* settings.current).lockfileMode === "strict"
    // A new variant still lets this chain run after the lock of the version is replaced.
    const isKept = variant && before === undefined && locks.length > 0
    const plan = { frozen, scope, variant, before, replaces: findings.length === 0 ? undefined : findings }
    if (findings.length === 0 && invalid === undefined && !isFirstOfStrict && !isKept) {
      return { ...plan, request: undefined }
    }
    const request: HumanRequest = {
      kind: "loosen-lock",
      title: `Lock ${toolId} ${version} as it is now`,
      details: [
        ...frozen.resolved_chain.map((link) =>
          `${link.tool_id} ${link.version} ${link.integrity.slice(0, 12)} ${showLink(link)}`
        ),
        ...(invalid === undefined
          ? []
          : [`counts in the place of ${invalid.lockfile}, which cannot be used: ${invalid.issue}`]),
        ...(against === undefined
          ? []
          : compareReplaced(against.lockfile, frozen, quoteAll).map((finding) => `changes ${showFinding(finding)}`)),
        ...(isKept ? ["stays beside the lock of the version, whatever that says later"] : [])
      ].join("\n"),
      digest: sha256(JSON.stringify(["lock", scope, variant, frozen, against?.lockfile ?? null])),
      command: `kiwi lockfile freeze ${toolId}`
    }
    return { ...plan, request }
  })

  const planFreezeAll = Effect.fn("Lockfiles.planFreeze")(function*(queries: ReadonlyArray<FreezeQuery>) {
    return yield* forEachTool(
      queries,
      ({ chain, now }, { scope = scopeOf(chain), variant = false }): Effect.Effect<FreezePlan> =>
        planLock(now, scope, variant)
    )
  })

  const lockfileKeep = Effect.map(settings.current, ({ lockfileKeep: keep }) => Duration.toMillis(keep))

  /** The consent that removing these locks needs. */
  const pruneRequest = Effect.fnUntraced(function*({ input, stale }: Pick<PrunePlan, "input" | "stale">) {
    if (input.olderThan >= (yield* lockfileKeep) || stale.length === 0) return undefined
    const request: HumanRequest = {
      kind: "loosen-lock",
      title: `Remove ${stale.length} lockfile${stale.length === 1 ? "" : "s"} before the time that lockfile.keep gives`,
      details: stale.map(showLock).join("\n"),
      digest: sha256(JSON.stringify(["prune", input, stale.map(showLock)])),
      command: "kiwi lockfile prune --older-than DAYS"
    }
    return request
  })

  const planPrune = Effect.fn("Lockfiles.planPrune")(function*({ category, olderThan, scope }: PruneQuery) {
    const input = { scope, category, olderThan: olderThan ?? (yield* lockfileKeep) }
    const stale = yield* store.prune({ ...input, dryRun: true })
    return { input, stale, request: yield* pruneRequest({ input, stale }) }
  })

  return Lockfiles.of({
    check: (chain, env, installed) => check(chain, withMachine(freezeChain(chain), env?.interpreter, installed)),
    markValidated: store.markValidated,
    packagesOf,
    validate: (query) => Effect.flatMap(validateAll([query]), ([state]) => Effect.fromResult(state!)),
    validateAll,
    planFreeze: (query) => Effect.flatMap(planFreezeAll([query]), ([plan]) => Effect.fromResult(plan!)),
    planFreezeAll,
    freeze: Effect.fn("Lockfiles.freeze")(function*({ frozen, scope, variant }, act) {
      // Planned again under the store's lock: what is replaced has to be what the person has seen.
      const provided = Effect.flatMap(planLock(frozen, scope, variant), ({ request }) => requireAct(request, act))
      return yield* store.save(frozen, { scope, variant, provided })
    }),
    lockSigned: LockSigned.make(store, list, tools),
    list,
    planPrune,
    prune: Effect.fn("Lockfiles.prune")(function*({ input, stale }, act) {
      yield* requireAct(yield* pruneRequest({ input, stale }), act)
      return yield* store.prune({ ...input, only: stale })
    })
  })
})

export const layer = Layer.effect(Lockfiles, make)
