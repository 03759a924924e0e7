// An identity in memory, for the life of its layer.
import { Effect, Layer, Redacted } from "effect"
import { Identity, KeyLocked, KeyUnavailable } from "../../services/identity/Identity.ts"
import { normalizePassphrase } from "../../services/identity/passphrase.ts"
import type { Signer } from "../../services/trust/SignerTrust.ts"
import * as Ed25519 from "./ed25519.ts"
import { checkChange, passphraseRequest } from "./key/passphraseChange.ts"

const normalized = (passphrase: Redacted.Redacted | undefined): string | undefined =>
  passphrase === undefined ? undefined : normalizePassphrase(Redacted.value(passphrase))

const unavailable = (detail: string, remedy: string) => Effect.fail(new KeyUnavailable({ detail, remedy }))

export const make = Effect.sync(() => {
  let identity: { readonly pair: Ed25519.KeyPair; readonly signer: Signer } | undefined
  let passphrase: string | undefined

  const ensure = () =>
    Effect.sync(() => {
      if (identity === undefined) {
        const pair = Ed25519.generate()
        const { publicKey } = pair
        identity = { pair, signer: { keyId: Ed25519.keyIdOf(publicKey), publicKey, name: "you" } }
      }
      return identity.signer
    })

  const existing = Effect.suspend(() =>
    identity === undefined ? unavailable("there is none yet", "kiwi identity") : Effect.succeed(identity)
  )

  const open = Effect.fnUntraced(function*(given: Redacted.Redacted | undefined, command: string, overClient: boolean) {
    const { pair } = yield* existing
    if (passphrase === undefined || normalized(given) === passphrase) return pair
    return yield* new KeyLocked({ passphrase: given === undefined ? "missing" : "wrong", command, overClient })
  })

  return Identity.of({
    current: Effect.sync(() => identity?.signer),
    storedIn: Effect.sync(() => identity && (passphrase === undefined ? "memory" : "memory (encrypted)")),
    ensure,
    opensWith: (given) => Effect.sync(() => passphrase === undefined ? undefined : normalized(given) === passphrase),
    locked: Effect.sync(() => passphrase === undefined ? undefined : "missing"),
    proposePassphrase: (what) => Effect.map(existing, ({ signer }) => passphraseRequest(what, signer.keyId)),
    changePassphrase: Effect.fnUntraced(function*(change, act) {
      const { signer } = yield* existing
      const command = yield* checkChange(change, act, signer.keyId)
      yield* open(change.from, command, false)
      passphrase = normalized(change.to)
    }),
    sign: (messages, act) =>
      act.kind === "sign"
        ? Effect.flatMap(open(act.passphrase, "kiwi sign tool ID", act.by === "elicitation"), (pair) =>
          Effect.suspend(() => {
            const signatures = Ed25519.sign(pair, messages)
            return signatures === undefined
              ? unavailable("it is not the key of your identity", "kiwi identity")
              : Effect.succeed(signatures)
          }))
        : unavailable("it signs only what a person has agreed to sign", "Ask the person to sign")
  })
})

export const layer = Layer.effect(Identity, make)
