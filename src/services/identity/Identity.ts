// Who you are to Kiwi: one Ed25519 key for items. The public side is always at hand; the private one is opened only
// while a person signs.
import { Context, type Effect, type Redacted, Schema } from "effect"
import { Underlying } from "../error/KiwiError.ts"
import type { HumanAct } from "../trust/HumanAct.ts"
import type { Signer } from "../trust/SignerTrust.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { WriteRefused } from "../workspace/SafeFiles.ts"

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

export class Identity extends Context.Service<Identity, {
  /** The public side; never opens the private key. `undefined` before the first signature on this machine. */
  readonly current: Effect.Effect<Signer | undefined>
  /** Where the private key is kept: "keychain", "key file (encrypted)", "key file (0600)"; `undefined` before it is. */
  readonly storedIn: Effect.Effect<string | undefined>
  /** The public side, made on first use. A human act. */
  readonly ensure: Effect.Effect<Signer, KeyUnavailable | WriteRefused | LockError>
  /**
   * Ed25519 over the UTF-8 bytes of each message, base64url. The key is opened once for all of them, only in a human
   * act of kind `sign`, and forgotten again.
   */
  readonly sign: (
    messages: ReadonlyArray<string>,
    act: HumanAct
  ) => Effect.Effect<ReadonlyArray<string>, KeyUnavailable>
  /**
   * Whether this passphrase opens the private key; `undefined` where the key has none: it is in the keychain, in a
   * plain file, or not made yet. For a surface that has to tell a person from an agent.
   */
  readonly opensWith: (passphrase: Redacted.Redacted) => Effect.Effect<boolean | undefined>
}>()("kiwi/services/identity/Identity") {}
