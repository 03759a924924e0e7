// The chain of a call: which executors the tool runs on, and whether each parent runs such a child.
import { Effect } from "effect"
import type { ChainError, ResolveError } from "../../services/chain/ChainResolver.ts"
import { ChainResolver } from "../../services/chain/ChainResolver.ts"
import { codeOf } from "../../services/error/KiwiError.ts"
import type { FoundItem, ItemStore } from "../../services/item/ItemStore.ts"
import { findListed } from "../../services/permission/profile/callerProfile.ts"
import type { Profiles } from "../../services/permission/profile/Profiles.ts"
import type { ToolCall } from "../../services/proxy/ToolCall.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../services/proxy/ToolProxy.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"
import * as AcceptChildren from "./acceptChildren.ts"

export const resolveChain = Effect.gen(function*() {
  const chains = yield* ChainResolver
  const services = yield* Effect.context<ItemStore | Profiles>()
  const trust = yield* ProjectTrust

  /** The details of an invalid file quote it, so they are left out in a restricted project. */
  const refused = <E extends ToolCallError>(error: E, place: string) =>
    Effect.andThen(place.startsWith("project:") ? trust.require : Effect.void, Effect.fail(error))

  const refusedChain = (reason: ChainError) =>
    refused(
      new ToolChainError({ chain: reason.chain, failedAt: reason.failedAt, reason }),
      reason.failedAt.configPath
    )

  const refuse = (error: ResolveError): Effect.Effect<never, ToolCallError> =>
    "failedAt" in error
      ? refusedChain(error)
      : error._tag === "ItemInvalid"
      ? refused(error, error.item)
      : Effect.fail(error)

  const resolve = ({ item: id, tier }: ToolCall, found: FoundItem | undefined) =>
    Effect.matchEffect(chains.resolve({ id, tier }, found), {
      onFailure: refuse,
      onSuccess: (resolved) => Effect.succeed({ resolved, chain: resolved.chain })
    })

  return ({ call, found }: Facts<"call" | "found">) =>
    call.caller.profile === undefined
      ? resolve(call, found)
      // Before anything of it is read: an error may quote the item.
      : Effect.flatMap(
        Effect.provide(findListed(call.caller, { id: call.item, tier: call.tier, type: "tool" }), services),
        (listed) => resolve(call, listed)
      )
})

export const acceptChildren = Effect.gen(function*() {
  const acceptance = yield* AcceptChildren.make

  return Effect.fnUntracedEager(function*(facts: Facts<"chain" | "lockMode" | "warnings">) {
    const { refused: refusal, silent } = yield* acceptance(facts.chain)
    if (refusal !== undefined) return yield* blame(facts.chain, refusal.reason, refusal.link)
    const first = silent[0]
    if (first === undefined) return
    if (facts.lockMode === "strict") return yield* blame(facts.chain, first)
    const told = silent.map((missing) => ({ code: codeOf(missing), message: missing.message }))
    return { warnings: [...facts.warnings, ...told] }
  })
})
