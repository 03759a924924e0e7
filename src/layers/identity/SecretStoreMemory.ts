// Secrets in memory: given at the start, or set by an act.
import { Effect, Layer, Redacted } from "effect"
import { isSecretName, SecretNameInvalid, SecretStore } from "../../services/identity/SecretStore.ts"
import { type HumanRequest, requireAct } from "../../services/trust/HumanAct.ts"
import { sha256 } from "./sha256.ts"

const requestFor = (what: "set" | "remove", name: string): HumanRequest => ({
  kind: "secret",
  title: `${what} the secret ${name}`,
  details: "",
  digest: sha256(JSON.stringify([what, name])),
  command: `kiwi env secret ${what} ${name}`
})

export const make = (given: Readonly<Record<string, string>> = {}) =>
  Effect.sync(() => {
    const secrets = new Map(Object.entries(given).map(([name, value]) => [name, Redacted.make(value)] as const))
    const propose = (what: "set" | "remove") => (name: string) =>
      isSecretName(name) ? Effect.succeed(requestFor(what, name)) : Effect.fail(new SecretNameInvalid({ name }))
    return SecretStore.of({
      list: Effect.sync(() => [...secrets.keys()].toSorted().map((name) => ({ name, storedIn: "keychain" as const }))),
      get: (name) => Effect.sync(() => secrets.get(name)),
      proposeSet: propose("set"),
      set: (name, value, act) =>
        Effect.as(
          Effect.tap(requireAct(requestFor("set", name), act), () => Effect.sync(() => secrets.set(name, value))),
          { name, storedIn: "keychain" as const }
        ),
      proposeRemove: propose("remove"),
      remove: (name, act) =>
        Effect.andThen(requireAct(requestFor("remove", name), act), Effect.sync(() => secrets.delete(name)))
    })
  })

export const layerWith = (given: Readonly<Record<string, string>>) => Layer.effect(SecretStore, make(given))

export const layer = layerWith({})
