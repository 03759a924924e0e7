// Secrets that Kiwi itself put into a call: which of its variables they are, and how they are taken out of everything
// that leaves the call.
import { Redacted } from "effect"
import type { Schema } from "effect"
import { redactText, redactValue } from "../../services/audit/redaction.ts"
import { isSecretKey } from "../../services/audit/secretNames.ts"
import type { EnvVariable, ResolvedEnv } from "../../services/env/EnvResolver.ts"
import type { ChainReason, ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../services/proxy/ToolProxy.ts"

export type Secrets = ReadonlyArray<Redacted.Redacted<string>>

const secretName = /(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?|AUTH|PAT|DSN)(?:_|$)/i

/** Whatever a `.env` file says is a secret; of the rest, what has the name of one. */
export const isSecret = ({ name, origin }: EnvVariable): boolean =>
  origin.endsWith(".env") || origin.endsWith(".env.local") || secretName.test(name) || isSecretKey(name)

/** Also those that only config or ENV_CONFIG may name: what they became part of reaches the child under other names. */
export const secretsOf = (env: ResolvedEnv): Secrets => {
  const found = new Map<string, Redacted.Redacted<string>>()
  for (const variables of [env.declared, env.child]) {
    for (const variable of variables.values()) {
      if (isSecret(variable)) found.set(Redacted.value(variable.value), variable.value)
    }
  }
  return [...found.values()]
}

/** Whether the variable of this name holds a secret in this environment. */
export const namesSecret = (env: ResolvedEnv | undefined, name: string): boolean => {
  const variable = env?.declared.get(name) ?? env?.child.get(name)
  return variable !== undefined && isSecret(variable)
}

const isPlain = (value: unknown): value is Schema.Json =>
  value === null || typeof value !== "object" || Array.isArray(value) ||
  Object.getPrototypeOf(value) === Object.prototype

/** The same error over the same fields, each without the secrets. Every field of a reason is JSON. */
const redactReason = (reason: ChainReason, secrets: Secrets): ChainReason => {
  const Same = reason.constructor as new(fields: object) => ChainReason
  return new Same(
    Object.fromEntries(
      Object.entries(reason).map(([key, value]: [string, unknown]) => [
        key,
        key !== "_tag" && isPlain(value) ? redactValue(value, secrets) : value
      ])
    )
  )
}

/** Errors of tools quote what the tool said and what its config became. */
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
