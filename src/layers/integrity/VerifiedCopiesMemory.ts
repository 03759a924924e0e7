// Copies that cannot be run: the paths that a disk would have, and the bytes in memory.
import { Effect, Layer } from "effect"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import type { ItemSnapshot } from "../../services/item/Item.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"

export const make = Effect.gen(function*() {
  const { home, verified } = yield* KiwiHome
  const kept = new Map<string, ItemSnapshot>()
  const find = (digest: string, kind: "file" | "folder") =>
    Effect.sync(() => {
      const snapshot = kept.get(digest)
      return snapshot?.location.kind === kind ? snapshot : undefined
    })

  return VerifiedCopies.of({
    materialize: ({ snapshot }, entrypoint, below) =>
      Effect.sync(() => {
        kept.set(snapshot.digest, snapshot)
        const folder = `${below === undefined ? verified : `${home}/${below}`}/${snapshot.digest}`
        return { folder, file: entrypoint === undefined ? undefined : `${folder}/${entrypoint}` }
      }),
    recall: (digest) => Effect.map(find(digest, "file"), (snapshot) => snapshot?.bytes),
    recallFolder: (digest) => Effect.map(find(digest, "folder"), (snapshot) => snapshot?.files)
  })
})

export const layer = Layer.effect(VerifiedCopies, make)
