// What the audit says came of a call: a refusal is told apart from a failure, and both from a caller who went away.
import { Cause, Exit, Option } from "effect"
import { codeOf, innermost } from "../error/KiwiError.ts"
import type { KiwiError } from "../error/KiwiError.ts"

/** Refusals of a rule or of trust; any other failure is one of the item, its parameters or the machine. */
const denials: ReadonlySet<string> = new Set([
  "PROJECT_RESTRICTED",
  "PERMISSION_DENIED",
  "UNSIGNED",
  "TAMPERED",
  "SIGNATURE_MALFORMED",
  "SIGNER_UNTRUSTED",
  "SYSTEM_ITEM_ALTERED",
  "GOES_BACK",
  "HISTORY_DAMAGED",
  "HIDES_ITEM",
  "CHILD_REFUSED",
  "CHILD_SCHEMAS_MISSING",
  "SANDBOX_UNAVAILABLE",
  "LOCK_MISSING",
  "LOCK_MISMATCH",
  "LOCK_INVALID"
])

export interface CallOutcome {
  readonly outcome: "success" | "failure" | "denied" | "interrupted"
  readonly error?: { readonly code: string; readonly message: string }
}

export const outcomeOf = (exit: Exit.Exit<unknown, KiwiError>): CallOutcome => {
  if (Exit.isSuccess(exit)) return { outcome: "success" }
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure !== undefined) {
    const code = codeOf(innermost(failure))
    return { outcome: denials.has(code) ? "denied" : "failure", error: { code, message: failure.message } }
  }
  return Cause.hasInterrupts(exit.cause)
    ? { outcome: "interrupted" }
    : { outcome: "failure", error: { code: "INTERNAL_ERROR", message: "an unexpected failure inside Kiwi" } }
}
