// A keychain in memory. `layerUnavailable` stands for a machine without one.
import { Effect, Layer, type Redacted } from "effect"
import { Keychain, KeychainUnavailable } from "../../services/identity/Keychain.ts"

export const make = Effect.sync(() => {
  const secrets = new Map<string, Redacted.Redacted>()
  return Keychain.of({
    get: (account) => Effect.sync(() => secrets.get(account)),
    set: (account, secret) => Effect.sync(() => void secrets.set(account, secret)),
    remove: (account) => Effect.sync(() => secrets.delete(account))
  })
})

export const layer = Layer.effect(Keychain, make)

const refuse = new KeychainUnavailable({ detail: "there is none" })

export const layerUnavailable = Layer.succeed(
  Keychain,
  Keychain.of({ get: () => Effect.fail(refuse), set: () => Effect.fail(refuse), remove: () => Effect.fail(refuse) })
)
