// Every human act has the same sequence: ask, record the answer, perform, record the outcome. The record has the digest
// of what was shown, how the person answered and the outcome; a refusal is recorded too. If the record cannot be
// written, the act is not performed.
import { Effect, Exit } from "effect"
import { AuditLog } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/call/Caller.ts"
import { HumanGate } from "../services/trust/HumanAct.ts"
import type { HumanAct, HumanRequest } from "../services/trust/HumanAct.ts"

/** Performs the act if the person behind the surface's HumanGate agrees to exactly this request. */
export const asHuman = Effect.fnUntraced(function*<A, E, R>(
  request: HumanRequest,
  caller: Caller,
  perform: (act: HumanAct) => Effect.Effect<A, E, R>
) {
  const gate = yield* HumanGate
  const audit = yield* AuditLog
  const record = (
    { by, choice, seen }: { readonly by: string; readonly choice?: string; readonly seen?: string },
    outcome: "agreed" | "done" | "declined" | "refused" | "failed"
  ) =>
    audit.append({
      kind: "act",
      act: request.kind,
      by,
      ...(seen === undefined ? {} : { seen }),
      ...(choice === undefined ? {} : { answer: choice }),
      caller,
      title: request.choices?.find(({ value }) => value === choice)?.act ?? request.title,
      digest: request.digest,
      outcome
    })
  const act = yield* gate.ask(request).pipe(
    Effect.tapErrorTag(
      "HumanDeclined",
      ({ by, seen }) => record({ by: by ?? caller.surface, ...(seen === undefined ? {} : { seen }) }, "declined")
    ),
    Effect.tapErrorTag(
      "HumanRequired",
      ({ asked, why }) =>
        asked === true
          ? Effect.void
          : Effect.ignore(record({ by: caller.surface, ...(why === undefined ? {} : { seen: why }) }, "refused"))
    )
  )
  return yield* Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
    yield* record(act, "agreed")
    const exit = yield* Effect.exit(restore(perform(act)))
    // The act is done by now. If this record is lost, the audit has an agreement without an outcome, and the act stays
    // done.
    yield* Effect.ignore(record(act, Exit.isSuccess(exit) ? "done" : "failed"))
    return yield* exit
  }))
})
