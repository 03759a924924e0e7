// Decides who may do what, with one method for every action. Running and following are decided on verified items, since
// rules refer to tier and signer, or to digest.
import { Context, type Effect, Schema } from "effect"
import type { Caller } from "../call/Caller.ts"
import { FailedLink } from "../error/KiwiError.ts"
import type { Action } from "./Action.ts"

/** A rule denies this action to this caller. */
export class PermissionDenied extends Schema.TaggedError<PermissionDenied>()("PermissionDenied", {
  /** "run tool add", "follow directive deploy": see `showAction`. */
  what: Schema.String,
  /** Name of the rule that decided. */
  rule: Schema.String,
  reason: Schema.String,
  hint: Schema.String,
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

/** The rule that allowed it, for the audit. */
export interface Allowed {
  readonly rule: string
}

export class PermissionGate extends Context.Service<PermissionGate, {
  /**
   * Whether this caller may do this. Asked before the action; for running, after everything else was verified.
   * `search`, `load` and `explain` also ask about tools, to show whether they could run.
   */
  readonly allow: (caller: Caller, action: Action) => Effect.Effect<Allowed, PermissionDenied>
}>()("kiwi/services/permission/PermissionGate") {}
