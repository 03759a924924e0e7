// Secrets that Kiwi itself put into a call are taken out of what comes back. Short values are left: replacing every
// "1" would destroy the answer and hide nothing.
import { Redacted } from "effect"
import type { Schema } from "effect"
import type { EnvVariable, ResolvedEnv } from "../../services/env/EnvResolver.ts"

const mark = "‹redacted›"
const secretName = /(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?|AUTH|PAT|DSN)(?:_|$)/i

const isSecret = ({ name, origin }: EnvVariable): boolean =>
  origin.endsWith(".env") || origin.endsWith(".env.local") || secretName.test(name)

/** Values of a call that must not come back out: from `.env` files, or under a name that says so; 8 characters and more. */
export const secretsOf = (env: ResolvedEnv | undefined): ReadonlyArray<Redacted.Redacted<string>> => {
  if (env === undefined) return []
  const secrets: Array<Redacted.Redacted<string>> = []
  for (const variable of env.child.values()) {
    if (isSecret(variable) && Redacted.value(variable.value).length >= 8) secrets.push(variable.value)
  }
  return secrets
}

/** Whether the variable of this name holds a secret in this environment. */
export const isSecretName = (env: ResolvedEnv | undefined, name: string): boolean => {
  const variable = env?.declared.get(name)
  return variable !== undefined && isSecret(variable)
}

export const redactText = (text: string, secrets: ReadonlyArray<Redacted.Redacted<string>>): string =>
  secrets.reduce((acc, secret) => acc.replaceAll(Redacted.value(secret), mark), text)

/** Every string in a JSON value, keys included. */
export const redactValue = (value: Schema.Json, secrets: ReadonlyArray<Redacted.Redacted<string>>): Schema.Json => {
  if (secrets.length === 0) return value
  if (typeof value === "string") return redactText(value, secrets)
  if (Array.isArray(value)) return value.map((v: Schema.Json) => redactValue(v, secrets))
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, v]) => [redactText(key, secrets), redactValue(v, secrets)])
    )
  }
  return value
}
