// Secrets of tools, in a vault of their own: the keychain, or files under `$KIWI_HOME/secrets`.
import { Effect, Layer, Redacted } from "effect"
import { isSecretName, SecretNameInvalid, SecretStore, SecretUnavailable } from "../../services/identity/SecretStore.ts"
import { type HumanAct, type HumanRequest, requireAct } from "../../services/trust/HumanAct.ts"
import type { ValueLocked, ValueUnavailable } from "../vault/slots.ts"
import * as Vault from "../vault/Vault.ts"
import { givenPassphrase } from "./key/newPassphrase.ts"
import { sha256 } from "./sha256.ts"

const requestFor = (what: "set" | "remove", name: string): HumanRequest => ({
  kind: "secret",
  title: what === "set" ? `Store a secret as ${name}` : `Remove the secret ${name}`,
  details: what === "set"
    ? `Tools that you have signed can then use it if they declare a variable as keychain:${name}.`
    : `Tools that refer to keychain:${name} do not run any more.`,
  digest: sha256(JSON.stringify(["secret", what, name])),
  command: `kiwi env secret ${what} ${name}`
})

const unavailable = (name: string, detail: string, remedy: string) => new SecretUnavailable({ name, detail, remedy })

const listUnreadable = (name: string, { cause }: Vault.ListUnreadable) =>
  unavailable(
    name,
    "the list of secrets, secrets.json in $KIWI_HOME, is not what Kiwi writes",
    cause._tag === "ReadRefused"
      ? cause.remediation
      : "Move $KIWI_HOME/secrets.json away, and set your secrets again"
  )

const unreadable = (name: string, error: ValueUnavailable | ValueLocked | Vault.ListUnreadable) => {
  const again = `kiwi env secret set ${name}`
  if (error._tag === "ListUnreadable") return listUnreadable(name, error)
  if (error._tag === "ValueLocked") {
    return unavailable(
      name,
      error.passphrase === "missing"
        ? "its file is encrypted and KIWI_PASSPHRASE is not set"
        : "this passphrase does not open its file",
      `Set KIWI_PASSPHRASE to what it was when the secret was stored, or store it anew: ${again}`
    )
  }
  const detail = error.why === "file" ? `its file in $KIWI_HOME/secrets ${error.detail}` : error.detail
  return unavailable(name, detail, error.remedy === undefined ? again : `${error.remedy}, or store it anew: ${again}`)
}

export const make = Effect.gen(function*() {
  const vault = yield* Vault.make({ kind: "secret", title: "The secret", passphrase: yield* givenPassphrase })

  const set = Effect.fn("SecretStore.set")(function*(name: string, value: Redacted.Redacted, act: HumanAct) {
    yield* requireAct(requestFor("set", name), act)
    const { length } = Redacted.value(value)
    if (!isSecretName(name) || length === 0 || length > Vault.longestValue) {
      const detail = length === 0
        ? "it is empty"
        : length > Vault.longestValue
        ? "it is too long"
        : "its name is not valid"
      const remedy = `A secret has 1 to ${Vault.longestValue} characters: kiwi env secret set NAME`
      return yield* new SecretUnavailable({ name, detail, remedy, storing: true })
    }
    const storedIn = yield* vault.put(name, value).pipe(
      Effect.catchTags({
        ListUnreadable: (error) => Effect.fail(listUnreadable(name, error)),
        NotSealed: () => Effect.fail(unavailable(name, "it could not be encrypted", "Free some memory and try again"))
      })
    )
    return { name, storedIn }
  })

  const remove = Effect.fn("SecretStore.remove")(function*(name: string, act: HumanAct) {
    yield* requireAct(requestFor("remove", name), act)
    return yield* vault.remove(name).pipe(
      Effect.catchTags({
        ListUnreadable: (error) => Effect.fail(listUnreadable(name, error)),
        KeychainUnavailable: (error) => Effect.fail(unavailable(name, error.message, error.remediation))
      })
    )
  })

  const propose = (what: "set" | "remove") => (name: string) =>
    isSecretName(name) ? Effect.succeed(requestFor(what, name)) : Effect.fail(new SecretNameInvalid({ name }))

  return SecretStore.of({
    list: Effect.orElseSucceed(vault.list, () => []).pipe(
      Effect.map((entries) => entries.map(({ name, storedIn }) => ({ name, storedIn })))
    ),
    get: Effect.fn("SecretStore.get")((name) => Effect.mapError(vault.get(name), (error) => unreadable(name, error))),
    proposeSet: propose("set"),
    set,
    proposeRemove: propose("remove"),
    remove
  })
})

export const layer = Layer.effect(SecretStore, make)
