// Where copies of the private key are stored, and the errors for a copy that cannot be read.
import { Schema } from "effect"
import { KeyUnavailable } from "../../../services/identity/Identity.ts"
import { isInKeychain } from "../../../services/vault/VaultPlace.ts"
import type { Slot, ValueUnavailable, Where } from "../../vault/slots.ts"

/** A copy of the key. Each has its own name, so that a new copy never overwrites the current one. */
export const KeyPlace = Schema.Struct({
  storedIn: Schema.Literals(["keychain", "keychain (encrypted)", "key file (encrypted)", "key file (0600)"]),
  /** The first copy has no number. */
  copy: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })))
})
export type KeyPlace = typeof KeyPlace.Type

export const whereOf = ({ storedIn }: KeyPlace): Where => isInKeychain(storedIn) ? "keychain" : "file"

/** The name of a kind of place with a passphrase, or without one. */
export const storedAs = (where: Where, isEncrypted: boolean): KeyPlace["storedIn"] =>
  where === "keychain"
    ? isEncrypted ? "keychain (encrypted)" : "keychain"
    : isEncrypted
    ? "key file (encrypted)"
    : "key file (0600)"

export interface PublicSide {
  readonly keyId: string
  readonly publicKey: string
}

export const slotOf = ({ keyId, publicKey }: PublicSide, { copy }: Pick<KeyPlace, "copy">): Slot => ({
  account: `item:${keyId}${copy === undefined ? "" : `:${copy}`}`,
  path: `keys/item-${keyId}${copy === undefined ? "" : `.${copy}`}.json`,
  boundTo: publicKey,
  isBase64Url: true,
  isAlwaysSealed: true,
  title: "Your signing key",
  advice: "kiwi identity encrypt puts a passphrase on it"
})

export const startOver =
  "Restore $KIWI_HOME from a backup. If the key is lost, move identity.json away: the next signature " +
  "makes a new identity, and what the old one signed must be signed again"

export const unavailable = ({ path }: Slot, where: Where, { cause, detail, remedy, why }: ValueUnavailable) => {
  switch (why) {
    case "keychain":
      return new KeyUnavailable({
        detail: `it is in the keychain. ${detail}`,
        remedy: "Unlock the keychain and try again; without it nothing can be signed here",
        ...(cause === undefined ? {} : { cause })
      })
    case "lost":
      return new KeyUnavailable({ detail, remedy: startOver })
    case "file":
      return new KeyUnavailable({
        detail: `${where === "keychain" ? "what the keychain has" : `the key file ${path}`} ${detail}`,
        remedy: remedy ?? startOver
      })
  }
}
