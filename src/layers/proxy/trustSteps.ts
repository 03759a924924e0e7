// Which tool it is, whether it is what somebody who counts has signed, and whether this caller may run it.
import { Effect, Result } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import type { ChainError } from "../../services/chain/ChainResolver.ts"
import { ChainResolver } from "../../services/chain/ChainResolver.ts"
import { codeOf } from "../../services/error/KiwiError.ts"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import { isSignable, showLocation } from "../../services/item/Item.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { callerChoice } from "../../services/primitive/callerChoice.ts"
import { ChildProcesses } from "../../services/process/ChildProcesses.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { HidesItem, ToolChainError } from "../../services/proxy/ToolProxy.ts"
import { type Isolation, SandboxUnavailable } from "../../services/sandbox/Isolation.ts"
import { isJsonObject } from "../../services/schema/json.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import * as AcceptChildren from "../chain/acceptChildren.ts"
import { blame } from "./blame.ts"
import type { Facts } from "./Step.ts"

export const make = Effect.gen(function*() {
  const acceptance = yield* AcceptChildren.make
  const chains = yield* ChainResolver
  const children = yield* ChildProcesses
  const gate = yield* PermissionGate
  const history = yield* ItemHistory
  const store = yield* ItemStore
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

  const resolveChain = Effect.fnUntraced(function*({ call, found }: Facts<"call" | "found">) {
    const resolved = yield* chains.resolve({ id: call.item, tier: call.tier }, found).pipe(
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

  const requireTrustedProject = ({ chain }: Facts<"chain">) =>
    chain.links.some((link) => link.tool.location.tier === "project") ? trust.require : Effect.void

  const verifyLinks = Effect.fnUntraced(function*(facts: Facts<"chain">) {
    const verified: Array<Verified> = []
    const { links } = facts.chain
    for (const [index, result] of (yield* verifier.verifyAll(links.map((l) => l.snapshot))).entries()) {
      if (Result.isFailure(result)) return yield* blame(facts.chain, result.failure, links[index])
      verified.push(result.success)
    }
    return { verified }
  })

  const refuseGoingBack = Effect.fnUntraced(function*(facts: Facts<"chain">) {
    for (const link of facts.chain.links) {
      if (!isSignable(link.tool.location)) continue
      yield* Effect.mapError(
        history.checkForward(link.tool.location, link.tool.version, link.tool.digest),
        (reason) => blame(facts.chain, reason, link)
      )
    }
  })

  /** Nobody misses what nobody has approved: a server that the user has connected must not stop the project's tools. */
  const isUsable = (location: ItemLocation) =>
    location.source === undefined
      ? Effect.succeed(true)
      : Effect.isSuccess(Effect.flatMap(store.read(location), verifier.verify))

  const refuseHiding = Effect.fnUntraced(function*(facts: Facts<"chain" | "resolved">) {
    const ofUser = facts.resolved.hides.filter((location) => location.tier === "user")
    if (ofUser.length === 0) return
    const hidden = yield* Effect.filter(ofUser, isUsable)
    if (hidden.length === 0) return
    const { leaf } = facts.chain
    const { digest, location } = leaf.tool
    if (yield* history.acceptedHiding(location, digest)) return
    return yield* blame(
      facts.chain,
      new HidesItem({
        item: showLocation(location),
        hidden: hidden.map(showLocation),
        ...(isSignable(location) ? { command: `kiwi sign tool ${location.id}` } : {})
      })
    )
  })

  const acceptChildren = Effect.fnUntraced(function*(facts: Facts<"chain" | "lockMode" | "warnings">) {
    const { refused: refusal, silent } = yield* acceptance(facts.chain)
    if (refusal !== undefined) return yield* blame(facts.chain, refusal.reason, refusal.link)
    const first = silent[0]
    if (first === undefined) return
    if (facts.lockMode === "strict") return yield* blame(facts.chain, first)
    const told = silent.map((missing) => ({ code: codeOf(missing), message: missing.message }))
    return { warnings: [...facts.warnings, ...told] }
  })

  const permit = ({ call, chain, verified }: Facts<"call" | "chain" | "verified">) =>
    gate.allow(call.caller, { _tag: "Run", chain, verified })

  const choices = new WeakMap<Chain, { readonly field: string | undefined }>()
  const choiceIn = (chain: Chain) => {
    const known = choices.get(chain)
    if (known !== undefined) return known.field
    const properties = chain.leaf.tool.parameters["properties"]
    const hasParameters = isJsonObject(properties) && Object.keys(properties).length > 0
    const field = callerChoice(chain.primitive.tool.location.id, chain.config, hasParameters)
    choices.set(chain, { field })
    return field
  }

  const levelOf = ({ verified }: Facts<"verified">, field: string | undefined): Isolation =>
    field !== undefined ? "sandboxed" : verified.every(({ by }) => by._tag === "System") ? "trusted" : "standard"

  const isolate = Effect.fnUntraced(function*(facts: Facts<"chain" | "verified">) {
    const { leaf, primitive } = facts.chain
    const field = choiceIn(facts.chain)
    const level = levelOf(facts, field)
    // Only programs have engines. A request whose address a caller chooses would need grants of hosts: nobody has any yet.
    const isThere = primitive.tool.location.id === "subprocess" ? children.levels.has(level) : field === undefined
    if (isThere) return { isolation: level }
    const tool = leaf.tool.location.id
    return yield* blame(
      facts.chain,
      new SandboxUnavailable({ tool, level, ...(field === undefined ? {} : { field }) })
    )
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
