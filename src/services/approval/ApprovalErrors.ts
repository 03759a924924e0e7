// Why a call that a person has to agree to does not go on, and why an answer does not count.
import { Schema } from "effect"
import { isKiwiError, Underlying } from "../error/KiwiError.ts"
import { ApprovalAnswer, waitingAtMost } from "./Approval.ts"

/** A person has been asked, and has not answered yet. */
export class ApprovalPending extends Schema.TaggedError<ApprovalPending>()("ApprovalPending", {
  id: Schema.String,
  what: Schema.String,
  /** The rule that asks. */
  rule: Schema.String,
  /** When the request expires, ISO 8601. */
  until: Schema.String,
  /** Why nobody was asked where the call was made: "it has 40 lines, and this client shows about 30". */
  unasked: Schema.optionalKey(Schema.String),
  /** The question was closed where the call was made, without an answer. */
  closed: Schema.optionalKey(Schema.Literal(true))
}) {
  override get message() {
    const here = this.unasked === undefined ? "" : `; it was not asked here: ${this.unasked}`
    const closed = this.closed === true ? "; the question was closed here without an answer" : ""
    return `A person has to agree first: ${this.what} (request ${this.id}, until ${this.until})${here}${closed}`
  }
  get remediation() {
    const then = this.closed === true ? "do not repeat the call before" : "then repeat the same call"
    return `Ask the person to type: kiwi approve ${this.id}; ${then}`
  }
  get retryable() {
    return true
  }
  get asked() {
    return true as const
  }
  get refusal() {
    return "denied" as const
  }
  get approval() {
    return this.id
  }
}

/** A person said no. */
export class ApprovalRejected extends Schema.TaggedError<ApprovalRejected>()("ApprovalRejected", {
  id: Schema.String,
  what: Schema.String,
  rule: Schema.String,
  answer: ApprovalAnswer
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
  get approval() {
    return this.id
  }
}

/** Nobody answered in time, or the answer was not used in time. */
export class ApprovalExpired extends Schema.TaggedError<ApprovalExpired>()("ApprovalExpired", {
  id: Schema.String,
  what: Schema.String,
  rule: Schema.String
}) {
  override get message() {
    return `The request for a person's agreement has expired: ${this.what}`
  }
  get remediation() {
    return "Ask the person whether it is still wanted, and repeat the call: that asks anew"
  }
  get refusal() {
    return "denied" as const
  }
  get approval() {
    return this.id
  }
}

/** Too many requests of this caller wait for an answer. Nothing was filed. */
export class ApprovalsFull extends Schema.TaggedError<ApprovalsFull>()("ApprovalsFull", {
  what: Schema.String,
  rule: Schema.String
}) {
  override get message() {
    return `A person has to agree first, and ${waitingAtMost} requests of this caller wait already: ${this.what}`
  }
  get remediation() {
    return "Ask the person to answer them: kiwi inbox; or to refuse all of them: kiwi reject --all"
  }
  get retryable() {
    return true
  }
  get refusal() {
    return "denied" as const
  }
}

/** The list of requests cannot be read or written. What needs a person's agreement is not done. */
export class ApprovalsUnavailable
  extends Schema.TaggedError<ApprovalsUnavailable>()("ApprovalsUnavailable", { cause: Underlying })
{
  override get message() {
    return `The requests that wait for a person could not be kept: ${this.cause.message}`
  }
  get remediation() {
    return this.cause.remediation ?? "Check the disk that $KIWI_HOME is on; `kiwi doctor` checks the usual causes"
  }
  get retryable() {
    return isKiwiError(this.cause) && this.cause.retryable === true
  }
}

/** There is no request with this id, and no session with one waiting request. */
export class ApprovalNotFound extends Schema.TaggedError<ApprovalNotFound>()("ApprovalNotFound", {
  id: Schema.String,
  /** Ids of the requests of that session, if it is a session with more than one. */
  several: Schema.optionalKey(Schema.Array(Schema.String)),
  /** It is what a caller asked a person, by `help`: no call waits for it. */
  isQuestion: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    if (this.isQuestion === true) return `${this.id} is a question to you, and not a call that waits`
    return this.several === undefined
      ? `No request ${this.id} is known in this project`
      : `${this.several.length} requests of ${this.id} wait: ${this.several.join(", ")}`
  }
  get remediation() {
    if (this.isQuestion === true) {
      return `Answer it with an option's number or your own words: kiwi inbox --done ${this.id} --say TEXT`
    }
    return this.several === undefined ? "See which requests wait: kiwi inbox" : "Name one of them"
  }
}

/** The request was answered already, has expired, or is not what was shown any more. The answer does not count. */
export class ApprovalClosed extends Schema.TaggedError<ApprovalClosed>()("ApprovalClosed", {
  id: Schema.String,
  what: Schema.String,
  state: Schema.Literals(["approved", "rejected", "expired", "spent"])
}) {
  override get message() {
    return {
      approved: `Request ${this.id} has been approved already: ${this.what}`,
      rejected: `Request ${this.id} has been rejected already: ${this.what}`,
      expired: `Request ${this.id} has expired: ${this.what}`,
      spent: `Request ${this.id} was approved, and the call has run: ${this.what}`
    }[this.state]
  }
  get remediation() {
    return {
      approved: "Nothing was changed. The call runs when it is repeated",
      rejected: `Nothing was changed. A person who changes their mind types: kiwi approve ${this.id}`,
      expired: "Nothing was changed. If it is still wanted, the call has to be repeated: that asks anew",
      spent: "Nothing was changed. If it is wanted once more, the call has to be repeated: that asks anew"
    }[this.state]
  }
}

/** The request cannot get this answer, or the rule may not be made. Nothing was changed. */
export class AnswerRefused extends Schema.TaggedError<AnswerRefused>()("AnswerRefused", {
  id: Schema.String,
  issue: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `The answer to request ${this.id} does not count: ${this.issue}`
  }
  get remediation() {
    return this.hint
  }
}

/** Why a call does not go on. */
export type ApprovalError =
  | ApprovalPending
  | ApprovalRejected
  | ApprovalExpired
  | ApprovalsFull
  | ApprovalsUnavailable
