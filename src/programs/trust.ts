// Trusting a project or a signer: what it would switch on is shown first, and exactly that is accepted.
import { Effect } from "effect"
import type { Caller } from "../services/proxy/ToolCall.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import type { TrustProposal } from "../services/trust/ProjectTrust.ts"
import { SignerTrust } from "../services/trust/SignerTrust.ts"
import type { Signer } from "../services/trust/SignerTrust.ts"
import { asHuman } from "./humanAct.ts"

export const trustProject = Effect.fn("trustProject")(function*(caller: Caller) {
  const trust = yield* ProjectTrust
  const proposal: TrustProposal = yield* trust.propose
  yield* asHuman(proposal.request, caller, (act) => trust.accept(proposal, act))
  return proposal
})

export const trustSigner = Effect.fn("trustSigner")(function*(signer: Signer, caller: Caller) {
  const signers = yield* SignerTrust
  yield* asHuman(signers.proposeAdd(signer), caller, (act) => signers.add(signer, act))
  return signer
})

export const untrustSigner = Effect.fn("untrustSigner")(function*(keyId: string, caller: Caller) {
  const signers = yield* SignerTrust
  return yield* asHuman(signers.proposeRemove(keyId), caller, (act) => signers.remove(keyId, act))
})
