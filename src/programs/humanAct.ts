// Every human act goes the same way: ask, record, do, record. The record says what was shown (by digest), how the person
// answered and what came of it; a refusal is recorded too. Where it cannot be written, nothing is done: an act changes
// more than most calls do.
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
    { by, seen }: { readonly by: string; readonly seen?: string },
    outcome: "agreed" | "done" | "declined" | "refused" | "failed"
  ) =>
    audit.append({
      kind: "act",
      act: request.kind,
      by,
      ...(seen === undefined ? {} : { seen }),
      caller,
      title: request.title,
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
    // It is done by now: a record that is lost leaves an agreement without an outcome, and undoes nothing.
    yield* Effect.ignore(record(act, Exit.isSuccess(exit) ? "done" : "failed"))
    return yield* exit
  }))
})
