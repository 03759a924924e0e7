// An identity that lives as long as its layer.
import { Effect, Layer } from "effect"
import { Identity, KeyUnavailable } from "../../services/identity/Identity.ts"
import type { Signer } from "../../services/trust/SignerTrust.ts"
import * as Ed25519 from "./ed25519.ts"

export const make = Effect.sync(() => {
  let identity: { readonly pair: Ed25519.KeyPair; readonly signer: Signer } | undefined

  const ensure = Effect.sync(() => {
    if (identity === undefined) {
      const pair = Ed25519.generate()
      const { publicKey } = pair
      identity = { pair, signer: { keyId: Ed25519.keyIdOf(publicKey), publicKey, name: "you" } }
    }
    return identity.signer
  })

  return Identity.of({
    current: Effect.sync(() => identity?.signer),
    storedIn: Effect.sync(() => identity === undefined ? undefined : "memory"),
    ensure,
    opensWith: () => Effect.undefined,
    sign: (messages, act) =>
      Effect.suspend(() => {
        const signatures = act.kind === "sign" && identity !== undefined
          ? Ed25519.sign(identity.pair, messages)
          : undefined
        return signatures === undefined
          ? Effect.fail(
            new KeyUnavailable({
              detail: "it signs only what a person has agreed to sign",
              remedy: "Ask the person to sign"
            })
          )
          : Effect.succeed(signatures)
      })
  })
})

export const layer = Layer.effect(Identity, make)
