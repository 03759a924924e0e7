// Which variables of an environment hold secrets. Whoever redacts and whoever explains ask here, so that what is shown
// nowhere is one thing.
import { Redacted } from "effect"
import { isSecretKey } from "../audit/secretNames.ts"
import type { EnvVariable, ResolvedEnv } from "./EnvResolver.ts"

const secretName = /(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?|AUTH|PAT|DSN)(?:_|$)/i

/** Whatever a keychain or a `.env` file says is a secret; of the rest, what has the name of one. */
export const isSecret = ({ name, origin, secret }: EnvVariable): boolean =>
  secret !== undefined || origin.endsWith(".env") || origin.endsWith(".env.local") || secretName.test(name) ||
  isSecretKey(name)

/** Also those that only config or ENV_CONFIG may name: what they became part of reaches the child under other names. */
export const secretsOf = (env: ResolvedEnv): ReadonlyArray<Redacted.Redacted<string>> => {
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
