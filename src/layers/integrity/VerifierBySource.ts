// Verifies an item by where it comes from: files by their signatures, with the verifier below this one, and items of a
// named source by that source's own step.
import { Effect, Layer, Result } from "effect"
import type { Verified, VerifyError } from "../../services/integrity/Verifier.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ItemSnapshot } from "../../services/item/Item.ts"
import { ItemUnapproved } from "../../services/item/ItemErrors.ts"
import { namedSources } from "../../services/item/ItemSources.ts"

const isFile = ({ location }: ItemSnapshot): boolean => location.source === undefined

export const make = Effect.gen(function*() {
  const signatures = yield* Verifier
  const { named } = yield* namedSources
  if (named.size === 0) return signatures

  const believe = Effect.fnUntraced(function*(snapshot: ItemSnapshot, name: string) {
    const source = named.get(name)
    if (source === undefined || source.tier !== snapshot.location.tier) {
      return yield* new ItemUnapproved({
        item: showLocation(snapshot.location),
        changed: false,
        remedy: `There is no source "${name}" that could approve it`
      })
    }
    yield* source.believe(snapshot)
    const by = source.tier === "system" ? { _tag: "System" as const } : { _tag: "Source" as const, name }
    return { snapshot, by }
  })

  const verify: Verifier["Service"]["verify"] = (snapshot) => {
    const { source } = snapshot.location
    return source === undefined ? signatures.verify(snapshot) : believe(snapshot, source.name)
  }

  const verifyAll: Verifier["Service"]["verifyAll"] = Effect.fnUntraced(function*(snapshots) {
    const signed = (yield* signatures.verifyAll(snapshots.filter(isFile)))[Symbol.iterator]()
    const results: Array<Result.Result<Verified, VerifyError>> = []
    for (const snapshot of snapshots) {
      const next = isFile(snapshot) ? signed.next() : undefined
      const result = next?.done === false ? next.value : yield* Effect.result(verify(snapshot))
      results.push(result)
      if (Result.isFailure(result)) break
    }
    return results
  })

  return Verifier.of({ verify, verifyAll })
})

/** On top of the verifier of signatures. */
export const layerOver = <E, R>(signatures: Layer.Layer<Verifier, E, R>) =>
  Layer.effect(Verifier, make).pipe(Layer.provide(signatures))
