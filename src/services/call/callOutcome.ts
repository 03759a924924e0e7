// What the audit says came of an action: a refusal is told apart from a failure, and both from a caller who went away.
import { Cause, Exit, Option } from "effect"
import { codeOf, innermost } from "../error/KiwiError.ts"
import type { KiwiError } from "../error/KiwiError.ts"

export interface CallOutcome {
  readonly outcome: "success" | "failure" | "denied" | "interrupted"
  /** The rule that refused. */
  readonly rule?: string
  readonly error?: { readonly code: string; readonly message: string }
}

export const outcomeOf = (exit: Exit.Exit<unknown, KiwiError>): CallOutcome => {
  if (Exit.isSuccess(exit)) return { outcome: "success" }
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure !== undefined) {
    const inner = innermost(failure)
    return {
      outcome: inner.refusal === undefined ? "failure" : "denied",
      ...(inner.rule === undefined ? {} : { rule: inner.rule }),
      error: { code: codeOf(inner), message: failure.message }
    }
  }
  return Cause.hasInterrupts(exit.cause)
    ? { outcome: "interrupted" }
    : { outcome: "failure", error: { code: "INTERNAL_ERROR", message: "an unexpected failure inside Kiwi" } }
}
