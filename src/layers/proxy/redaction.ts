// Which values of a call are secrets that Kiwi itself put into it: they are taken out of what comes back. Short values
// are left: replacing every "1" would destroy the answer and hide nothing.
import { Redacted } from "effect"
import type { EnvVariable, ResolvedEnv } from "../../services/env/EnvResolver.ts"

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
