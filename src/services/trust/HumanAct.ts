// Acts that only a person performs. A surface that can reach a person provides HumanGate. Code that performs the act
// takes the HumanAct that the gate returned, and checks that it was given for exactly these bytes.
import { Context, Effect, type Redacted, Schema } from "effect"

export const HumanActKind = Schema.Literals([
  "sign",
  "trust-project",
  "trust-signer",
  "revoke-signer",
  "identity",
  "loosen-lock",
  "secret",
  "client",
  "approve",
  "permissions"
])
export type HumanActKind = typeof HumanActKind.Type

/** A question to a person. */
export interface HumanRequest {
  readonly kind: HumanActKind
  /** One line: "Sign tool add 1.0.0". */
  readonly title: string
  /** Two more lines of at most 76 characters, for surfaces with little room: what the act may do, and what changed. */
  readonly verdict?: readonly [string, string]
  /** The project that it is about, if not the surface's own. */
  readonly project?: string
  /**
   * Everything that the person needs to decide: items, digests, diffs, what it may do. Foreign text is not escaped. A
   * surface that cannot show all of it fails as `HumanRequired`.
   */
  readonly details: string
  /**
   * `details` with long texts by their ends and digests, if those do not decide: for surfaces with too little room for
   * all of it.
   */
  readonly brief?: string
  /** What `details` cannot show and only names by size and digest. A person can agree to it only on a terminal. */
  readonly unreadable?: ReadonlyArray<string>
  /** SHA-256, in hex, over what the act will do. The code that performs the act compares it. */
  readonly digest: string
  /** The command to type on a terminal instead: "kiwi sign tool add". */
  readonly command: string
  /**
   * The answers that the person chooses from, in place of yes. `details` says what each does. One alone is a yes; where
   * nobody can choose (`--yes`), several are refused.
   */
  readonly choices?: ReadonlyArray<HumanChoice>
}

export interface HumanChoice {
  /** "always" */
  readonly value: string
  /** "always: this call, and always in this project: allow: fs.write(src/**)" */
  readonly title: string
  /** The same in a few words, for clients that cut a list of choices: "always: fs.write(src/**)". Default: the title. */
  readonly short?: string
  /** The title of the act with this answer, for the audit: "Refuse k7f3m2qa9x: run tool deploy". Default: the request's. */
  readonly act?: string
}

/** Proof that a person agreed. Made only by a HumanGate. */
export interface HumanAct {
  readonly kind: HumanActKind
  readonly digest: string
  /** The `value` of the choice, if the request had choices. */
  readonly choice?: string
  /**
   * How the person was reached. `approver`: by a service with a token that answers requests. `init`: nobody was asked,
   * since the bytes came with Kiwi.
   */
  readonly by: "terminal" | "elicitation" | "passphrase" | "embedder" | "approver" | "init"
  /** Evidence of the person, for the audit: "answered at /dev/pts/3". */
  readonly seen?: string
  /** The coding agent that performs the act, or that started the server whose client's person answered. */
  readonly agent?: string
  /** The passphrase that the person typed to open their signing key. Only Identity uses it; it is never recorded. */
  readonly passphrase?: Redacted.Redacted
}

/** Whether the surface of this act could show the person what `unreadable` names. */
export const sawUnreadable = ({ by }: HumanAct): boolean =>
  by === "terminal" || by === "passphrase" || by === "embedder"

/** Only a person may do this, and nobody could be asked here, or what they agreed to has changed. */
export class HumanRequired extends Schema.TaggedError<HumanRequired>()("HumanRequired", {
  kind: HumanActKind,
  title: Schema.String,
  command: Schema.String,
  /** Why no person could be asked. */
  why: Schema.optionalKey(Schema.String),
  /** The question was sent, and the same call will be repeated with the answer. */
  asked: Schema.optionalKey(Schema.Literal(true)),
  /** What to do, if it is more than having a person type the command. */
  remedy: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return `${this.title}: only a person can do this${this.why === undefined ? "" : ` (${this.why})`}`
  }
  get remediation() {
    return this.remedy ?? `Ask the person to type: ${this.command}`
  }
  get refusal() {
    return "denied" as const
  }
}

const otherAct = "what was agreed to is something else, or has changed since it was shown"

/** Fails unless a person agreed to exactly this, as it is now. `request`: undefined if nobody has to agree. */
export const requireAct = (
  request: HumanRequest | undefined,
  act: HumanAct | undefined
): Effect.Effect<void, HumanRequired> => {
  if (request === undefined || (act?.kind === request.kind && act.digest === request.digest)) return Effect.void
  const { command, kind, title } = request
  return Effect.fail(new HumanRequired({ kind, title, command, ...(act === undefined ? {} : { why: otherAct }) }))
}

const ofClients = {
  decline: "the client answered that the question was declined",
  cancel: "the client answered that the question was dismissed",
  accept: "the client sent the question back without a yes"
} as const

/** For messages to the person who typed. */
const ofTerminals = {
  no: "you did not answer yes",
  stopped: "you stopped before the end",
  nothing: "no passphrase was typed",
  wrong: "the passphrase was not right"
} as const

type OfClient = keyof typeof ofClients
type OfTerminal = keyof typeof ofTerminals

const isOfTerminal = (answer: OfClient | OfTerminal): answer is OfTerminal => Object.hasOwn(ofTerminals, answer)

/** The person said no, or the client in front of them did not answer yes. */
export class HumanDeclined extends Schema.TaggedError<HumanDeclined>()("HumanDeclined", {
  kind: HumanActKind,
  title: Schema.String,
  /**
   * What a client answered (it may not have asked anybody), or how the question ended at a terminal. Absent: a person
   * said no.
   */
  answer: Schema.optionalKey(Schema.Literals(["decline", "cancel", "accept", "no", "stopped", "nothing", "wrong"])),
  /** The command that the person can type on a terminal instead. */
  command: Schema.optionalKey(Schema.String),
  /** How the person was reached and the evidence of them, for the audit, as in an act. */
  by: Schema.optionalKey(Schema.Literals(["terminal", "elicitation", "embedder"])),
  /** "answered no at /dev/pts/3" */
  seen: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    const { answer, title } = this
    if (answer === undefined) return `${title}: the person said no`
    return isOfTerminal(answer)
      ? `${title}: ${ofTerminals[answer]}`
      : `${title}: ${ofClients[answer]}; whether a person saw it is not known`
  }
  get remediation() {
    if (this.answer === undefined) {
      return "Nothing was changed. Do not ask again: a person who wants it asks for it"
    }
    if (isOfTerminal(this.answer)) {
      return `Nothing was changed${this.command === undefined ? "" : `. To be asked again, type: ${this.command}`}`
    }
    const typed = this.command === undefined ? "" : `, or types on a terminal: ${this.command}`
    return `Tell the person that nothing was changed. Do not ask again: a person who wants it asks for it${typed}`
  }
}

export class HumanGate extends Context.Service<HumanGate, {
  readonly ask: (request: HumanRequest) => Effect.Effect<HumanAct, HumanRequired | HumanDeclined>
}>()("kiwi/services/trust/HumanGate") {}
