// What callers ask of a person who is not asked by a call: they are stuck, or they leave a decision to a person. Each
// stays until a person has dealt with it.
import { Context, Effect, Schema } from "effect"
import type { Caller } from "../call/Caller.ts"
import { Underlying } from "../error/KiwiError.ts"

/** The limits of what one request says, in characters and in options. Longer texts are cut. */
const longestReason = 2_000
const longestContext = 4_000
const longestOption = 200
const mostOptions = 10

/** How many may wait: of one caller, and of a project. */
const mostOfCaller = 20
const mostOfProject = 100

/** How many answers wait for their callers. The oldest go. */
export const mostAnswers = 20

/** Everything but `id`, `client`, `session`, `priority` and `at` is the caller's own text: show it with `safeText`. */
export const Intervention = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals(["stuck", "escalation"]),
  /** The caller's name in policy, and its session in the audit. */
  client: Schema.String,
  session: Schema.String,
  /** What the caller calls its own session. */
  session_id: Schema.optionalKey(Schema.String),
  reason: Schema.String,
  options: Schema.Array(Schema.String),
  /** JSON. */
  context: Schema.optionalKey(Schema.String),
  /** How often the caller has said that it is stuck. */
  attempts: Schema.Int,
  priority: Schema.Literals(["normal", "high"]),
  /** Milliseconds. */
  at: Schema.Finite,
  /** What a person answered, empty without words. It waits for the caller, and no longer for a person. */
  answer: Schema.optionalKey(Schema.String)
})
export type Intervention = typeof Intervention.Type

/** As many requests of this caller wait as may wait. */
export class InterventionsFull extends Schema.TaggedError<InterventionsFull>()("InterventionsFull", {
  waiting: Schema.Int
}) {
  override get message() {
    return `${this.waiting} requests to a person wait already, and no more are taken`
  }
  get remediation() {
    return "Wait until a person has answered some of them, and go on with something else"
  }
  get retryable() {
    return true
  }
}

/** The requests to a person could not be read or written. */
export class InterventionsUnavailable
  extends Schema.TaggedError<InterventionsUnavailable>()("InterventionsUnavailable", {
    detail: Schema.String,
    cause: Schema.optionalKey(Underlying)
  })
{
  override get message() {
    return `Requests to a person cannot be kept: ${this.detail}`
  }
  get remediation() {
    return "Tell the person what you need. `kiwi doctor` checks the usual causes"
  }
}

export type InterventionsError = InterventionsFull | InterventionsUnavailable

export interface InterventionRequest
  extends Pick<Intervention, "kind" | "reason" | "options" | "priority" | "attempts">
{
  readonly caller: Caller
  readonly sessionId: string | undefined
  readonly context: Schema.Json | undefined
}

export class Interventions extends Context.Service<Interventions, {
  /**
   * Files a request and returns its id. A session has at most one request of kind `stuck`: another replaces what it
   * says.
   */
  readonly file: (request: InterventionRequest) => Effect.Effect<string, InterventionsError>
  /** Those that wait, oldest first. */
  readonly waiting: Effect.Effect<ReadonlyArray<Intervention>, InterventionsUnavailable>
  /** A person has dealt with it. Returns whether it was there. `answer` is kept until the caller takes it. */
  readonly settle: (id: string, answer?: string) => Effect.Effect<boolean, InterventionsUnavailable>
  /** An answer to this reason, or without one to the caller's session. It is given once. */
  readonly takeAnswer: (
    caller: Caller,
    reason: string
  ) => Effect.Effect<Intervention | undefined, InterventionsUnavailable>
  /** Counts that a session says that it is stuck. `said`: how often it says that it has tried; it can only raise. */
  readonly countStuck: (caller: Caller, said: number | undefined) => Effect.Effect<number>
}>()("kiwi/services/limit/Interventions") {}

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

/** Whether an answer is for this caller. `reason` is what the caller says, not cut. */
export const isAnswerFor = ({ client, session }: Caller, reason: string) => (one: Intervention): boolean =>
  one.answer !== undefined && one.client === client &&
  (reason === "" ? one.session === session : one.reason === cut(reason, longestReason))

/** Adds a request to those that wait, or says that there is no room. */
export const addTo = (
  waiting: ReadonlyArray<Intervention>,
  { attempts, caller, context, kind, options, priority, reason, sessionId }: InterventionRequest,
  id: string,
  at: number
): Effect.Effect<{ readonly id: string; readonly waiting: ReadonlyArray<Intervention> }, InterventionsFull> => {
  const { client, session } = caller
  const before = kind === "stuck"
    ? waiting.find((one) => one.kind === "stuck" && one.client === client && one.session === session)
    : undefined
  const rest = waiting.filter((one) => one !== before)
  const others = rest.filter(({ answer }) => answer === undefined)
  if (others.length >= mostOfProject || others.filter((one) => one.client === client).length >= mostOfCaller) {
    return Effect.fail(new InterventionsFull({ waiting: others.length }))
  }
  const added: Intervention = {
    id: before?.id ?? id,
    kind,
    client,
    session,
    ...(sessionId === undefined ? {} : { session_id: cut(sessionId, longestOption) }),
    reason: cut(reason, longestReason),
    options: options.slice(0, mostOptions).map((option) => cut(option, longestOption)),
    ...(context === undefined ? {} : { context: cut(JSON.stringify(context), longestContext) }),
    attempts,
    priority,
    at
  }
  return Effect.succeed({ id: added.id, waiting: [...rest, added] })
}
