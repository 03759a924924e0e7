// What a caller should know although it did not stop the action.
import { Context, Effect, Schema } from "effect"

export const CallWarning = Schema.Struct({ code: Schema.String, message: Schema.String })
export type CallWarning = typeof CallWarning.Type

/** Receives warnings for which the answer itself has no place. Surfaces show them. Default: the log. */
export const CallWarnings = Context.Reference<{ readonly warn: (warning: CallWarning) => Effect.Effect<void> }>(
  "kiwi/services/call/CallWarnings",
  { defaultValue: () => ({ warn: ({ code, message }) => Effect.logWarning(`${code}: ${message}`) }) }
)
