// The rules that Kiwi ships with. What a person would have to be asked about is refused: nobody can answer yet.
import { Effect, Layer } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import type { SignedBy } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { Allowed } from "../../services/permission/PermissionGate.ts"
import { PermissionDenied, PermissionGate } from "../../services/permission/PermissionGate.ts"

/** Links that other tools are built on; run by themselves they would run whatever the caller says. */
const foundations = new Set(["primitive", "runtime"])

const isYours = (by: SignedBy): boolean => by._tag === "System" || (by.standing._tag === "You" && by.kind === "person")

const decide = (chain: Chain, signers: ReadonlyArray<SignedBy>): Allowed | PermissionDenied => {
  const { id } = chain.leaf.tool.location
  const deny = (rule: string, why: string, hint: string) =>
    new PermissionDenied({ what: `run tool ${id}`, rule, reason: why, hint })
  if (foundations.has(chain.leaf.tool.toolType)) {
    return deny(
      "foundations-are-not-run",
      `${id} is a ${chain.leaf.tool.toolType} that tools are built on`,
      `Write a tool whose executor_id is ${id}, and sign it`
    )
  }
  const foreign = signers.findIndex((by) => !isYours(by))
  if (foreign !== -1 || signers.length !== chain.links.length) {
    const link = chain.links[foreign]?.tool.location ?? chain.leaf.tool.location
    return deny(
      "others-ask",
      `${showLocation(link)} is signed by somebody else`,
      `Read it, and sign it yourself if it may run as you: kiwi sign tool ${link.id}`
    )
  }
  return { rule: signers[0]?._tag === "System" ? "system-tools" : "signed-by-you" }
}

export const make = PermissionGate.of({
  run: (_caller, chain, verified) => {
    const decision = decide(chain, verified.map((v) => v.by))
    return decision instanceof PermissionDenied ? Effect.fail(decision) : Effect.succeed(decision)
  }
})

export const layer = Layer.succeed(PermissionGate, make)
