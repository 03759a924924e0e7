// Which tool it is, whether it is what somebody who counts has signed, and whether this caller may run it.
import { Effect, Result } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import type { ChainError } from "../../services/chain/ChainResolver.ts"
import { ChainResolver } from "../../services/chain/ChainResolver.ts"
import { codeOf } from "../../services/error/KiwiError.ts"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { callerChoice } from "../../services/primitive/callerChoice.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { HidesItem, SandboxUnavailable, ToolChainError } from "../../services/proxy/ToolProxy.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import * as AcceptChildren from "../chain/acceptChildren.ts"
import { blame } from "./blame.ts"
import { chainOf, isRecord, isStrict } from "./Run.ts"
import type { Run } from "./Run.ts"

export const make = Effect.gen(function*() {
  const acceptance = yield* AcceptChildren.make
  const chains = yield* ChainResolver
  const gate = yield* PermissionGate
  const history = yield* ItemHistory
  const trust = yield* ProjectTrust
  const verifier = yield* Verifier

  /** What is wrong with a file quotes it, and nobody listens to a restricted project. */
  const refused = <E extends ToolCallError>(error: E, place: string) =>
    Effect.andThen(place.startsWith("project:") ? trust.require : Effect.void, Effect.fail(error))

  const refusedChain = (reason: ChainError) =>
    refused(
      new ToolChainError({ chain: reason.chain, failedAt: reason.failedAt, reason }),
      reason.failedAt.configPath
    )

  const resolveChain = Effect.fnUntraced(function*(run: Run) {
    run.resolved = yield* chains.resolve({ id: run.call.item, tier: run.call.tier }).pipe(
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
  })

  const requireTrustedProject = (run: Run) =>
    chainOf(run).links.some((link) => link.tool.location.tier === "project") ? trust.require : Effect.void

  const verifyLinks = Effect.fnUntraced(function*(run: Run) {
    const verified: Array<Verified> = []
    const { links } = chainOf(run)
    for (const [index, result] of (yield* verifier.verifyAll(links.map((l) => l.snapshot))).entries()) {
      if (Result.isFailure(result)) return yield* blame(chainOf(run), result.failure, links[index])
      verified.push(result.success)
    }
    run.verified = verified
  })

  const refuseGoingBack = Effect.fnUntraced(function*(run: Run) {
    for (const link of chainOf(run).links) {
      if (link.tool.location.tier === "system") continue
      yield* Effect.mapError(
        history.checkForward(link.tool.location, link.tool.version, link.tool.digest),
        (reason) => blame(chainOf(run), reason, link)
      )
    }
  })

  const refuseHiding = Effect.fnUntraced(function*(run: Run) {
    const hidden = run.resolved?.hides.filter((location) => location.tier === "user") ?? []
    if (hidden.length === 0) return
    const { digest, location } = chainOf(run).leaf.tool
    if (yield* history.acceptedHiding(location, digest)) return
    return yield* blame(
      chainOf(run),
      new HidesItem({
        item: showLocation(location),
        hidden: hidden.map(showLocation),
        command: `kiwi sign tool ${location.id}`
      })
    )
  })

  const acceptChildren = Effect.fnUntraced(function*(run: Run) {
    const { refused: refusal, silent } = yield* acceptance(chainOf(run))
    if (refusal !== undefined) return yield* blame(chainOf(run), refusal.reason, refusal.link)
    const first = silent[0]
    if (first === undefined) return
    if (isStrict(run)) return yield* blame(chainOf(run), first)
    run.warnings = [...run.warnings, ...silent.map((missing) => ({ code: codeOf(missing), message: missing.message }))]
  })

  const permit = Effect.fnUntraced(function*(run: Run) {
    run.rule = (yield* gate.run(run.call.caller, chainOf(run), run.verified)).rule
  })

  const choices = new WeakMap<Chain, { readonly field: string | undefined }>()
  const choiceIn = (chain: Chain) => {
    const known = choices.get(chain)
    if (known !== undefined) return known.field
    const properties = chain.leaf.tool.parameters["properties"]
    const hasParameters = isRecord(properties) && Object.keys(properties).length > 0
    const field = callerChoice(chain.primitive.tool.location.id, chain.config, hasParameters)
    choices.set(chain, { field })
    return field
  }

  /** What a caller chooses would need a sandbox, and there is none yet. */
  const isolate = Effect.fnUntraced(function*(run: Run) {
    const chain = chainOf(run)
    const field = choiceIn(chain)
    if (field !== undefined) {
      return yield* blame(chain, new SandboxUnavailable({ tool: chain.leaf.tool.location.id, field }))
    }
    run.isolation = run.verified.every((v) => v.by._tag === "System") ? "trusted" : "standard"
  })

  return {
    resolveChain,
    requireTrustedProject,
    verifyLinks,
    refuseGoingBack,
    refuseHiding,
    permit,
    acceptChildren,
    isolate
  }
})
