// Whose signatures count: yours, those of signers that you trust, and in a trusted project those of signers it
// proposes.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { Tier } from "../item/ItemId.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "./HumanAct.ts"

export const Signer = Schema.Struct({
  /** 16 hex digits, the start of the public key's SHA-256: for display and lookup only. */
  keyId: Schema.String,
  /** Raw Ed25519 public key, base64url (43 characters). Keys are compared by this. */
  publicKey: Schema.String,
  name: Schema.String
})
export type Signer = typeof Signer.Type

export type SignerStanding =
  /** The key of this Kiwi's own identity. */
  | { readonly _tag: "You"; readonly signer: Signer }
  /**
   * Trusted by you (`kiwi trust add`), or proposed by a project whose trust.yaml you accepted. `asMe`: you said that
   * what they sign runs, and matches rules, as yours does.
   */
  | {
    readonly _tag: "Trusted"
    readonly signer: Signer
    readonly by: "person" | "project"
    readonly asMe: boolean
    /** Real path of the only project that you named. Absent: everywhere, or the project itself proposes the signer. */
    readonly project?: string
  }
  | { readonly _tag: "Unknown" }

/** The issue of a project's trust.yaml that has changed. */
export const outdatedProposal = "The project's .ai/config/trust.yaml is not as you accepted it, so nobody in it counts"

/** What a person decides about a signer: one `kiwi trust add`. */
export interface SignerGrant {
  readonly signer: Signer
  /** `me`: what they sign runs as yours does. `other`: the signature counts, but as another person's. */
  readonly as: "me" | "other"
  /** Real path of the only project in which it holds. Undefined: in your user space and in every project. */
  readonly project: string | undefined
}

/** The text is not a valid public key, anybody could sign for the key, or the name is not acceptable. */
export class SignerInvalid extends Schema.TaggedError<SignerInvalid>()("SignerInvalid", {
  issue: Schema.String,
  /** What the issue is about. Default: the key. */
  about: Schema.optionalKey(Schema.Literal("name"))
}) {
  override get message() {
    return this.about === "name"
      ? `This is not a valid signer: ${this.issue}`
      : `This is not a signer's public key: ${this.issue}`
  }
  get remediation() {
    if (this.about === "name") return "Give the signer another name, of at most 64 visible characters on one line"
    return "The signer sees the key with `kiwi identity`: 43 letters, digits, - and _"
  }
}

/** No signer that this project proposes or that you trust has this name, or more than one has it. */
export class SignerUnknown extends Schema.TaggedError<SignerUnknown>()("SignerUnknown", {
  name: Schema.String,
  /** Public keys of all signers with that name. */
  keys: Schema.Array(Schema.String),
  /** Names of the signers that the project proposes or that you trust. */
  known: Schema.Array(Schema.String),
  /** Whether trust.yaml has changed since you accepted it. */
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

/** No trusted signer has this name or key, or more than one has it. Nothing was removed. */
export class SignerNotTrusted extends Schema.TaggedError<SignerNotTrusted>()("SignerNotTrusted", {
  who: Schema.String,
  /** How many signers have the name. */
  count: Schema.Int,
  /** The signers that you trust, or those with that name: `0123456789abcdef "Mia"`. */
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

/** The signer cannot be added to the project's trust.yaml. */
export class ProposalRefused extends Schema.TaggedError<ProposalRefused>()("ProposalRefused", {
  /** 0 for the whole file. */
  line: Schema.Int,
  issue: Schema.String
}) {
  override get message() {
    return `Your key cannot be written to .ai/config/trust.yaml${
      this.line === 0 ? "" : ` (line ${this.line})`
    }: ${this.issue}`
  }
  get remediation() {
    return "Correct the file: it has a list, signers, of maps with name and public_key (docs/trust.md); then try again: kiwi trust propose"
  }
}

/** The file of trusted signers is not valid, so nobody in it is trusted. It is not overwritten. */
export class SignersUnbelieved extends Schema.TaggedError<SignersUnbelieved>()("SignersUnbelieved", {
  detail: Schema.String
}) {
  override get message() {
    return `signers.json in Kiwi's folder cannot be used, so nobody whom you trusted in it counts: ${this.detail}`
  }
  get remediation() {
    return "Restore signers.json from a backup; or move it away and trust each signer again: kiwi trust add <public key> --name <who>"
  }
}

export class SignerTrust extends Context.Service<SignerTrust, {
  /** Every key that has this id and may sign for this tier. Key ids are not unique: each key is tried. */
  readonly candidates: (keyId: string, tier: Tier) => Effect.Effect<ReadonlyArray<SignerStanding>>
  readonly list: Effect.Effect<ReadonlyArray<SignerStanding>>
  /** Why signers that you trusted do not count, if their file is not valid. */
  readonly problem: Effect.Effect<SignersUnbelieved | undefined>
  /** Whether this trusted project's trust.yaml has changed since a person accepted it, so that it proposes nobody. */
  readonly outdated: Effect.Effect<boolean>
  /** Parses a signer that somebody typed. The key id is computed. */
  readonly parse: (publicKey: string, name: string) => Effect.Effect<Signer, SignerInvalid>
  readonly proposeAdd: (grant: SignerGrant) => HumanRequest
  /**
   * Replaces an earlier grant for the same key and project. Fails as `HumanRequired` if the act was given for something
   * else. The same for `remove`.
   */
  readonly add: (
    grant: SignerGrant,
    act: HumanAct
  ) => Effect.Effect<void, SignerInvalid | HumanRequired | WriteRefused | LockError>
  readonly proposeRemove: (keyId: string) => HumanRequest
  /** Removes all grants for the signers with this id. Returns whether there were any. */
  readonly remove: (
    keyId: string,
    act: HumanAct
  ) => Effect.Effect<boolean, HumanRequired | WriteRefused | LockError>
}>()("kiwi/services/trust/SignerTrust") {}
