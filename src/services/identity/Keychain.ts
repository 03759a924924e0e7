// The operating system's store for secrets, as little of it as Kiwi needs. Whoever asks decides what an absent or
// locked keychain means.
import { Context, type Effect, type Redacted, Schema } from "effect"

/** There is no keychain, it is locked or refused, or it did not answer in time. */
export class KeychainUnavailable extends Schema.TaggedError<KeychainUnavailable>()("KeychainUnavailable", {
  detail: Schema.String
}) {
  override get message() {
    return `The keychain cannot be used: ${this.detail}`
  }
  get remediation() {
    return "Unlock the keychain (on Linux: a Secret Service such as gnome-keyring, on the session bus) and try again"
  }
}

/** Accounts are kept under one service name, "kiwi-mcp". Nothing here survives only until a restart. */
export class Keychain extends Context.Service<Keychain, {
  readonly get: (account: string) => Effect.Effect<Redacted.Redacted | undefined, KeychainUnavailable>
  readonly set: (account: string, secret: Redacted.Redacted) => Effect.Effect<void, KeychainUnavailable>
  /** Whether there was one. */
  readonly remove: (account: string) => Effect.Effect<boolean, KeychainUnavailable>
}>()("kiwi/services/identity/Keychain") {}
