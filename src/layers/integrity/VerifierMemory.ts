// Treats every item as signed by you: for programs that bring their own items, and for tests of something else.
// `layerWith` says which items are not signed, and why.
import { Effect, Layer, Result } from "effect"
import { Verifier } from "../../services/integrity/Verifier.ts"
import type { Verified, VerifyError } from "../../services/integrity/Verifier.ts"
import type { ItemSnapshot } from "../../services/item/Item.ts"

const you = { keyId: "0000000000000000", publicKey: "", name: "you" }

export const make = (refuse: (snapshot: ItemSnapshot) => VerifyError | undefined) => {
  const verify = (snapshot: ItemSnapshot): Result.Result<Verified, VerifyError> => {
    const error = refuse(snapshot)
    return error === undefined
      ? Result.succeed({
        snapshot,
        by: snapshot.location.tier === "system"
          ? { _tag: "System" }
          : { _tag: "Signer", standing: { _tag: "You", signer: you }, kind: "person", time: "20260101T000000Z" }
      })
      : Result.fail(error)
  }
  return Verifier.of({
    verify: (snapshot) => Effect.suspend(() => Effect.fromResult(verify(snapshot))),
    verifyAll: (snapshots) =>
      Effect.sync(() => {
        const results = snapshots.map(verify)
        const failed = results.findIndex(Result.isFailure)
        return failed === -1 ? results : results.slice(0, failed + 1)
      })
  })
}

export const layerWith = (refuse: (snapshot: ItemSnapshot) => VerifyError | undefined) =>
  Layer.succeed(Verifier, make(refuse))

export const layer = layerWith(() => undefined)
