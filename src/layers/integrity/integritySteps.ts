// Checks that every link is signed by somebody trusted and does not go back or hide another item, and makes the copies
// that will run.
import { Effect, Result } from "effect"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import { isSignable, showLocation } from "../../services/item/Item.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { HidesItem } from "../../services/proxy/ToolProxy.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"
import { copiesBelow } from "../dependency/dependencySteps.ts"

export const verifyLinks = Effect.gen(function*() {
  const verifier = yield* Verifier

  return Effect.fnUntracedEager(function*(facts: Facts<"chain">) {
    const verified: Array<Verified> = []
    const { links } = facts.chain
    for (const [index, result] of (yield* verifier.verifyAll(links.map((l) => l.snapshot))).entries()) {
      if (Result.isFailure(result)) return yield* blame(facts.chain, result.failure, links[index])
      verified.push(result.success)
    }
    return { verified }
  })
})

export const refuseGoingBack = Effect.gen(function*() {
  const history = yield* ItemHistory

  return Effect.fnUntracedEager(function*(facts: Facts<"chain">) {
    for (const link of facts.chain.links) {
      if (!isSignable(link.tool.location)) continue
      yield* Effect.mapError(
        history.checkForward(link.tool.location, link.tool.version, link.tool.digest),
        (reason) => blame(facts.chain, reason, link)
      )
    }
  })
})

export const refuseHiding = Effect.gen(function*() {
  const history = yield* ItemHistory
  const store = yield* ItemStore
  const verifier = yield* Verifier

  /**
   * An unapproved item counts as absent here: a server that the user has connected must not stop the project's tools.
   */
  const isUsable = (location: ItemLocation) =>
    location.source === undefined
      ? Effect.succeed(true)
      : Effect.isSuccess(Effect.flatMap(store.read(location), verifier.verify))

  return Effect.fnUntracedEager(function*(facts: Facts<"chain" | "resolved">) {
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
})

/** The verified bytes are copied to where nothing else can write, before any config refers to them. */
export const pinCopies = Effect.gen(function*() {
  const copies = yield* VerifiedCopies

  return Effect.fnUntracedEager(function*(facts: Facts<"chain" | "dependencies" | "verified">) {
    for (const [index, link] of facts.chain.links.entries()) {
      const verified = facts.verified[index]
      if (link.tool.entrypoint === undefined || verified === undefined) continue
      const copy = yield* Effect.mapError(
        copies.materialize(verified, link.tool.entrypoint, copiesBelow(facts.dependencies)),
        (reason) => blame(facts.chain, reason, link)
      )
      return { toolFile: copy.file }
    }
    return { toolFile: undefined }
  })
})
