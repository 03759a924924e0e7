// Runs an action with an audit entry before and one after it. Once the request is recorded, only a failing disk or a
// killed process can keep the result out of the audit.
import { Clock, Effect, Exit, Result } from "effect"
import type { Redacted } from "effect"
import { outcomeOf } from "../call/callOutcome.ts"
import type { CallWarning } from "../call/CallWarning.ts"
import type { KiwiError } from "../error/KiwiError.ts"
import type { AuditRequest, AuditResult } from "./AuditEntry.ts"
import type { AuditLog, AuditUnavailable } from "./AuditLog.ts"

type Written = "v" | "n" | "at" | "prev" | "kind"

export type Request = Omit<typeof AuditRequest.Type, Written>

/** What is known of the action when it ends. */
export interface Ending extends Pick<typeof AuditResult.Type, "subject"> {
  /** The rule that allowed it. */
  readonly rule?: string | undefined
  /** The person's answer that allowed it. */
  readonly approval?: typeof AuditResult.Type["approval"] | undefined
  /** What a person was asked about, if anything. */
  readonly asked?: NonNullable<typeof AuditResult.Type["asked"]> | undefined
  /** `jti` of the capability token that it was made with. */
  readonly jti?: string | undefined
  readonly isolation?: string | undefined
  /** Values to redact in the entry. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>>
}

/** For an effect that cannot be undone. */
export const resultLost: CallWarning = {
  code: "AUDIT_RESULT_LOST",
  message: "It was done, but its result could not be recorded: the audit has the request without a result"
}

export interface Audited<A, E, Lost = E> {
  readonly ending: () => Ending
  /** Runs when the body has ended, however it ended, and decides what the caller gets. `now`: milliseconds. */
  readonly ended?: (exit: Exit.Exit<A, E>, now: number) => Effect.Effect<A, E>
  /** Decides what to do with a value whose result could not be recorded. */
  readonly lost: (value: A, error: AuditUnavailable) => Effect.Effect<A, Lost>
}

/** An exit as it is, without a turn of its fiber. */
const toExit = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Exit.isExit(effect) ? Effect.succeed(effect as Exit.Exit<A, E>) : Effect.exit(effect)

/** `body` may be interrupted, the rest may not. */
const record = Effect.fnUntraced(function*<A, E extends KiwiError, R, E2>(
  audit: AuditLog["Service"],
  request: Request,
  { ended, ending, lost }: Audited<A, E, E2>,
  body: Effect.Effect<A, E, R>
) {
  const clock = yield* Clock.Clock
  const startedAt = clock.currentTimeMillisUnsafe()
  yield* audit.append({ kind: "request", ...request })
  const ran = yield* Effect.exit(body)
  const endedAt = clock.currentTimeMillisUnsafe()
  const exit = ended === undefined ? ran : yield* toExit(ended(ran, endedAt))
  const { approval, asked, isolation, jti, rule, secrets, subject } = ending()
  const recorded = yield* Effect.result(audit.append({
    kind: "result",
    call: request.call,
    ...(request.operation === "run" ? {} : { operation: request.operation }),
    subject,
    ...(rule === undefined ? {} : { rule }),
    ...(approval === undefined ? {} : { approval }),
    ...(asked === undefined ? {} : { asked }),
    ...(jti === undefined ? {} : { jti }),
    ...outcomeOf(exit),
    ...(isolation === undefined ? {} : { isolation }),
    duration_ms: endedAt - startedAt
  }, secrets))
  return Exit.isSuccess(exit) && Result.isFailure(recorded)
    ? yield* lost(exit.value, recorded.failure)
    : yield* exit
})

/** Does nothing if the request cannot be recorded. */
export const audited = <A, E extends KiwiError, R, E2 = never>(
  audit: AuditLog["Service"],
  request: Request,
  handled: Audited<A, E, E2>,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2 | AuditUnavailable, R> =>
  // A generator function that is made at each call costs V8 several microseconds, so `record` is made once.
  Effect.uninterruptibleMask((restore) => record(audit, request, handled, restore(body)))
