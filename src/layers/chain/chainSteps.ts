// The chain of a call: which executors the tool runs on, and whether each parent runs such a child.
import { Effect } from "effect"
import type { ChainError } from "../../services/chain/ChainResolver.ts"
import { ChainResolver } from "../../services/chain/ChainResolver.ts"
import { codeOf } from "../../services/error/KiwiError.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../services/proxy/ToolProxy.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"
import { makeFindListed } from "../permission/profile/callerProfile.ts"
import * as AcceptChildren from "./acceptChildren.ts"

export const resolveChain = Effect.gen(function*() {
  const chains = yield* ChainResolver
  const findListed = yield* makeFindListed
  const trust = yield* ProjectTrust

  /** The details of an invalid file quote it, so they are left out in a restricted project. */
  const refused = <E extends ToolCallError>(error: E, place: string) =>
    Effect.andThen(place.startsWith("project:") ? trust.require : Effect.void, Effect.fail(error))

  const refusedChain = (reason: ChainError) =>
    refused(
      new ToolChainError({ chain: reason.chain, failedAt: reason.failedAt, reason }),
      reason.failedAt.configPath
    )

  return Effect.fnUntraced(function*({ call, found }: Facts<"call" | "found">) {
    const { caller, item: id, tier } = call
    // Before anything of it is read: an error may quote the item.
    const listed = caller.profile === undefined ? found : yield* findListed(caller, { id, tier, type: "tool" })
    const resolved = yield* chains.resolve({ id, tier }, listed).pipe(
      Effect.catchTags({
        ChainCycle: refusedChain,
        ChainTooDeep: refusedChain,
        ChainLinkMissing: refusedChain,
        ChainMalformed: refusedChain,
        ChainVersionMismatch: refusedChain,
        ChainLinkBroken: refusedChain,
        ItemInvalid: (error) => refused(error, error.item)
      })
    )
    return { resolved, chain: resolved.chain }
  })
})

export const acceptChildren = Effect.gen(function*() {
  const acceptance = yield* AcceptChildren.make

  return Effect.fnUntraced(function*(facts: Facts<"chain" | "lockMode" | "warnings">) {
    const { refused: refusal, silent } = yield* acceptance(facts.chain)
    if (refusal !== undefined) return yield* blame(facts.chain, refusal.reason, refusal.link)
    const first = silent[0]
    if (first === undefined) return
    if (facts.lockMode === "strict") return yield* blame(facts.chain, first)
    const told = silent.map((missing) => ({ code: codeOf(missing), message: missing.message }))
    return { warnings: [...facts.warnings, ...told] }
  })
})
