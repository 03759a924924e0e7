// What a call reports while it runs.
import { Context, Effect } from "effect"

export type CallEvent =
  | { readonly _tag: "Progress"; readonly message: string; readonly progress?: number; readonly total?: number }
  | { readonly _tag: "Chunk"; readonly channel: "stdout" | "stderr"; readonly text: string }

/** Receives a call's progress and chunks while it runs. Default: ignored. */
export const CallEvents = Context.Reference<{ readonly emit: (event: CallEvent) => Effect.Effect<void> }>(
  "kiwi/services/call/CallEvents",
  { defaultValue: () => ({ emit: () => Effect.void }) }
)
