// Resolves the secrets that the environment refers to.
import { Effect, Redacted } from "effect"
import { fillSecrets } from "../../services/env/fillSecrets.ts"
import { secretsOf } from "../../services/env/secretVariables.ts"
import { SecretMissing, SecretStore } from "../../services/identity/SecretStore.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { blame, linkNaming } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"

/** Reads the values of `keychain:NAME`, after all checks that this tool may have them. Free if there are none. */
export const resolveSecrets = Effect.gen(function*() {
  const gate = yield* PermissionGate
  const secrets = yield* SecretStore

  return Effect.fnUntraced(function*(
    facts: Facts<"call" | "chain" | "env" | "verified">
  ) {
    const { call, chain, env, verified } = facts
    if (env.references === undefined) return
    for (const name of env.references) {
      yield* gate.allow(call.caller, { _tag: "UseSecret", chain, verified, name })
    }
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
