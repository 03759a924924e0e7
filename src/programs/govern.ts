// Every `Action` except `Run` and `UseSecret` goes through here: it is recorded, its subject is found, the permission
// gate is asked, and only then it is performed. ToolProxy does the same for running a tool.
import { Clock, Effect, Exit, Predicate, Record as Rec } from "effect"
import type { Schema } from "effect"
import { auditAsked } from "../layers/approval/auditAsked.ts"
import { requestText } from "../layers/approval/requestText.ts"
import { sha256 } from "../layers/identity/sha256.ts"
import type { ApprovalRequest, Approved } from "../services/approval/ApprovalStore.ts"
import { ApprovalStore } from "../services/approval/ApprovalStore.ts"
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
import { showAction } from "../services/permission/Action.ts"
import type { Ask } from "../services/permission/PermissionGate.ts"
import { PermissionGate } from "../services/permission/PermissionGate.ts"

/** The subject that was found, and what performing the action needs. */
interface Found {
  readonly action: Action
}

interface Governed {
  readonly caller: Caller
  /** Default: a new one. */
  readonly callId?: string | undefined
  /** "sign", "lockfile freeze" */
  readonly operation: string
  /** The subject as the caller named it. */
  readonly subject: typeof AuditSubject.Type
  readonly parameters: Readonly<Record<string, Schema.Json | undefined>>
  /** Whether the value is still returned, with a warning, if the result cannot be recorded. */
  readonly lost: "warn" | "refuse"
}

/** An action as a person is asked about it. `subject`: what was found, with its digests. */
interface Asked extends Pick<Governed, "caller" | "operation" | "parameters"> {
  readonly callId: string
  readonly subject: Readonly<Record<string, Schema.Json | undefined>>
}

const requestOf = (
  { caller, callId, operation, parameters, subject }: Asked,
  action: Action,
  asks: ReadonlyArray<Ask>
): ApprovalRequest => {
  const given = Rec.filter(parameters, Predicate.isNotUndefined)
  const found = Rec.filter(subject, Predicate.isNotUndefined)
  const about = Object.entries(found).map(([name, value]) =>
    [`Of ${name}`, typeof value === "string" ? value : JSON.stringify(value)] as const
  )
  return {
    callId,
    caller,
    what: showAction(action),
    asks,
    ...requestText({ caller, about: [["Action", operation], ...about], asks, parameters: given, secrets: [] }),
    digest: sha256(JSON.stringify(["kiwi-action-1", operation, action._tag, found, given]))
  }
}

/** What was decided so far, for the audit. */
interface Decided {
  rule?: string
  approval?: Pick<Approved, "id" | "by" | "answer">
  asked?: ReturnType<typeof auditAsked>
}

/** Asks the gate and, where that asks, a person. */
const permit = Effect.fnUntraced(function*(about: Asked, action: Action, decided: Decided) {
  const { asks, rule, settled = [] } = yield* (yield* PermissionGate).decide(about.caller, action)
  decided.rule = rule
  decided.asked = auditAsked(asks, settled)
  if (asks.length === 0) return
  const approved = yield* (yield* ApprovalStore).require(requestOf(about, action, asks))
  decided.approval = { id: approved.id, by: approved.by, answer: approved.answer }
  decided.rule = approved.rule
})

/** `about` adds to the recorded subject of the result, even if the action fails later. */
type About = (more: Partial<typeof AuditSubject.Type>) => void

/**
 * Governs an action that does something, or returns steps to act by: a request entry before it and a result entry
 * after.
 */
export const govern = Effect.fnUntraced(function*<F extends Found, A, E extends KiwiError, R, E2 extends KiwiError, R2>(
  request: Governed,
  find: (about: About) => Effect.Effect<F, E, R>,
  perform: (found: F) => Effect.Effect<A, E2, R2>
) {
  const audit = yield* AuditLog
  const { warn } = yield* CallWarnings
  const { caller, lost, operation, parameters } = request
  const callId = request.callId ?? (yield* newCallId)
  let subject = request.subject
  const decided: Decided = {}
  return yield* audited(
    audit,
    {
      call: callId,
      caller,
      operation,
      subject,
      parameters: Rec.filter(parameters, Predicate.isNotUndefined)
    },
    {
      ending: () => ({ subject, ...decided }),
      lost: (value: A, error): Effect.Effect<A, AuditUnavailable> =>
        lost === "refuse" ? Effect.fail(error) : Effect.as(warn(resultLost), value)
    },
    Effect.gen(function*() {
      const found = yield* find((more) => {
        subject = { ...subject, ...more }
      })
      yield* permit({ caller, callId, operation, subject, parameters }, found.action, decided)
      return yield* perform(found)
    })
  )
})

interface GovernedRead<A> extends Pick<typeof AuditRead.Type, "operation" | "query"> {
  readonly caller: Caller
  readonly filters?: Governed["parameters"]
  /** The items that the entry names. Never an item's text. */
  readonly shown: (answer: A) => typeof AuditRead.Type["shown"]
}

/**
 * Governs an action that only shows something: one entry, before the answer is returned. If the entry cannot be
 * written, the answer gets a warning and does not fail.
 */
export const governRead = Effect.fnUntraced(
  function*<F extends Found, A, E extends KiwiError, R, E2 extends KiwiError, R2>(
    { caller, filters, operation, query, shown }: GovernedRead<A>,
    find: Effect.Effect<F, E, R>,
    perform: (found: F) => Effect.Effect<A, E2, R2>
  ) {
    const audit = yield* AuditLog
    const { warn } = yield* CallWarnings
    const call = yield* newCallId
    const startedAt = yield* Clock.currentTimeMillis
    const decided: Decided = {}
    return yield* Effect.gen(function*() {
      const found = yield* find
      const about = { caller, callId: call, operation, subject: { query }, parameters: filters ?? {} }
      yield* permit(about, found.action, decided)
      return yield* perform(found)
    }).pipe(
      Effect.onExit(Effect.fnUntraced(function*(exit) {
        const { error, ...outcome } = outcomeOf(exit)
        const { approval, rule } = decided
        yield* audit.append({
          kind: "read",
          call,
          caller,
          operation,
          query,
          ...(filters === undefined ? {} : { filters: Rec.filter(filters, Predicate.isNotUndefined) }),
          shown: Exit.isSuccess(exit) ? shown(exit.value) : [],
          ...(rule === undefined ? {} : { rule }),
          ...(approval === undefined ? {} : { approval }),
          ...outcome,
          ...(error === undefined ? {} : { error: { code: error.code } }),
          duration_ms: (yield* Clock.currentTimeMillis) - startedAt
        }).pipe(
          Effect.catch(({ detail }) =>
            warn({ code: "AUDIT_READ_LOST", message: `This lookup could not be recorded: ${detail}` })
          )
        )
      }))
    )
  }
)
