// Who may do what: one question for every action. Running and following are decided over what was verified, since rules
// name tier and signer, or digest.
import { Context, type Effect, Schema } from "effect"
import type { Caller } from "../call/Caller.ts"
import { FailedLink } from "../error/KiwiError.ts"
import type { Action } from "./Action.ts"

/** A rule refuses: this caller may not do this. */
export class PermissionDenied extends Schema.TaggedError<PermissionDenied>()("PermissionDenied", {
  /** "run tool add", "follow directive deploy": see `showAction`. */
  what: Schema.String,
  /** Name of the rule that decided. */
  rule: Schema.String,
  reason: Schema.String,
  hint: Schema.String,
  /** Ids of a tool's chain, and the link of it that the rule is about. */
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

/** Which rule allowed it; written to the audit. */
export interface Allowed {
  readonly rule: string
}

export class PermissionGate extends Context.Service<PermissionGate, {
  /**
   * Whether this caller may do this. Asked before the action, and for what runs after everything about it was proved;
   * `search`, `load` and `explain` ask it about tools too, to say whether they could run.
   */
  readonly allow: (caller: Caller, action: Action) => Effect.Effect<Allowed, PermissionDenied>
}>()("kiwi/services/permission/PermissionGate") {}
