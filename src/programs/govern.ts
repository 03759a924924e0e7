// The door that every `Action` but `Run` and `UseSecret` goes through: it is recorded, what it is about is found, the
// permission gate is asked, and only then it is performed. Running a tool is ToolProxy's, which does the same.
import { Clock, Effect, Exit, Predicate, Record as Rec } from "effect"
import type { Schema } from "effect"
import { audited, resultLost } from "../services/audit/audited.ts"
import type { AuditRead, AuditSubject } from "../services/audit/AuditEntry.ts"
import { AuditLog } from "../services/audit/AuditLog.ts"
import type { AuditUnavailable } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/call/Caller.ts"
import { newCallId } from "../services/call/callId.ts"
import { outcomeOf } from "../services/call/callOutcome.ts"
import { CallWarnings } from "../services/call/CallWarning.ts"
import type { KiwiError } from "../services/error/KiwiError.ts"
import type { Action } from "../services/permission/Action.ts"
import { PermissionGate } from "../services/permission/PermissionGate.ts"

/** What an action turned out to be about, and what performing it needs. */
interface Found {
  readonly action: Action
}

interface Governed {
  readonly caller: Caller
  /** Default: a new one. */
  readonly callId?: string | undefined
  /** "sign", "lockfile freeze" */
  readonly operation: string
  /** As it was asked for. */
  readonly subject: typeof AuditSubject.Type
  readonly parameters: Readonly<Record<string, Schema.Json | undefined>>
  /** Whether a value whose result cannot be recorded is handed over, with a warning. */
  readonly lost: "warn" | "refuse"
}

/** `about` adds to the subject of the result, also where the action fails later. */
type About = (more: Partial<typeof AuditSubject.Type>) => void

/** An action that does something, or hands over what is acted by: a request before it and a result after it. */
export const govern = Effect.fnUntraced(function*<F extends Found, A, E extends KiwiError, R, E2 extends KiwiError, R2>(
  request: Governed,
  find: (about: About) => Effect.Effect<F, E, R>,
  perform: (found: F) => Effect.Effect<A, E2, R2>
) {
  const audit = yield* AuditLog
  const gate = yield* PermissionGate
  const { warn } = yield* CallWarnings
  const { caller, lost, operation, parameters } = request
  let subject = request.subject
  let rule: string | undefined
  return yield* audited(
    audit,
    {
      call: request.callId ?? (yield* newCallId),
      caller,
      operation,
      subject,
      parameters: Rec.filter(parameters, Predicate.isNotUndefined)
    },
    {
      ending: () => ({ subject, rule }),
      lost: (value: A, error): Effect.Effect<A, AuditUnavailable> =>
        lost === "refuse" ? Effect.fail(error) : Effect.as(warn(resultLost), value)
    },
    Effect.gen(function*() {
      const found = yield* find((more) => {
        subject = { ...subject, ...more }
      })
      rule = (yield* gate.allow(caller, found.action)).rule
      return yield* perform(found)
    })
  )
})

interface GovernedRead<A> extends Pick<typeof AuditRead.Type, "operation" | "query"> {
  readonly caller: Caller
  readonly filters?: Governed["parameters"]
  /** Of the answer, what the entry names: never what an item says. */
  readonly shown: (answer: A) => typeof AuditRead.Type["shown"]
}

/** What is only shown: one entry, before the answer is handed over. One that is lost is a warning, and no failure. */
export const governRead = Effect.fnUntraced(
  function*<F extends Found, A, E extends KiwiError, R, E2 extends KiwiError, R2>(
    { caller, filters, operation, query, shown }: GovernedRead<A>,
    find: Effect.Effect<F, E, R>,
    perform: (found: F) => Effect.Effect<A, E2, R2>
  ) {
    const audit = yield* AuditLog
    const gate = yield* PermissionGate
    const { warn } = yield* CallWarnings
    const call = yield* newCallId
    const startedAt = yield* Clock.currentTimeMillis
    let rule: string | undefined
    return yield* Effect.gen(function*() {
      const found = yield* find
      rule = (yield* gate.allow(caller, found.action)).rule
      return yield* perform(found)
    }).pipe(
      Effect.onExit(Effect.fnUntraced(function*(exit) {
        const { error, ...outcome } = outcomeOf(exit)
        yield* audit.append({
          kind: "read",
          call,
          caller,
          operation,
          query,
          ...(filters === undefined ? {} : { filters: Rec.filter(filters, Predicate.isNotUndefined) }),
          shown: Exit.isSuccess(exit) ? shown(exit.value) : [],
          ...(rule === undefined ? {} : { rule }),
          ...outcome,
          ...(error === undefined ? {} : { error: { code: error.code } }),
          duration_ms: (yield* Clock.currentTimeMillis) - startedAt
        }).pipe(
          Effect.catch(({ detail }) =>
            warn({ code: "AUDIT_READ_LOST", message: `That this was shown could not be recorded: ${detail}` })
          )
        )
      }))
    )
  }
)
