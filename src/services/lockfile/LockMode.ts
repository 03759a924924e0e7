// What a missing or broken lock means for a call. Config says it; a call can only tighten.
import { Schema } from "effect"

/** `off`: locks are not looked at. `warn`: the result says what differs. `strict`: nothing runs that is not as locked. */
export const LockMode = Schema.Literals(["off", "warn", "strict"])
export type LockMode = typeof LockMode.Type

const rank: Readonly<Record<LockMode, number>> = { off: 0, warn: 1, strict: 2 }

export const isAtLeast = (mode: LockMode, floor: LockMode): boolean => rank[mode] >= rank[floor]

export const stricter = (a: LockMode, b: LockMode | undefined): LockMode => b !== undefined && isAtLeast(b, a) ? b : a
