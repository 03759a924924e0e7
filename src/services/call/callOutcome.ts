// The outcome of an action for the audit: distinguishes refusals, failures and interruptions.
import { Cause, Exit, Option, Schema } from "effect"
import { codeOf, innermost } from "../error/KiwiError.ts"
import type { KiwiError } from "../error/KiwiError.ts"

/**
 * `interrupted`: the caller disconnected or cancelled. `asked`: a person is being asked, and the call will be repeated
 * with the answer.
 */
export const Outcome = Schema.Literals(["success", "failure", "denied", "interrupted", "asked"])

export interface CallOutcome {
  readonly outcome: typeof Outcome.Type
  /** The rule that refused. */
  readonly rule?: string
  /** The request that a person was asked, and their answer that refused. */
  readonly approval?: { readonly id: string; readonly answer?: string }
  readonly error?: { readonly code: string; readonly message: string; readonly allow?: string }
}

export const outcomeOf = (exit: Exit.Exit<unknown, KiwiError>): CallOutcome => {
  if (Exit.isSuccess(exit)) return { outcome: "success" }
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure !== undefined) {
    const inner = innermost(failure)
    return {
      outcome: inner.asked === true ? "asked" : inner.refusal === undefined ? "failure" : "denied",
      // A program's own error may have another field with that name.
      ...(inner.refusal !== undefined && typeof inner.rule === "string" ? { rule: inner.rule } : {}),
      ...(typeof inner.approval === "string"
        ? { approval: { id: inner.approval, ...(inner.answer === undefined ? {} : { answer: inner.answer }) } }
        : {}),
      error: {
        code: codeOf(inner),
        message: failure.message,
        ...(inner.refusal !== undefined && typeof inner.allow === "string" ? { allow: inner.allow } : {})
      }
    }
  }
  return Cause.hasInterrupts(exit.cause)
    ? { outcome: "interrupted" }
    : { outcome: "failure", error: { code: "INTERNAL_ERROR", message: "an unexpected failure inside Kiwi" } }
}
