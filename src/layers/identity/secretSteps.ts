// Resolves the secrets that the environment refers to.
import { Effect, Redacted } from "effect"
import { fillSecrets } from "../../services/env/fillSecrets.ts"
import { secretsOf } from "../../services/env/secretVariables.ts"
import { SecretMissing, SecretStore } from "../../services/identity/SecretStore.ts"
import { blame, linkNaming } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"

/** Reads the values of `keychain:NAME`, after all checks that this tool may have them. Free if there are none. */
export const resolveSecrets = Effect.gen(function*() {
  const secrets = yield* SecretStore

  return Effect.fnUntracedEager(function*(
    facts: Facts<"chain" | "env">
  ) {
    const { chain, env } = facts
    if (env.references === undefined) return
    const opened = new Map<string, Redacted.Redacted>()
    for (const name of env.references) {
      const variables = () => [
        ...new Set(
          [...env.declared.values(), ...env.child.values()].filter(({ secret }) => secret === name).map((one) =>
            one.name
          )
        )
      ]
      const value = yield* Effect.mapError(
        secrets.get(name),
        (reason) => blame(chain, reason, linkNaming(chain, variables()))
      )
      if (value === undefined) return yield* blame(chain, new SecretMissing({ name, variables: variables() }))
      opened.set(name, value)
    }
    const filled = fillSecrets(env, opened)
    return { env: filled, secrets: secretsOf(filled) }
  })
})
