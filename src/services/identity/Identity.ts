// Who you are to Kiwi: one Ed25519 key for items. The public side is always at hand; the private one is opened only
// while a person signs.
import { Context, type Effect, type Redacted, Schema } from "effect"
import { Underlying } from "../error/KiwiError.ts"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "../trust/HumanAct.ts"
import type { Signer } from "../trust/SignerTrust.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { PassphraseRefused } from "./passphrase.ts"

/** The key exists and cannot be opened, or none can be made. A new one is never made in its place. */
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

/** The signing key is encrypted, and its passphrase was not given. Nothing was signed or changed. */
export class KeyLocked extends Schema.TaggedError<KeyLocked>()("KeyLocked", {
  /** `missing`: nobody gave one. `wrong`: it was typed. `wrong-variable`: `KIWI_PASSPHRASE` has another. */
  passphrase: Schema.Literals(["missing", "wrong", "wrong-variable"]),
  /** What the person types at a terminal, where the passphrase is asked for. */
  command: Schema.String,
  /** The person agreed through an agent's client, where nobody is asked for a passphrase. */
  overClient: Schema.Boolean
}) {
  override get message() {
    switch (this.passphrase) {
      case "missing":
        return "Your signing key is encrypted, and its passphrase was not given"
      case "wrong":
        return "Your signing key does not open by the passphrase that was typed"
      case "wrong-variable":
        return "Your signing key does not open by the passphrase in KIWI_PASSPHRASE"
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

/** Whether what `storedIn` says is a place where the key is kept encrypted. */
export const isEncryptedPlace = (storedIn: string): boolean => storedIn.endsWith("(encrypted)")

/** From which passphrase to which; `undefined`: the key has none, or is to have none. */
export interface PassphraseChange {
  readonly from: Redacted.Redacted | undefined
  readonly to: Redacted.Redacted | undefined
}

export class Identity extends Context.Service<Identity, {
  /** The public side; never opens the private key. `undefined` before the first signature on this machine. */
  readonly current: Effect.Effect<Signer | undefined>
  /**
   * Where the private key is kept: "keychain", "keychain (encrypted)", "key file (0600)", "key file (encrypted)";
   * `undefined` before it is.
   */
  readonly storedIn: Effect.Effect<string | undefined>
  /**
   * The public side, made on first use in a human act, and encrypted where `KIWI_PASSPHRASE` is set then. Not where the
   * act has an `agent`: it would know the passphrase, and sign by it from then on.
   */
  readonly ensure: (act?: Pick<HumanAct, "agent">) => Effect.Effect<Signer, KeyUnavailable | WriteRefused | LockError>
  /**
   * Ed25519 over the UTF-8 bytes of each message, base64url. The key is opened once for all of them, only in a human
   * act of kind `sign`, and forgotten again. An encrypted key opens by the act's passphrase, else by `KIWI_PASSPHRASE`.
   */
  readonly sign: (
    messages: ReadonlyArray<string>,
    act: HumanAct
  ) => Effect.Effect<ReadonlyArray<string>, KeyUnavailable | KeyLocked | LockError>
  /**
   * Whether this passphrase opens the private key, wherever it is kept; `undefined` where the key has none, or there
   * is no key yet. For a surface that has to tell a person from an agent.
   */
  readonly opensWith: (passphrase: Redacted.Redacted) => Effect.Effect<boolean | undefined>
  /**
   * Why signing needs a passphrase with the act: the key has one, and `KIWI_PASSPHRASE` is not it. `undefined`: it needs
   * none.
   */
  readonly locked: Effect.Effect<"missing" | "wrong-variable" | undefined>
  /** What a person agrees to before the key's passphrase is set, changed or removed. */
  readonly proposePassphrase: (what: "encrypt" | "decrypt") => Effect.Effect<HumanRequest, KeyUnavailable>
  /**
   * Encrypts the key by a passphrase, changes it, or removes it. The key stays the same one, in the same kind of
   * place. The old passphrase is always needed, and `KIWI_PASSPHRASE` is not looked at. A process that is killed at any
   * point leaves a key that opens by the old or by the new one.
   */
  readonly changePassphrase: (
    change: PassphraseChange,
    act: HumanAct
  ) => Effect.Effect<void, KeyUnavailable | KeyLocked | PassphraseRefused | HumanRequired | WriteRefused | LockError>
}>()("kiwi/services/identity/Identity") {}
