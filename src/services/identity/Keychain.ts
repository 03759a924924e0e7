// The operating system's store for secrets, with only the operations that Kiwi needs. The caller decides what an absent
// or locked keychain means.
import { Context, type Effect, type Redacted, Schema } from "effect"

/** There is no keychain, or it is locked, refused the request or did not answer in time. */
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

/** Accounts are stored under one service name, "kiwi-mcp". Secrets survive a restart. */
export class Keychain extends Context.Service<Keychain, {
  readonly get: (account: string) => Effect.Effect<Redacted.Redacted | undefined, KeychainUnavailable>
  readonly set: (account: string, secret: Redacted.Redacted) => Effect.Effect<void, KeychainUnavailable>
  /** Returns whether there was one. */
  readonly remove: (account: string) => Effect.Effect<boolean, KeychainUnavailable>
}>()("kiwi/services/identity/Keychain") {}
