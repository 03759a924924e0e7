// Where Kiwi stores a person's secret value: in the operating system's keychain, or in a file below `$KIWI_HOME`. `kiwi
// identity` and `kiwi env secret list` show these words.
import { Schema } from "effect"

export const VaultPlace = Schema.Literals([
  "keychain",
  /** Sealed by a passphrase, in the keychain. */
  "keychain (encrypted)",
  /** The value is too long for this keychain, so the keychain has the key of the file. */
  "file (key in the keychain)",
  /** Sealed by a passphrase. */
  "file (encrypted)",
  /** Plain, readable only for its owner. */
  "file (0600)"
])
export type VaultPlace = typeof VaultPlace.Type

/** Whether `storedIn` names an entry of the keychain. */
export const isInKeychain = (storedIn: string): boolean => storedIn.startsWith("keychain")
