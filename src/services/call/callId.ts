// Ids of calls and sessions: random, so that those of concurrent processes differ.
import { Effect, Random } from "effect"

/** 24 hex digits. Identifies a call in the audit; no decision depends on it. */
export const newCallId: Effect.Effect<string> = Effect.map(
  Effect.forEach([0, 1, 2], () => Random.nextIntBetween(0, 0xffffffff)),
  (parts) => parts.map((n) => n.toString(16).padStart(8, "0")).join("")
)
