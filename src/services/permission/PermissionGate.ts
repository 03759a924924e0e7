// Who may run what. Decided over the verified chain, since rules name tier and signer, or digest.
import { Context, type Effect, Schema } from "effect"
import type { Chain } from "../chain/Chain.ts"
import { FailedLink } from "../error/KiwiError.ts"
import type { Verified } from "../integrity/Verifier.ts"
import type { Caller } from "../proxy/ToolCall.ts"

/** A rule refuses: the item may not be used this way by this caller. */
export class PermissionDenied extends Schema.TaggedError<PermissionDenied>()("PermissionDenied", {
  /** "run tool add", "follow directive deploy". */
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
  readonly run: (
    caller: Caller,
    chain: Chain,
    verified: ReadonlyArray<Verified>
  ) => Effect.Effect<Allowed, PermissionDenied>
  /** Whether the chain's tool may have the secret of this name: the capability `secret.use{name}`. */
  readonly useSecret: (
    caller: Caller,
    chain: Chain,
    verified: ReadonlyArray<Verified>,
    name: string
  ) => Effect.Effect<Allowed, PermissionDenied>
}>()("kiwi/services/permission/PermissionGate") {}
