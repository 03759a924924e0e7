// Answering what waits for a person, and going on with a call once it is answered.
import { Clock, Duration, Effect, Option } from "effect"
import type { ApprovalAnswer } from "../services/approval/Approval.ts"
import { ApprovalPending } from "../services/approval/ApprovalErrors.ts"
import { ApprovalNotices } from "../services/approval/ApprovalNotices.ts"
import type { AnswerOptions } from "../services/approval/ApprovalStore.ts"
import { ApprovalStore } from "../services/approval/ApprovalStore.ts"
import type { AuditLog } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/call/Caller.ts"
import { CallEvents } from "../services/call/CallEvents.ts"
import { NestedApproval } from "../services/proxy/nesting.ts"
import type { HumanGate } from "../services/trust/HumanAct.ts"
import { asHuman } from "./humanAct.ts"
import { lookAgain } from "./lookAgain.ts"

/** A person answers one request. `id`: its own, or that of a session with one waiting request. */
export const answerApproval = Effect.fnUntraced(function*(id: string, caller: Caller, options: AnswerOptions = {}) {
  const store = yield* ApprovalStore
  const { approval, question } = yield* store.propose(id, options)
  return yield* asHuman(question, caller, (act) => store.answer(approval.id, act, options))
})

/** A person refuses all that waits, or all of one session. Returns how many. */
export const refuseApprovals = Effect.fnUntraced(function*(caller: Caller, session?: string) {
  const store = yield* ApprovalStore
  const { question } = yield* store.proposeRefusal(session)
  return yield* asHuman(question, caller, (act) => store.refuse(act, session))
})

/** The answers of `kiwi approve`. */
export const approving: ReadonlyArray<ApprovalAnswer> = ["once", "session", "always"]

const isPending = (error: { readonly _tag: string }): error is ApprovalPending => error._tag === "ApprovalPending"

/** A call can be asked about twice: where the rules change while a person reads. */
const mostQuestions = 3

/** How often a waiting call reports that it waits. */
const reportEvery = Duration.seconds(5)

/** Waits for another surface's answer, for `wait` milliseconds. Returns whether there is one. */
const awaitAnswer = Effect.fnUntraced(function*({ id }: ApprovalPending, wait: number) {
  const store = yield* ApprovalStore
  const { emit } = yield* CallEvents
  const started = yield* Clock.currentTimeMillis
  const isAnswered = Effect.map(store.list, (all) => all.find((one) => one.id === id)?.state !== "pending")
  const report = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    emit({
      _tag: "Progress",
      message: `waits for a person to answer request ${id}, for ${Math.round((now - started) / 1_000)} s`
    }))
  const answered = Effect.repeat(isAnswered, { until: (is) => is, schedule: lookAgain })
  const reports = Effect.forever(Effect.delay(report, reportEvery))
  const inTime = yield* Effect.timeoutOption(Effect.raceFirst(answered, reports), wait)
  return Option.isSome(inTime) || (yield* isAnswered)
})

/**
 * Runs a call. If a person has to agree, asks them on this surface and runs the call again. `wait`: how long to wait for
 * another surface's answer where nobody can be asked on this one, in milliseconds. The call fails as `ApprovalPending`
 * as long as there is no answer.
 */
export const withApproval = <A, E extends { readonly _tag: string }, R>(
  call: Effect.Effect<A, E, R>,
  caller: Caller,
  wait: number
) => asking(call, caller, wait, false)

/**
 * `isNested`: a tool makes the call. It waits while the person is asked, since the tool cannot be run again for the
 * answer.
 */
const asking = <A, E extends { readonly _tag: string }, R>(
  call: Effect.Effect<A, E, R>,
  caller: Caller,
  wait: number,
  isNested: boolean
) =>
  Effect.gen(function*() {
    const services = yield* Effect.context<ApprovalNotices | ApprovalStore | AuditLog | HumanGate>()
    const nested: (typeof NestedApproval)["Service"] = {
      ask: (inner) => Effect.provide(asking(inner, caller, wait, true), services)
    }
    for (let questions = 1;; questions++) {
      const result = yield* Effect.result(Effect.provideService(call, NestedApproval, nested))
      if (result._tag === "Success") return result.success
      const error: E | ApprovalPending = result.failure
      if (!isPending(error) || questions > mostQuestions) return yield* Effect.fail(error)
      const notices = yield* ApprovalNotices
      yield* notices.announce(error.id, true)
      let unasked: string | undefined
      let closed = false
      const answered = yield* answerApproval(error.id, caller).pipe(
        Effect.as(true),
        Effect.catchTags({
          // It was answered on another surface, or is asked anew.
          ApprovalClosed: () => Effect.succeed(true),
          ApprovalNotFound: () => Effect.succeed(true),
          HumanDeclined: () => {
            closed = true
            return Effect.as(Effect.flatMap(ApprovalStore, (store) => store.dismiss(error.id)), false)
          },
          HumanRequired: (required) => {
            if (required.asked === true && !isNested) return Effect.fail(required)
            unasked = required.why
            return Effect.andThen(
              notices.announce(error.id, false),
              wait > 0 ? awaitAnswer(error, wait) : Effect.succeed(false)
            )
          }
        })
      )
      if (!answered) {
        return yield* new ApprovalPending({
          ...error,
          ...(unasked === undefined ? {} : { unasked }),
          ...(closed ? { closed } : {})
        })
      }
    }
  })
