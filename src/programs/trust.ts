// Trusting a project or a signer: the person is shown first what this would enable, and accepts exactly that.
import { Effect, Option } from "effect"
import { sha256 } from "../layers/identity/sha256.ts"
import { shownName } from "../layers/identity/shownName.ts"
import { addProposal } from "../layers/trust/addProposal.ts"
import { proposalPath } from "../layers/trust/signers.ts"
import type { Caller } from "../services/call/Caller.ts"
import { SafeFiles } from "../services/files/SafeFiles.ts"
import { Identity, KeyUnavailable } from "../services/identity/Identity.ts"
import type { HumanRequest } from "../services/trust/HumanAct.ts"
import { noProject, ProjectRestricted, ProjectTrust } from "../services/trust/ProjectTrust.ts"
import type { TrustProposal } from "../services/trust/ProjectTrust.ts"
import { ProposalRefused, SignerNotTrusted, SignerTrust, SignerUnknown } from "../services/trust/SignerTrust.ts"
import type { Signer, SignerGrant } from "../services/trust/SignerTrust.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import { asHuman } from "./humanAct.ts"

export const trustProject = Effect.fn("trustProject")(function*(caller: Caller) {
  const trust = yield* ProjectTrust
  if ((yield* trust.state)._tag === "NoProject") yield* trust.require
  const proposal: TrustProposal = yield* trust.propose
  yield* asHuman(proposal.request, caller, (act) => trust.accept(proposal, act))
  return proposal
})

export interface TrustSignerInput {
  /** A public key, or the name of a signer that this project's trust.yaml proposes. */
  readonly who: string
  /** Your name for them. Default: the name in trust.yaml; for a key that is not in it, the key id. */
  readonly name?: string | undefined
  /** `me`: what they sign runs as if you had signed it. Default: `other`. */
  readonly as?: SignerGrant["as"] | undefined
  /** For `me`: in your user space and in every project, not only in this one. `other` always applies everywhere. */
  readonly everywhere?: boolean | undefined
}

const isKeyId = (text: string): boolean => /^[0-9a-f]{16}$/.test(text)

const isKey = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

const findSigner = Effect.fnUntraced(function*({ name, who }: TrustSignerInput) {
  const signers = yield* SignerTrust
  const known = (yield* signers.list).flatMap((standing) => standing._tag === "Trusted" ? [standing.signer] : [])
  // A signer's name that looks like a key is not used: text in the form of a key always means that key.
  const named = isKey(who) ? [] : known.filter((signer) => signer.name === who)
  if (named.length > 1) {
    return yield* new SignerUnknown({ name: who, keys: named.map(({ publicKey }) => publicKey), known: [] })
  }
  const [found] = named
  if (found !== undefined) return name === undefined ? found : yield* signers.parse(found.publicKey, name)
  if (!isKey(who) && name === undefined) {
    return yield* new SignerUnknown({
      name: who,
      keys: [],
      known: known.map((signer) => shownName(signer.name)),
      outdated: yield* signers.outdated
    })
  }
  const parsed = yield* signers.parse(who, name ?? "")
  if (parsed.name !== "") return parsed
  return { ...parsed, name: known.find((s) => s.publicKey === parsed.publicKey)?.name ?? parsed.keyId }
})

/** Trusts another person's signatures, as theirs or as yours. */
export const trustSigner = Effect.fn("trustSigner")(function*(input: TrustSignerInput, caller: Caller) {
  const signers = yield* SignerTrust
  const workspace = yield* Workspace
  const as = input.as ?? "other"
  const signer = yield* findSigner(input)
  const project = as === "me" && input.everywhere !== true ? workspace.project : Option.none()
  const grant: SignerGrant = { signer, as, project: Option.getOrUndefined(Option.map(project, ({ root }) => root)) }
  yield* asHuman(signers.proposeAdd(grant), caller, (act) => signers.add(grant, act))
  return grant
})

/** Path of a control file. */
const maxBytes = 1_048_576

/** The outcome of a proposal. `accepted`: whether the project's trust.yaml is accepted in its present state. */
export interface ProposedYourself {
  readonly signer: Signer
  readonly change: "added" | "none"
  readonly accepted: boolean
}

/** Writes your key into the project's trust.yaml, so that the rest of the team can trust it. */
export const proposeYourself = Effect.fn("proposeYourself")(function*(caller: Caller) {
  const trust = yield* ProjectTrust
  const identity = yield* Identity
  const files = yield* SafeFiles
  const workspace = yield* Workspace
  yield* trust.require
  const { root } = yield* Effect.fromOption(workspace.project).pipe(
    Effect.mapError(() => new ProjectRestricted({ reason: noProject, remedy: "kiwi init" }))
  )
  const signer = yield* identity.current
  if (signer === undefined) return yield* new KeyUnavailable({ detail: "there is none yet", remedy: "kiwi identity" })
  const before = yield* files.read(root, proposalPath, { maxBytes })
  const text = yield* addProposal(before, signer)
  if (text === undefined) {
    const accepted = (yield* trust.readControl(proposalPath)) !== undefined
    return { signer, change: "none", accepted } satisfies ProposedYourself as ProposedYourself
  }
  const after = new TextEncoder().encode(text)
  const request: HumanRequest = {
    kind: "trust-signer",
    title: "Propose your key as a signer of this project",
    details: `${proposalPath} would be:\n\n${text}`,
    digest: sha256(JSON.stringify([root, text])),
    command: "kiwi trust propose"
  }
  const accepted = yield* asHuman(request, caller, () =>
    Effect.gen(function*() {
      const now = yield* files.read(root, proposalPath, { maxBytes })
      if (Buffer.compare(now ?? new Uint8Array(), before ?? new Uint8Array()) !== 0) {
        return yield* new ProposalRefused({ line: 0, issue: "it has changed since it was shown" })
      }
      yield* files.write(root, proposalPath, after)
      return yield* trust.renew(proposalPath, { before, after })
    }))
  return { signer, change: "added", accepted } satisfies ProposedYourself as ProposedYourself
})

const describeSigner = ({ keyId, name }: Signer): string => `${keyId} "${shownName(name)}"`

/** `who`: a key id, a public key, or a name that `trustSigner` accepts. Returns the key id. */
export const untrustSigner = Effect.fn("untrustSigner")(function*(who: string, caller: Caller) {
  const signers = yield* SignerTrust
  const trusted = (yield* signers.list).flatMap((one) =>
    one._tag === "Trusted" && one.by === "person" ? [one.signer] : []
  )
  const byKey = trusted.filter(({ keyId, publicKey }) => who === keyId || who === publicKey)
  const found = byKey.length > 0 || isKey(who) ? byKey : trusted.filter(({ name }) => name === who)
  const keys = new Set(found.map(({ keyId }) => keyId))
  const [signer] = found
  const unknown = (known: ReadonlyArray<Signer>) =>
    new SignerNotTrusted({ who: shownName(who), count: keys.size, known: known.map(describeSigner) })
  // A key id may be trusted in another project only.
  const keyId = signer?.keyId ?? (isKeyId(who) ? who : undefined)
  if (keyId === undefined) return yield* unknown(trusted)
  if (keys.size > 1) return yield* unknown(found)
  const request = signers.proposeRemove(keyId)
  const names = new Set(found.map(({ name }) => `"${shownName(name)}"`))
  const title = names.size === 0 ? request.title : `Stop trusting ${[...names].join(", ")} (${keyId})`
  const removed = yield* asHuman({ ...request, title }, caller, (act) => signers.remove(keyId, act))
  return removed ? keyId : yield* unknown(trusted)
})
