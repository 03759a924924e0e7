// The chain of a call: which executors the tool runs on, and whether each parent runs such a child.
import { Effect } from "effect"
import type { ChainError, ResolveError } from "../../services/chain/ChainResolver.ts"
import { ChainResolver } from "../../services/chain/ChainResolver.ts"
import { codeOf } from "../../services/error/KiwiError.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../services/proxy/ToolProxy.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"
import * as AcceptChildren from "./acceptChildren.ts"

export const resolveChain = Effect.gen(function*() {
  const chains = yield* ChainResolver
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

  return ({ call, found }: Facts<"call" | "found">) =>
    Effect.matchEffect(chains.resolve({ id: call.item, tier: call.tier }, found), {
      onFailure: refuse,
      onSuccess: (resolved) => Effect.succeed({ resolved, chain: resolved.chain })
    })
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
