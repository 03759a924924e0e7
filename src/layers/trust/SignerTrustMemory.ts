// Trusted signers in memory, for the life of the process. The initial ones are trusted everywhere, as other people.
import { Effect, Layer, Ref } from "effect"
import { type Signer, type SignerGrant, SignerTrust } from "../../services/trust/SignerTrust.ts"
import { makeSignerTrust } from "./signers.ts"

export const make = Effect.fnUntraced(function*(trusted: ReadonlyArray<Signer>) {
  const grants = yield* Ref.make<ReadonlyArray<SignerGrant>>(
    trusted.map((signer) => ({ signer, as: "other", project: undefined }))
  )
  return yield* makeSignerTrust({
    read: Ref.get(grants),
    problem: Effect.undefined,
    update: (change) => Ref.update(grants, change)
  })
})

export const layerWith = (trusted: ReadonlyArray<Signer>) => Layer.effect(SignerTrust, make(trusted))

export const layer = layerWith([])
