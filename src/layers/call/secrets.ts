// Secrets that Kiwi itself added to a call, and their removal from everything that leaves the call.
import type { Redacted, Schema } from "effect"
import { redactText, redactValue } from "../../services/audit/redaction.ts"
import { isKiwiError } from "../../services/error/KiwiError.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../services/proxy/ToolProxy.ts"

export type Secrets = ReadonlyArray<Redacted.Redacted<string>>

const isPlain = (value: unknown): value is Schema.Json =>
  value === null || typeof value !== "object" || Array.isArray(value) ||
  Object.getPrototypeOf(value) === Object.prototype

/** The same error with secrets removed from each field. Every field is JSON, except a cause, which is an error. */
const redactReason = <E extends KiwiError>(reason: E, secrets: Secrets): E => {
  const Same = reason.constructor as new(fields: object) => E
  return new Same({
    ...Object.fromEntries(
      Object.entries(reason).map(([key, value]: [string, unknown]) => [
        key,
        key !== "_tag" && isPlain(value) ? redactValue(value, secrets) : value
      ])
    ),
    ...(isKiwiError(reason.cause) ? { cause: redactReason(reason.cause, secrets) } : {})
  })
}

/** Errors quote the tool's output and its config with data. */
export const redactError = (error: ToolCallError, secrets: Secrets): ToolCallError => {
  if (secrets.length === 0 || error._tag !== "ToolChainError") return error
  return new ToolChainError({
    chain: error.chain,
    failedAt: {
      ...error.failedAt,
      validationErrors: error.failedAt.validationErrors.map(({ error: issue, field, value }) => ({
        field: redactText(field, secrets),
        error: redactText(issue, secrets),
        ...(value === undefined ? {} : { value: redactValue(value, secrets) })
      }))
    },
    reason: redactReason(error.reason, secrets)
  })
}
