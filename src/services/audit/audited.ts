// An action with an entry of the audit before it and one after it. Once the request stands, nothing but a failing disk or
// a killed process keeps its result out of the audit.
import { Clock, Effect, Exit, Result } from "effect"
import type { Redacted } from "effect"
import { outcomeOf } from "../call/callOutcome.ts"
import type { CallWarning } from "../call/CallWarning.ts"
import type { KiwiError } from "../error/KiwiError.ts"
import type { AuditRequest, AuditResult } from "./AuditEntry.ts"
import type { AuditLog, AuditUnavailable } from "./AuditLog.ts"

type Written = "v" | "n" | "at" | "prev" | "kind"

export type Request = Omit<typeof AuditRequest.Type, Written>

/** What is known of the action when it is over. */
export interface Ending extends Pick<typeof AuditResult.Type, "subject"> {
  /** The rule that allowed it. */
  readonly rule?: string | undefined
  readonly isolation?: string | undefined
  /** Values that must not appear in the entry. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>>
}

/** Said of an effect that nothing undoes. */
export const resultLost: CallWarning = {
  code: "AUDIT_RESULT_LOST",
  message: "It was done, but what came of it could not be recorded: the audit has the request and no result"
}

export interface Audited<A, E> {
  readonly ending: () => Ending
  /** What becomes of a value whose result could not be recorded. */
  readonly lost: (value: A, error: AuditUnavailable) => Effect.Effect<A, E>
}

/** Does nothing at all where the request cannot be recorded. */
export const audited = <A, E extends KiwiError, R, E2 = never>(
  audit: AuditLog["Service"],
  request: Request,
  { ending, lost }: Audited<A, E2>,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2 | AuditUnavailable, R> =>
  Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
    const startedAt = yield* Clock.currentTimeMillis
    yield* audit.append({ kind: "request", ...request })
    const exit = yield* Effect.exit(restore(body))
    const { isolation, rule, secrets, subject } = ending()
    const recorded = yield* Effect.result(audit.append({
      kind: "result",
      call: request.call,
      ...(request.operation === "run" ? {} : { operation: request.operation }),
      subject,
      ...(rule === undefined ? {} : { rule }),
      ...outcomeOf(exit),
      ...(isolation === undefined ? {} : { isolation }),
      duration_ms: (yield* Clock.currentTimeMillis) - startedAt
    }, secrets))
    return Exit.isSuccess(exit) && Result.isFailure(recorded)
      ? yield* lost(exit.value, recorded.failure)
      : yield* exit
  }))
