// Signers that are trusted for as long as the process lives.
import { Effect, Layer, Ref } from "effect"
import { type Signer, SignerTrust } from "../../services/trust/SignerTrust.ts"
import { makeSignerTrust } from "./signers.ts"

export const make = Effect.fnUntraced(function*(trusted: ReadonlyArray<Signer>) {
  const signers = yield* Ref.make(trusted)
  return yield* makeSignerTrust({
    read: Ref.get(signers),
    problem: Effect.undefined,
    update: (change) => Ref.update(signers, change)
  })
})

export const layerWith = (trusted: ReadonlyArray<Signer>) => Layer.effect(SignerTrust, make(trusted))

export const layer = layerWith([])
