// Ids of calls and sessions: random, so that those of concurrent processes differ.
import { Effect, Random } from "effect"

/** 24 hex digits. Identifies a call in the audit; no decision depends on it. */
export const newCallId: Effect.Effect<string> = Random.Random.use((random) => {
  const digits = () => Math.floor(random.nextDoubleUnsafe() * 0x1_0000_0000).toString(16).padStart(8, "0")
  return Effect.succeed(digits() + digits() + digits())
})
