// What is new about a run, by what a person has agreed to before. It is kept beside their answers, outside of every
// project, so that it outlives a restart and no tool can change it. Only computed if a rule asks for it.
import type { Caller } from "../../services/call/Caller.ts"
import type { SignedBy } from "../../services/integrity/Verifier.ts"
import type { Action } from "../../services/permission/Action.ts"
import type { RememberedRule } from "../../services/permission/RememberedRules.ts"
import type { RunNovelty } from "../../services/permission/rule/Rule.ts"
import { sha256 } from "../identity/sha256.ts"

const signerOf = (by: SignedBy | undefined): string =>
  by?._tag === "Source"
    ? `source ${by.name}`
    : by?._tag !== "Signer"
    ? by?._tag ?? ""
    : `${by.kind} ${by.standing._tag === "Unknown" ? "" : by.standing.signer.publicKey}`

/** Undefined for what is no run. */
export const noveltyOf = (
  remembered: ReadonlyArray<RememberedRule>,
  { client }: Caller,
  action: Action
): { readonly novelty: ReadonlyArray<RunNovelty>; readonly ran: NonNullable<RememberedRule["ran"]> } | undefined => {
  if (action._tag !== "Run") return undefined
  const { chain, verified } = action
  const { category, id, source, tier } = chain.leaf.tool.location
  const tool = `${tier}:${source?.name ?? category}/${id}`
  const print = sha256(JSON.stringify([chain.digest, ...chain.links.map((_, index) => signerOf(verified[index]?.by))]))
  const last = remembered.findLast((one) => one.client === client && one.ran?.tool === tool)?.ran
  return {
    novelty: last === undefined ? ["first-run", "changed"] : last.print === print ? [] : ["changed"],
    ran: { tool, print }
  }
}
