// Decides who may do what, with one method for every action: allowed, denied, or a person is asked. Running and following
// are decided on verified items, since rules refer to tier and signer, or to digest.
import { Context, type Effect, Schema } from "effect"
import type { Caller } from "../call/Caller.ts"
import type { Access } from "../capability/Access.ts"
import { FailedLink } from "../error/KiwiError.ts"
import type { Action } from "./Action.ts"
import type { RememberedRule } from "./RememberedRules.ts"
import type { Outcome } from "./rule/Rule.ts"
import type { FoundRule } from "./rule/RuleIndex.ts"

/** A rule denies this action to this caller. */
export class PermissionDenied extends Schema.TaggedError<PermissionDenied>()("PermissionDenied", {
  /** "run tool add", "follow directive deploy": see `showAction`. */
  what: Schema.String,
  /** Name of the rule that decided. */
  rule: Schema.String,
  reason: Schema.String,
  hint: Schema.String,
  /** The rule that would allow it, if one alone can: "fs.read(/etc/hosts)". */
  allow: Schema.optionalKey(Schema.String),
  /** Ids of a tool's chain, and the link that the rule is about. */
  chain: Schema.optionalKey(Schema.Array(Schema.String)),
  failedAt: Schema.optionalKey(FailedLink)
}) {
  override get message() {
    return `Not allowed to ${this.what}: ${this.reason}`
  }
  get remediation() {
    return this.hint
  }
  get refusal() {
    return "denied" as const
  }
}

/** A question that a person has to answer first. */
export interface Ask {
  readonly access: Access
  /** The first rule that asks, by its line. */
  readonly rule: string
  /** All that ask, as answers know them: by their file and what they say. Absent: `rule` alone, which Kiwi ships. */
  readonly askedBy?: ReadonlyArray<string>
  /** Why it asks, for the person: "changes files of this project". */
  readonly reason: string
  /**
   * The rule that the answer `session` or `always` makes, as one line: "allow: fs.write(src/**)". Absent if only this
   * one call can be allowed.
   */
  readonly offer?: string
  /** What the caller will have run once the person has agreed: see `RememberedRule`. */
  readonly ran?: NonNullable<RememberedRule["ran"]>
}

/** The rules that an answer to the question is for. */
export const askersOf = ({ askedBy, rule }: Pick<Ask, "askedBy" | "rule">): ReadonlyArray<string> => askedBy ?? [rule]

/** A question that an earlier answer of the person settled. */
export interface SettledAsk extends Ask {
  /** "remembered k7f3m2qa9x" */
  readonly answer: string
}

/** The rule that decided, and what a person still has to be asked. */
export interface Decision {
  readonly rule: string
  /** Empty: it is allowed. */
  readonly asks: ReadonlyArray<Ask>
  /** Absent: none. */
  readonly settled?: ReadonlyArray<SettledAsk>
}

/** What rules and default say about one access of an action. A remembered answer may still settle what they ask. */
export interface JudgedAccess {
  readonly access: Access
  readonly outcome: Outcome
  /** The rule that decides. */
  readonly rule: string
  readonly reason?: string | undefined
  readonly hint?: string | undefined
  readonly offer?: string | undefined
  /** Every rule that speaks about it. */
  readonly speaks: ReadonlyArray<FoundRule>
}

export class PermissionGate extends Context.Service<PermissionGate, {
  /**
   * Whether this caller may do this. Decided before the action; for running, after everything else was verified.
   * `search`, `load` and `explain` also ask about tools, to show whether they could run. `watch` is told about every
   * access, also after one that is denied.
   */
  readonly decide: (
    caller: Caller,
    action: Action,
    watch?: (judged: JudgedAccess) => void
  ) => Effect.Effect<Decision, PermissionDenied>
}>()("kiwi/services/permission/PermissionGate") {}
