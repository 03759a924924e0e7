// Ids of calls and sessions: random, so that those of processes side by side differ.
import { Effect, Random } from "effect"

/** 24 hex digits. Names a call in the audit; nothing is decided by it. */
export const newCallId: Effect.Effect<string> = Random.Random.use((random) => {
  const digits = () => Math.floor(random.nextDoubleUnsafe() * 0x1_0000_0000).toString(16).padStart(8, "0")
  return Effect.succeed(digits() + digits() + digits())
})
