// Where a value lies that Kiwi keeps for a person: in the keychain of the operating system, or in a file of its own below
// `$KIWI_HOME`. A person reads these words in `kiwi identity` and `kiwi env secret list`.
import { Schema } from "effect"

export const VaultPlace = Schema.Literals([
  "keychain",
  /** Sealed by a passphrase, in the keychain. */
  "keychain (encrypted)",
  /** The value is longer than this keychain takes, so the keychain has the key of the file. */
  "file (key in the keychain)",
  /** Sealed by a passphrase. */
  "file (encrypted)",
  /** Plain, and readable for its owner alone. */
  "file (0600)"
])
export type VaultPlace = typeof VaultPlace.Type

/** Whether what `storedIn` says is an entry of the keychain. */
export const isInKeychain = (storedIn: string): boolean => storedIn.startsWith("keychain")
