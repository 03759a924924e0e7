// Outputs in memory: for tests and for kernels without a disk.
import { Effect, Layer } from "effect"
import { OutputNotFound, Outputs, outputUri } from "../../services/primitive/Outputs.ts"

export const make = Effect.sync(() => {
  const kept = new Map<string, Array<Uint8Array>>()
  return Outputs.of({
    create: Effect.sync(() => {
      const id = (kept.size + 1).toString(16).padStart(32, "0")
      const chunks: Array<Uint8Array> = []
      kept.set(id, chunks)
      return {
        uri: outputUri(id),
        append: (bytes: Uint8Array) =>
          Effect.sync(() => {
            chunks.push(Uint8Array.from(bytes))
          }),
        close: Effect.void
      }
    }),
    read: Effect.fnUntraced(function*(id, range) {
      const chunks = kept.get(id)
      if (chunks === undefined) return yield* new OutputNotFound({ id })
      const all = Buffer.concat(chunks)
      return { bytes: Uint8Array.from(all.subarray(range.offset, range.offset + range.length)), total: all.length }
    })
  })
})

export const layer = Layer.effect(Outputs, make)
