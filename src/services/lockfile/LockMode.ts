// What a missing lock, or one that does not hold, means for a call. A setting says it, and a call can only be stricter.
import { Schema } from "effect"

/** `off`: locks are not read. `warn`: the result says what differs. `strict`: only what is as it was locked runs. */
export const LockMode = Schema.Literals(["off", "warn", "strict"])
export type LockMode = typeof LockMode.Type

const rank: Readonly<Record<LockMode, number>> = { off: 0, warn: 1, strict: 2 }

export const isAtLeast = (mode: LockMode, floor: LockMode): boolean => rank[mode] >= rank[floor]

export const stricter = (a: LockMode, b: LockMode | undefined): LockMode => b !== undefined && isAtLeast(b, a) ? b : a
