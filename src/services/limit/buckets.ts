// Token buckets, by caller and limit: how many tokens each had, and when. Pure.
import { Schema } from "effect"
import type { Rate } from "./Limits.ts"

/** Below zero, tokens are owed: by calls that wait, or by another process that did not know of them yet. */
export const Bucket = Schema.Struct({
  tokens: Schema.Finite,
  /** Milliseconds. */
  at: Schema.Finite
})
export type Bucket = typeof Bucket.Type

/**
 * A bucket as it is now. Without one it is full. A clock that goes back gives nothing, and neither does a time in the
 * future.
 */
export const refill = (bucket: Bucket | undefined, { period, tokens: most }: Rate, now: number): Bucket => {
  if (bucket === undefined) return { tokens: most, at: now }
  const gained = (Math.max(0, now - bucket.at) / period) * most
  return { tokens: Math.min(most, Math.max(-most, bucket.tokens) + gained), at: now }
}

/** Milliseconds until a bucket has a whole token. */
export const waitFor = ({ tokens }: Bucket, { period, tokens: most }: Rate): number =>
  tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / most) * period)
