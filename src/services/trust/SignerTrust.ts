// Whose signatures count: you, the signers that you trust, and for a trusted project those that it proposes.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { Tier } from "../item/ItemId.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "./HumanAct.ts"

export const Signer = Schema.Struct({
  /** 16 hex digits, the head of the sha256 of the public key: display and lookup only. */
  keyId: Schema.String,
  /** Raw Ed25519 public key, base64url (43 characters). What is compared. */
  publicKey: Schema.String,
  name: Schema.String
})
export type Signer = typeof Signer.Type

export type SignerStanding =
  /** The key of this Kiwi's own identity. */
  | { readonly _tag: "You"; readonly signer: Signer }
  /**
   * Trusted by you (`kiwi trust add`), or proposed by a project that you trusted at those bytes. `asMe`: you said that
   * what they sign runs, and matches rules, as yours does.
   */
  | {
    readonly _tag: "Trusted"
    readonly signer: Signer
    readonly by: "person" | "project"
    readonly asMe: boolean
    /** Real path of the one project for which you said so; absent: everywhere, or the project says so itself. */
    readonly project?: string
  }
  | { readonly _tag: "Unknown" }

/** Of a project's trust.yaml. */
export const outdatedProposal = "The project's .ai/config/trust.yaml is not as you accepted it, so nobody in it counts"

/** What a person says about a signer: one of `kiwi trust add`. */
export interface SignerGrant {
  readonly signer: Signer
  /** `me`: what they sign runs as yours does. `other`: the signature counts, as somebody else's. */
  readonly as: "me" | "other"
  /** Real path of the one project in which it holds; `undefined`: in your user space and in every project. */
  readonly project: string | undefined
}

/** What was given as a signer's public key is none, or one that anybody could sign for; or no name can be so. */
export class SignerInvalid extends Schema.TaggedError<SignerInvalid>()("SignerInvalid", {
  issue: Schema.String,
  /** What the issue is about. Default: the key. */
  about: Schema.optionalKey(Schema.Literal("name"))
}) {
  override get message() {
    return this.about === "name"
      ? `This is no signer: ${this.issue}`
      : `This is not a signer's public key: ${this.issue}`
  }
  get remediation() {
    if (this.about === "name") return "Give the signer another name, of at most 64 visible characters on one line"
    return "The signer sees the key with `kiwi identity`: 43 letters, digits, - and _"
  }
}

/** Nobody whom this project proposes, or whom you trust, has this name; or more than one has. */
export class SignerUnknown extends Schema.TaggedError<SignerUnknown>()("SignerUnknown", {
  name: Schema.String,
  /** Public keys of all that have the name. */
  keys: Schema.Array(Schema.String),
  /** Names of those whom the project proposes, or whom you trust. */
  known: Schema.Array(Schema.String),
  /** Whether trust.yaml is not as you accepted it. */
  outdated: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    if (this.keys.length > 0) {
      return `"${this.name}" is the name of ${this.keys.length} signers: ${this.keys.join(", ")}`
    }
    const names = this.known.slice(0, 20).map((name) => `"${name}"`).join(", ")
    return `There is no signer called "${this.name}" here` +
      (names === ""
        ? ": neither you nor the project's trust.yaml, as you accepted it, name anybody"
        : `. There are: ${names}${this.known.length > 20 ? ", …" : ""}`) +
      (this.outdated === true ? `. ${outdatedProposal}` : "")
  }
  get remediation() {
    if (this.outdated === true) return "kiwi trust project"
    return "Name the whole public key, which they have: kiwi trust add <public key> --name <who> --as me"
  }
}

/** There is nobody whom you trust by this name or key, or more than one; so nothing was taken back. */
export class SignerNotTrusted extends Schema.TaggedError<SignerNotTrusted>()("SignerNotTrusted", {
  who: Schema.String,
  /** How many have the name. */
  count: Schema.Int,
  /** Whom you trust, or those of them who have the name: `0123456789abcdef "Mia"`. */
  known: Schema.Array(Schema.String)
}) {
  override get message() {
    const shown = this.known.slice(0, 20).join(", ") + (this.known.length > 20 ? ", …" : "")
    if (this.count > 1) return `"${this.who}" is the name of ${this.count} signers, and nothing was changed: ${shown}`
    return `You trust no signer called "${this.who}", and nothing was changed. ${
      shown === "" ? "You trust nobody" : `You trust ${shown}`
    }`
  }
  get remediation() {
    if (this.known.length > 0) return "Name the key id: kiwi trust remove <key id>"
    return "kiwi trust list"
  }
}

/** The project's trust.yaml cannot take another signer. */
export class ProposalRefused extends Schema.TaggedError<ProposalRefused>()("ProposalRefused", {
  /** 0 where it is about the whole file. */
  line: Schema.Int,
  issue: Schema.String
}) {
  override get message() {
    return `Your key cannot be written to .ai/config/trust.yaml${
      this.line === 0 ? "" : ` (line ${this.line})`
    }: ${this.issue}`
  }
  get remediation() {
    return "Look at the file, which holds a list, signers, of maps with name and public_key (docs/trust.md), and try again: kiwi trust propose"
  }
}

/** What is kept about whom you trust cannot be believed, so nobody in it is trusted, and it is not written over. */
export class SignersUnbelieved extends Schema.TaggedError<SignersUnbelieved>()("SignersUnbelieved", {
  detail: Schema.String
}) {
  override get message() {
    return `signers.json in Kiwi's folder is not believed, so nobody that you trusted by it counts: ${this.detail}`
  }
  get remediation() {
    return "Restore signers.json from a backup; or move it away and trust each signer again: kiwi trust add <public key> --name <who>"
  }
}

export class SignerTrust extends Context.Service<SignerTrust, {
  /** Every key that has this id and may sign for this tier. A key id is no identity: each is tried. */
  readonly candidates: (keyId: string, tier: Tier) => Effect.Effect<ReadonlyArray<SignerStanding>>
  readonly list: Effect.Effect<ReadonlyArray<SignerStanding>>
  /** Why signers that you trusted do not count, where what is kept of them cannot be believed. */
  readonly problem: Effect.Effect<SignersUnbelieved | undefined>
  /** Whether this trusted project's trust.yaml is not as a person accepted it, so that it proposes nobody. */
  readonly outdated: Effect.Effect<boolean>
  /** A signer from what somebody typed; the key id is computed. */
  readonly parse: (publicKey: string, name: string) => Effect.Effect<Signer, SignerInvalid>
  readonly proposeAdd: (grant: SignerGrant) => HumanRequest
  /**
   * What was said about the same key and place before is replaced. Fails as `HumanRequired` if the act was given for
   * something else. The same for `remove`.
   */
  readonly add: (
    grant: SignerGrant,
    act: HumanAct
  ) => Effect.Effect<void, SignerInvalid | HumanRequired | WriteRefused | LockError>
  readonly proposeRemove: (keyId: string) => HumanRequest
  /** Takes back all that you said about the signers with this id; says whether there was anything. */
  readonly remove: (
    keyId: string,
    act: HumanAct
  ) => Effect.Effect<boolean, HumanRequired | WriteRefused | LockError>
}>()("kiwi/services/trust/SignerTrust") {}
