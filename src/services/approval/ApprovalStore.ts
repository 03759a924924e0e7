// Requests that a person has to answer, kept until they are answered, spent or expired. A call never waits here: it
// files its request and fails, and the same call, repeated after the answer, runs once.
import { Context, type Effect, Schema } from "effect"
import type { Caller } from "../call/Caller.ts"
import type { Ask } from "../permission/PermissionGate.ts"

/**
 * `once`: these arguments, one time. `session`: the offered rules until the session of the caller ends. `always`: the
 * offered rules in this project. `no`: not this time. `never`: no, and a rule that says so.
 */
export const ApprovalAnswer = Schema.Literals(["once", "session", "always", "no", "never"])
export type ApprovalAnswer = typeof ApprovalAnswer.Type

/** What a call asks for. */
export interface ApprovalRequest {
  readonly callId: string
  readonly caller: Caller
  /** "run tool deploy" */
  readonly what: string
  readonly asks: ReadonlyArray<Ask>
  /** Everything that the person needs to decide, as text: tool, version, signer, parameters, level. */
  readonly details: string
  /**
   * SHA-256, in hex, over caller, chain digest, parameters, config without secrets, isolation level and policy: an
   * answer `once` is for exactly this.
   */
  readonly digest: string
}

/** The answer that allowed a call. */
export interface Approved {
  readonly id: string
  /** "approved by Ada at /dev/pts/3" */
  readonly rule: string
}

/** A person has been asked, and has not answered yet. */
export class ApprovalPending extends Schema.TaggedError<ApprovalPending>()("ApprovalPending", {
  id: Schema.String,
  what: Schema.String,
  /** The rule that asks. */
  rule: Schema.String,
  /** When the request expires, ISO 8601. */
  until: Schema.String
}) {
  override get message() {
    return `A person has to agree first: ${this.what} (request ${this.id}, until ${this.until})`
  }
  get remediation() {
    return `Ask the person to type: kiwi approve ${this.id}. Then repeat the same call`
  }
  get retryable() {
    return true
  }
  get asked() {
    return true as const
  }
}

/** A person said no. */
export class ApprovalRejected extends Schema.TaggedError<ApprovalRejected>()("ApprovalRejected", {
  id: Schema.String,
  what: Schema.String,
  rule: Schema.String
}) {
  override get message() {
    return `A person said no: ${this.what}`
  }
  get remediation() {
    return "Do not repeat it. Ask the person how to go on"
  }
  get refusal() {
    return "denied" as const
  }
}

/** Nobody answered in time. */
export class ApprovalExpired extends Schema.TaggedError<ApprovalExpired>()("ApprovalExpired", {
  id: Schema.String,
  what: Schema.String,
  rule: Schema.String
}) {
  override get message() {
    return `Nobody answered in time: ${this.what}`
  }
  get remediation() {
    return "Ask the person whether it is still wanted, and repeat the call: that asks anew"
  }
  get refusal() {
    return "denied" as const
  }
}

export type ApprovalError = ApprovalPending | ApprovalRejected | ApprovalExpired

export class ApprovalStore extends Context.Service<ApprovalStore, {
  /** Uses up an answer for exactly this request, or files the request and fails. Never waits. */
  readonly require: (request: ApprovalRequest) => Effect.Effect<Approved, ApprovalError>
}>()("kiwi/services/approval/ApprovalStore") {}
