// Calls that were answered as running, and go on. A surface that answers so provides them for its caller's session;
// by default there are none.
import { Context, type Effect, Schema } from "effect"

export interface RunningCall {
  /** The end of what it has said so far, without secrets. */
  readonly output: () => string
  /** Its answer, waiting at most so many milliseconds. Undefined: it still runs. */
  readonly answer: (wait: number) => Effect.Effect<Schema.JsonObject | undefined>
  /** Ends it with everything that it started. */
  readonly stop: Effect.Effect<void>
}

/** The session has no such call. */
export class CallUnknown extends Schema.TaggedError<CallUnknown>()("CallUnknown", { callId: Schema.String }) {
  override get message() {
    return `There is no call ${this.callId} that this session could follow`
  }
  get remediation() {
    return "Use the call_id of an answer with the status running, in the same session, before its result was read"
  }
}

/** The running calls of the caller's own session. */
export const RunningCalls = Context.Reference<{
  readonly find: (callId: string) => RunningCall | undefined
  /** Its answer was read: it need not be kept. */
  readonly forget: (callId: string) => void
}>("kiwi/services/call/RunningCalls", { defaultValue: () => ({ find: () => undefined, forget: () => {} }) })
