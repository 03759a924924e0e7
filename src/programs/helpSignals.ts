// Help's signals: a caller says that it is stuck, or leaves a decision to a person. What it writes is kept for a person
// to read, and nothing is done by it.
import { Effect } from "effect"
import type { Schema } from "effect"
import { redactParameters, redactWords } from "../services/audit/redaction.ts"
import type { Caller } from "../services/call/Caller.ts"
import { Interventions } from "../services/limit/Interventions.ts"
import { govern } from "./govern.ts"

export interface HelpSignal {
  readonly action: "stuck" | "escalate"
  readonly callId?: string | undefined
  /** What the caller calls its session. Nothing is counted by it. */
  readonly sessionId?: string | undefined
  readonly reason?: string | undefined
  /** How often the caller has tried. Kiwi counts too, and the larger number holds. */
  readonly attempts?: number | undefined
  readonly options?: ReadonlyArray<string> | undefined
  readonly context?: Schema.JsonObject | undefined
}

export type Signalled =
  | {
    readonly status: "stuck_acknowledged"
    readonly action: "retry_suggested" | "awaiting_intervention"
    readonly session_id: string
    readonly suggestion: string
  }
  | {
    readonly status: "escalated"
    readonly approval_id: string
    readonly action: "awaiting_human_decision"
    readonly suggestion: string
  }
  | { readonly status: "answered"; readonly approval_id: string; readonly action: "go_on"; readonly answer: string }
  | {
    readonly status: "closed"
    readonly approval_id: string
    readonly action: "go_on_without"
    readonly suggestion: string
  }
  | { readonly status: "not_escalated"; readonly action: "give_a_reason"; readonly suggestion: string }

/** From how many attempts on a person is told, and from how many it is urgent. */
const tellFrom = 4
const urgentFrom = 6

const suggestRetry =
  "Read the last error and do what its remediation says. Load the item for its parameters, try with dry_run, or search " +
  "for another tool. Do not repeat the same call"
const suggestReason = "No answer waits for you. To ask, give the question as reason, and the choices as options"
const suggestAnswer = (id: string) =>
  `Tell the person to answer with: kiwi inbox --done ${id} --say TEXT. Then repeat the same call: it returns the answer`
const suggestOther =
  "A person has read the question and gave no answer in words. Do not ask the same again: go on without it, or end your " +
  "turn and say what you need"
const suggestWait =
  "A person has been told, and sees what you wrote. Go on with something else, or end your turn and say what you need"

export const signalHelp = Effect.fn("signalHelp")((signal: HelpSignal, caller: Caller) => {
  const { action, attempts: said, callId, context, options = [], reason = "", sessionId } = signal
  return govern(
    {
      caller,
      callId,
      operation: `help ${action}`,
      subject: { item: action },
      parameters: { session_id: sessionId, reason, attempts: said, options, context },
      lost: "warn"
    },
    () => Effect.succeed({ action: { _tag: "SignalHelp", signal: action } as const }),
    () =>
      Effect.gen(function*() {
        const interventions = yield* Interventions
        const shown = context === undefined ? undefined : redactParameters(context, [])
        const request = {
          caller,
          sessionId,
          reason: redactWords(reason, []),
          options: options.map((option) => redactWords(option, [])),
          context: shown
        }
        if (action === "escalate") {
          const answered = yield* interventions.takeAnswer(caller, request.reason)
          if (answered?.answer === "") {
            return {
              status: "closed",
              approval_id: answered.id,
              action: "go_on_without",
              suggestion: suggestOther
            } satisfies Signalled
          }
          if (answered?.answer !== undefined) {
            return {
              status: "answered",
              approval_id: answered.id,
              action: "go_on",
              answer: answered.answer
            } satisfies Signalled
          }
          if (reason.trim() === "") {
            return { status: "not_escalated", action: "give_a_reason", suggestion: suggestReason } satisfies Signalled
          }
          const asked = (yield* interventions.waiting).find((one) =>
            one.kind === "escalation" && one.client === caller.client && one.session === caller.session &&
            one.reason === request.reason
          )
          const id = asked?.id ??
            (yield* interventions.file({ ...request, kind: "escalation", attempts: said ?? 0, priority: "normal" }))
          return {
            status: "escalated",
            approval_id: id,
            action: "awaiting_human_decision",
            suggestion: suggestAnswer(id)
          } satisfies Signalled
        }
        const attempts = yield* interventions.countStuck(caller, said)
        const isTold = attempts >= tellFrom
        if (isTold) {
          const priority = attempts >= urgentFrom ? "high" : "normal"
          yield* interventions.file({ ...request, kind: "stuck", attempts, priority })
        }
        return {
          status: "stuck_acknowledged",
          action: isTold ? "awaiting_intervention" : "retry_suggested",
          session_id: sessionId ?? caller.session,
          suggestion: isTold ? suggestWait : suggestRetry
        } satisfies Signalled
      })
  )
})
