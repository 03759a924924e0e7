// Which failures are worth a retry of the same request, and when. Whether a request may be repeated at all depends on
// its method and its tool.
import { Schema } from "effect"
import type { OutboundFailed } from "./Outbound.ts"

/** Names of failures in `retryable_errors`, besides statuses: `503`, or `503_SERVICE_UNAVAILABLE`. */
const failureNames = ["CONNECTION_REFUSED", "CONNECTION_RESET", "TIMEOUT", "STREAM_INCOMPLETE"] as const
const statusName = /^([45][0-9]{2})(?:_[A-Z][A-Z_]{0,60})?$/

export const RetryableError = Schema.String.check(
  Schema.makeFilter((text) =>
    failureNames.some((name) => name === text) || statusName.test(text) ||
    `one of ${failureNames.join(", ")}, or a status like 503`
  )
)

/** 408, 425, 429 and 5xx, except those that are permanent. */
const isPromising = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 ||
  (status >= 500 && status <= 599 && status !== 501 && status !== 505)

export const promises = {
  status: (status: number, named: ReadonlyArray<string> | undefined): boolean =>
    named === undefined ? isPromising(status) : named.some((name) => Number(statusName.exec(name)?.[1]) === status),
  failure: ({ kind, transient }: OutboundFailed, named: ReadonlyArray<string> | undefined): boolean =>
    named === undefined ? transient : kind !== undefined && named.includes(kind)
}

const httpDate = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/

/** Milliseconds to wait, from the server's Retry-After: seconds or a date. `Date.parse` alone reads "-5" as a year. */
export const retryAfter = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined
  const text = value.trim()
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1_000
  const date = httpDate.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
