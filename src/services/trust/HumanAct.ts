// Acts that only a person performs. A surface that can reach a person provides HumanGate; whoever performs the act
// takes the HumanAct that it returned and checks that it was given for exactly these bytes.
import { Context, type Effect, Schema } from "effect"

export const HumanActKind = Schema.Literals([
  "sign",
  "trust-project",
  "trust-signer",
  "revoke-signer",
  "identity",
  "loosen-lock",
  "secret"
])
export type HumanActKind = typeof HumanActKind.Type

/** What a person is asked. */
export interface HumanRequest {
  readonly kind: HumanActKind
  /** One line: "Sign tool add 1.0.0". */
  readonly title: string
  /** Everything that the person needs to decide: items, digests, diffs, what it may do. Foreign text unescaped. */
  readonly details: string
  /** sha256 hex over what the act will do; the performer compares it. */
  readonly digest: string
  /** What to type on a terminal instead: "kiwi sign tool add". */
  readonly command: string
}

/** Proof that a person agreed. Made only by a HumanGate. */
export interface HumanAct {
  readonly kind: HumanActKind
  readonly digest: string
  /** How the person was reached; `init`: nobody was, since the bytes came with Kiwi. */
  readonly by: "terminal" | "elicitation" | "passphrase" | "embedder" | "init"
  /** What was seen of the person, for the record: "answered at /dev/pts/3". */
  readonly seen?: string
}

/** Only a person may do this, and none could be asked here. */
export class HumanRequired extends Schema.TaggedError<HumanRequired>()("HumanRequired", {
  kind: HumanActKind,
  title: Schema.String,
  command: Schema.String,
  /** Why no person could be asked. */
  why: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return `${this.title}: only a person can do this${this.why === undefined ? "" : ` (${this.why})`}`
  }
  get remediation() {
    return `Ask the person to type: ${this.command}`
  }
}

/** The person was asked and said no. */
export class HumanDeclined extends Schema.TaggedError<HumanDeclined>()("HumanDeclined", {
  kind: HumanActKind,
  title: Schema.String
}) {
  override get message() {
    return `${this.title}: the person said no`
  }
  get remediation() {
    return "Nothing was changed. Do not ask again unless the person wants it"
  }
}

export class HumanGate extends Context.Service<HumanGate, {
  readonly ask: (request: HumanRequest) => Effect.Effect<HumanAct, HumanRequired | HumanDeclined>
}>()("kiwi/services/trust/HumanGate") {}
