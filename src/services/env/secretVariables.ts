// Which variables of an environment are secret. Redaction and `explain` both use this, so that they agree.
import { Redacted } from "effect"
import { isSecretKey } from "../audit/secretNames.ts"
import type { EnvVariable, ResolvedEnv } from "./EnvResolver.ts"

const secretName = /(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?|AUTH|PAT|DSN)(?:_|$)/i

/** Every value from a keychain or a `.env` file is a secret; of the others, those whose name says so. */
export const isSecret = ({ name, origin, secret }: EnvVariable): boolean =>
  secret !== undefined || origin.endsWith(".env") || origin.endsWith(".env.local") || secretName.test(name) ||
  isSecretKey(name)

/** Includes variables that only config or ENV_CONFIG may name: their values reach the child under other names. */
export const secretsOf = (env: ResolvedEnv): ReadonlyArray<Redacted.Redacted<string>> => {
  const found = new Map<string, Redacted.Redacted<string>>()
  for (const variables of [env.declared, env.child]) {
    for (const variable of variables.values()) {
      if (isSecret(variable)) found.set(Redacted.value(variable.value), variable.value)
    }
  }
  return [...found.values()]
}

/** Whether the variable with this name is a secret in this environment. */
export const namesSecret = (env: ResolvedEnv | undefined, name: string): boolean => {
  const variable = env?.declared.get(name) ?? env?.child.get(name)
  return variable !== undefined && isSecret(variable)
}
