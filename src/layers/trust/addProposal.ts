// Adds a signer to a project's trust.yaml and keeps the rest of the text, comments included.
import { Effect, Result } from "effect"
import { ProposalRefused } from "../../services/trust/SignerTrust.ts"
import type { Signer } from "../../services/trust/SignerTrust.ts"
import { parseControlYaml, type YamlNode } from "../../services/workspace/controlYaml.ts"
import { parseProposedSigners } from "./signers.ts"

const head = "# Whose signatures count in this project, for everybody who trusts it as it is here.\n"

/** Whether it is empty or contains only comments. */
const saysNothing = (root: YamlNode): boolean =>
  root._tag === "Map" ? root.entries.size === 0 : root._tag === "Scalar" && root.value === null

/** The new text. Undefined if the signer is proposed already. */
export const addProposal = Effect.fnUntraced(function*(before: Uint8Array | undefined, signer: Signer) {
  const { Document, isSeq, parseDocument } = yield* Effect.promise(() => import("yaml"))
  const entry = { name: signer.name, public_key: signer.publicKey }
  if (before === undefined) return head + new Document({ signers: [entry] }).toString()
  const document = parseDocument(new TextDecoder().decode(before))
  const parsed = yield* Effect.result(parseControlYaml(before))
  if (Result.isSuccess(parsed) && saysNothing(parsed.success)) {
    document.contents = null
    document.set("signers", [entry])
    return document.toString()
  }
  const { problems, signers } = yield* parseProposedSigners(before)
  const [problem] = problems
  if (problem !== undefined) return yield* new ProposalRefused(problem)
  if (signers.some(({ publicKey }) => publicKey === signer.publicKey)) return undefined
  const list = document.get("signers")
  if (!isSeq(list)) return yield* new ProposalRefused({ line: 0, issue: "it has no list of signers" })
  list.add(document.createNode(entry))
  return document.toString()
})
