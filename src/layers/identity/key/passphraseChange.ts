// What a person agrees to before the passphrase of their signing key changes, and whether the change is allowed.
import { Effect, Redacted } from "effect"
import type { PassphraseChange } from "../../../services/identity/Identity.ts"
import { passphraseIssue, PassphraseRefused } from "../../../services/identity/passphrase.ts"
import { type HumanAct, type HumanRequest, requireAct } from "../../../services/trust/HumanAct.ts"
import { sha256 } from "../sha256.ts"

export const passphraseRequest = (what: "encrypt" | "decrypt", keyId: string): HumanRequest => ({
  kind: "identity",
  title: what === "encrypt"
    ? `Encrypt your signing key ${keyId} by a passphrase`
    : `Remove the passphrase from your signing key ${keyId}`,
  details: what === "encrypt"
    ? "Signing asks for the passphrase from then on. Nobody can recover it if you forget it."
    : "Whatever runs as you can sign as you from then on.",
  digest: sha256(JSON.stringify(["identity", what, keyId])),
  command: `kiwi identity ${what}`
})

/** Fails unless the act is for this change of this key and the new passphrase is acceptable. Returns the command. */
export const checkChange = Effect.fnUntraced(function*({ to }: PassphraseChange, act: HumanAct, keyId: string) {
  const request = passphraseRequest(to === undefined ? "decrypt" : "encrypt", keyId)
  yield* requireAct(request, act)
  const issue = to === undefined ? undefined : passphraseIssue(Redacted.value(to))
  return issue === undefined ? request.command : yield* new PassphraseRefused({ issue })
})
