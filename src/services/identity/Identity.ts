// Who you are to Kiwi: one Ed25519 key for items. The public key is always available; the private key is opened only
// while a person signs.
import { Context, type Effect, type Redacted, Schema } from "effect"
import { Underlying } from "../error/KiwiError.ts"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "../trust/HumanAct.ts"
import type { Signer } from "../trust/SignerTrust.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { PassphraseRefused } from "./passphrase.ts"

/** The key exists but cannot be opened, or no key can be made. A new key never replaces it. */
export class KeyUnavailable extends Schema.TaggedError<KeyUnavailable>()("KeyUnavailable", {
  detail: Schema.String,
  remedy: Schema.String,
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    return `Your signing key could not be opened: ${this.detail}`
  }
  get remediation() {
    return this.remedy
  }
}

/** The signing key is encrypted and its passphrase is missing or wrong. Nothing was signed or changed. */
export class KeyLocked extends Schema.TaggedError<KeyLocked>()("KeyLocked", {
  /** `missing`: none was given. `wrong`: a wrong one was typed. `wrong-variable`: `KIWI_PASSPHRASE` is a wrong one. */
  passphrase: Schema.Literals(["missing", "wrong", "wrong-variable"]),
  /** The command to type at a terminal, which asks for the passphrase. */
  command: Schema.String,
  /** The person agreed through an agent's client, which cannot ask for a passphrase. */
  overClient: Schema.Boolean
}) {
  override get message() {
    switch (this.passphrase) {
      case "missing":
        return "Your signing key is encrypted, and its passphrase was not given"
      case "wrong":
        return "The passphrase that was typed does not open your signing key"
      case "wrong-variable":
        return "The passphrase in KIWI_PASSPHRASE does not open your signing key"
    }
  }
  get remediation() {
    return this.overClient
      ? "Ask the person to type, at a terminal of their own, where Kiwi asks for the passphrase (you never do): " +
        this.command
      : "A person sets KIWI_PASSPHRASE where there is no terminal, as in CI. At a terminal Kiwi asks for it: " +
        this.command
  }
}

/** Whether `storedIn` names a place where the key is encrypted. */
export const isEncryptedPlace = (storedIn: string): boolean => storedIn.endsWith("(encrypted)")

/** The old and the new passphrase. Undefined: the key has none, or shall have none. */
export interface PassphraseChange {
  readonly from: Redacted.Redacted | undefined
  readonly to: Redacted.Redacted | undefined
}

export class Identity extends Context.Service<Identity, {
  /** The public key; never opens the private one. Undefined before the first signature on this machine. */
  readonly current: Effect.Effect<Signer | undefined>
  /**
   * Where the private key is stored: "keychain", "keychain (encrypted)", "key file (0600)", "key file (encrypted)".
   * Undefined before it exists.
   */
  readonly storedIn: Effect.Effect<string | undefined>
  /**
   * The public key. The pair is made on first use in a human act, and encrypted if `KIWI_PASSPHRASE` is set then; but
   * not if the act has an `agent`, which would know the passphrase and could sign with it from then on.
   */
  readonly ensure: (act?: Pick<HumanAct, "agent">) => Effect.Effect<Signer, KeyUnavailable | WriteRefused | LockError>
  /**
   * Signs the UTF-8 bytes of each message with Ed25519, base64url. The key is opened once for all of them, only in a
   * human act of kind `sign`, and not kept. An encrypted key opens with the act's passphrase, or with
   * `KIWI_PASSPHRASE`.
   */
  readonly sign: (
    messages: ReadonlyArray<string>,
    act: HumanAct
  ) => Effect.Effect<ReadonlyArray<string>, KeyUnavailable | KeyLocked | LockError>
  /**
   * Whether this passphrase opens the private key, wherever it is stored. Undefined if the key has no passphrase or
   * does not exist. For a surface that must distinguish a person from an agent.
   */
  readonly opensWith: (passphrase: Redacted.Redacted) => Effect.Effect<boolean | undefined>
  /**
   * Why signing needs a passphrase in the act: the key has one, and `KIWI_PASSPHRASE` does not open it. Undefined if it
   * needs none.
   */
  readonly locked: Effect.Effect<"missing" | "wrong-variable" | undefined>
  /** What a person agrees to before the key's passphrase is set, changed or removed. */
  readonly proposePassphrase: (what: "encrypt" | "decrypt") => Effect.Effect<HumanRequest, KeyUnavailable>
  /**
   * Sets, changes or removes the key's passphrase. The key stays the same, in the same kind of place. The old
   * passphrase is always required, and `KIWI_PASSPHRASE` is not used. If the process is killed at any point, the key
   * opens with the old or with the new passphrase.
   */
  readonly changePassphrase: (
    change: PassphraseChange,
    act: HumanAct
  ) => Effect.Effect<void, KeyUnavailable | KeyLocked | PassphraseRefused | HumanRequired | WriteRefused | LockError>
}>()("kiwi/services/identity/Identity") {}
