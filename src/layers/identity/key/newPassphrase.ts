// Checks KIWI_PASSPHRASE before a new key is encrypted with it.
import { Effect, Option, Redacted } from "effect"
import { KeyUnavailable } from "../../../services/identity/Identity.ts"
import { passphraseIssue } from "../../../services/identity/passphrase.ts"
import { variable } from "../../process/variable.ts"

export const givenPassphrase = Effect.map(
  variable("KIWI_PASSPHRASE"),
  (given) => Option.getOrUndefined(Option.map(given, Redacted.make))
)

/** Fails if no key can be made with it. */
export const checkNewPassphrase = (passphrase: Redacted.Redacted | undefined): Effect.Effect<void, KeyUnavailable> => {
  const issue = passphrase === undefined ? undefined : passphraseIssue(Redacted.value(passphrase))
  return issue === undefined ? Effect.void : Effect.fail(
    new KeyUnavailable({
      detail: `KIWI_PASSPHRASE ${issue}, so no key was made`,
      remedy: "Set it to a passphrase of at least 8 characters, not all the same, or unset it"
    })
  )
}
