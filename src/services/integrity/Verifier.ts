// Checks that an item's bytes are what somebody trusted has signed, for this id at this path.
import { Context, type Effect, type Result, Schema } from "effect"
import { isKiwiError, Underlying } from "../error/KiwiError.ts"
import type { ItemSnapshot } from "../item/Item.ts"
import type { ItemUnapproved } from "../item/ItemErrors.ts"
import { outdatedProposal } from "../trust/SignerTrust.ts"
import type { SignerStanding } from "../trust/SignerTrust.ts"

/** Nobody has signed the item. */
export class Unsigned extends Schema.TaggedError<Unsigned>()("Unsigned", {
  item: Schema.String,
  /** The command that signs it: "kiwi sign tool add". */
  command: Schema.String
}) {
  override get message() {
    return `${this.item} is not signed`
  }
  get remediation() {
    return this.command
  }
  get refusal() {
    return "unsigned" as const
  }
}

/** The item was signed, but changed, moved or renamed since. */
export class Tampered extends Schema.TaggedError<Tampered>()("Tampered", {
  item: Schema.String,
  issue: Schema.String,
  command: Schema.String
}) {
  override get message() {
    return `${this.item} is not what was signed: ${this.issue}`
  }
  get remediation() {
    return `Look at what changed, then sign it again if it is right: ${this.command}`
  }
  get refusal() {
    return "tampered" as const
  }
}

/** The signature is not in the form that Kiwi writes. */
export class SignatureMalformed extends Schema.TaggedError<SignatureMalformed>()("SignatureMalformed", {
  item: Schema.String,
  issue: Schema.String,
  command: Schema.String
}) {
  override get message() {
    return `${this.item}: ${this.issue}`
  }
  get remediation() {
    return `Look at the first lines of the file, then sign it again if it is right: ${this.command}`
  }
  get refusal() {
    return "tampered" as const
  }
}

/** The signature is valid, but its key is not trusted here. */
export class SignerUntrusted extends Schema.TaggedError<SignerUntrusted>()("SignerUntrusted", {
  item: Schema.String,
  keyId: Schema.String,
  kind: Schema.Literals(["person", "agent"]),
  /** Whether the project's trust.yaml, which may name the signer, has changed since you accepted it. */
  outdated: Schema.optionalKey(Schema.Boolean),
  /** Why a signer that you did trust may not count. */
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    return this.kind === "person"
      ? `${this.item} is signed by ${this.keyId}, whom you do not trust${
        this.outdated === true ? `. ${outdatedProposal}` : ""
      }`
      : `${this.item} is signed by an agent's key (${this.keyId}), which no person has certified`
  }
  get remediation() {
    if (isKiwiError(this.cause) && this.cause.remediation !== undefined) return this.cause.remediation
    if (this.outdated === true) return "kiwi trust project"
    if (this.kind === "agent") return "Read the item and, if it is right, sign it yourself"
    return "If you know whose key that is: kiwi trust add <public key> --name <who> --as me; where the project proposes it: kiwi trust project; or read the item and sign it yourself"
  }
  get refusal() {
    return "untrusted" as const
  }
}

/** A system item differs from the one that this package was built with. */
export class SystemItemAltered extends Schema.TaggedError<SystemItemAltered>()("SystemItemAltered", {
  item: Schema.String
}) {
  override get message() {
    return `${this.item} is not the one that this version of Kiwi was built with`
  }
  get remediation() {
    return "Install kiwi-mcp again"
  }
  get refusal() {
    return "tampered" as const
  }
}

/**
 * The bytes are older than the newest version of this item that has run, and nobody has confirmed that this is
 * intended.
 */
export class GoesBack extends Schema.TaggedError<GoesBack>()("GoesBack", {
  item: Schema.String,
  from: Schema.String,
  to: Schema.String,
  command: Schema.String
}) {
  override get message() {
    return `${this.item} goes back from ${this.from} to ${this.to}`
  }
  get remediation() {
    return `If that is meant, say so, once for all items that go back to what you have signed: ${this.command}`
  }
  get refusal() {
    return "denied" as const
  }
}

export type VerifyError =
  | Unsigned
  | Tampered
  | SignatureMalformed
  | SignerUntrusted
  | SystemItemAltered
  | ItemUnapproved

export type SignedBy =
  | { readonly _tag: "System" }
  /** Not signed: the named source that it comes from has approved it. */
  | { readonly _tag: "Source"; readonly name: string }
  | {
    readonly _tag: "Signer"
    readonly standing: SignerStanding
    readonly kind: "person" | "agent"
    readonly time: string
  }

/** Signed by you, or by a person whom you trust as yourself. */
export const isYours = (by: SignedBy): boolean =>
  by._tag === "System" ||
  (by._tag === "Signer" && by.kind === "person" &&
    (by.standing._tag === "You" || (by.standing._tag === "Trusted" && by.standing.asMe)))

export interface Verified {
  readonly snapshot: ItemSnapshot
  readonly by: SignedBy
}

export class Verifier extends Context.Service<Verifier, {
  /**
   * Checks the digest, the signer, and the signature over id, path and digest; in the system tier the package's
   * manifest; for an item of a named source that source's own check. Only computations are cached: the bytes of a
   * snapshot are hashed once, but trust in the signer is checked every time.
   */
  readonly verify: (snapshot: ItemSnapshot) => Effect.Effect<Verified, VerifyError>
  /**
   * The same for items that belong together, up to the first failure. Trust in signers is read once for all of them.
   */
  readonly verifyAll: (
    snapshots: ReadonlyArray<ItemSnapshot>
  ) => Effect.Effect<ReadonlyArray<Result.Result<Verified, VerifyError>>>
}>()("kiwi/services/integrity/Verifier") {}
