// Secrets that a person gave Kiwi by name, for tools that declare them as `keychain:NAME`. Stored in Kiwi's own
// namespace of the keychain or, if there is none, in files under `$KIWI_HOME/secrets`. Names are not secret. Values are
// never listed, logged or hashed.
import { Context, type Effect, type Redacted, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "../trust/HumanAct.ts"
import { VaultPlace } from "../vault/VaultPlace.ts"
import type { LockError } from "../workspace/ProcessLock.ts"

const secretName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export const isSecretName = (name: string): boolean => secretName.test(name)

const prefix = "keychain:"

/** Whether a variable's value refers to a secret. */
export const isSecretReference = (value: string): boolean => value.startsWith(prefix)

/** The name in `keychain:NAME`. Undefined if it is not a valid reference. */
export const secretNameOf = (reference: string): string | undefined => {
  const name = reference.slice(prefix.length).trim()
  return isSecretReference(reference) && isSecretName(name) ? name : undefined
}

/** Nobody has stored a secret under this name. */
export class SecretMissing extends Schema.TaggedError<SecretMissing>()("SecretMissing", {
  name: Schema.String,
  /** Names of the variables that refer to it. */
  variables: Schema.Array(Schema.String)
}) {
  override get message() {
    const { name, variables } = this
    return `${variables.join(", ")} ${
      variables.length === 1 ? "refers" : "refer"
    } to keychain:${name}, and nothing is stored under that name`
  }
  get remediation() {
    return `kiwi env secret set ${this.name}`
  }
}

/** The secret is stored but cannot be read now, or it cannot be stored. */
export class SecretUnavailable extends Schema.TaggedError<SecretUnavailable>()("SecretUnavailable", {
  name: Schema.String,
  detail: Schema.String,
  remedy: Schema.String,
  /** True if storing failed, not reading. */
  storing: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    return `The secret ${this.name} could not be ${this.storing === true ? "stored" : "opened"}: ${this.detail}`
  }
  get remediation() {
    return this.remedy
  }
}

/** The text is not a valid name for a secret. */
export class SecretNameInvalid extends Schema.TaggedError<SecretNameInvalid>()("SecretNameInvalid", {
  name: Schema.String
}) {
  override get message() {
    return `${JSON.stringify(this.name.slice(0, 80))} is not a valid name for a secret`
  }
  get remediation() {
    return "Choose a name of up to 64 letters, digits, . _ and - that starts with a letter or a digit: kiwi env secret set github"
  }
}

/** Where a secret is stored. */
export const SecretPlace = VaultPlace
export type SecretPlace = VaultPlace

export interface StoredSecret {
  readonly name: string
  readonly storedIn: SecretPlace
}

export class SecretStore extends Context.Service<SecretStore, {
  /** Names only. Does not access the keychain. */
  readonly list: Effect.Effect<ReadonlyArray<StoredSecret>>
  /** Undefined if nothing is stored under the name. */
  readonly get: (name: string) => Effect.Effect<Redacted.Redacted | undefined, SecretUnavailable>
  readonly proposeSet: (name: string) => Effect.Effect<HumanRequest, SecretNameInvalid>
  /** Fails as `HumanRequired` if the act was given for something else. The same for `remove`. */
  readonly set: (
    name: string,
    value: Redacted.Redacted,
    act: HumanAct
  ) => Effect.Effect<StoredSecret, SecretUnavailable | HumanRequired | WriteRefused | LockError>
  readonly proposeRemove: (name: string) => Effect.Effect<HumanRequest, SecretNameInvalid>
  /** Returns whether there was one. */
  readonly remove: (
    name: string,
    act: HumanAct
  ) => Effect.Effect<boolean, SecretUnavailable | HumanRequired | WriteRefused | LockError>
}>()("kiwi/services/identity/SecretStore") {}
