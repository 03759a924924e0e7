// Outputs in memory: for tests and for kernels without a disk.
import { Effect, Layer } from "effect"
import { maxOutputRange, outputId, OutputNotFound, Outputs, outputUri } from "../../services/primitive/Outputs.ts"

export const make = Effect.sync(() => {
  const kept = new Map<string, Array<Uint8Array>>()
  let made = 0
  return Outputs.of({
    create: Effect.sync(() => {
      const id = (++made).toString(16).padStart(32, "0")
      const chunks: Array<Uint8Array> = []
      kept.set(id, chunks)
      return {
        uri: outputUri(id),
        append: (bytes: Uint8Array) =>
          Effect.sync(() => {
            chunks.push(Uint8Array.from(bytes))
          }),
        close: Effect.void,
        discard: Effect.sync(() => {
          kept.delete(id)
        })
      }
    }),
    read: Effect.fnUntraced(function*(asked, range) {
      const chunks = kept.get(outputId(asked) ?? "")
      if (chunks === undefined) return yield* new OutputNotFound({ id: asked.slice(0, 64) })
      const all = Buffer.concat(chunks)
      const from = Math.max(0, range.offset)
      const bytes = all.subarray(from, from + Math.min(Math.max(0, range.length), maxOutputRange))
      return { bytes: Uint8Array.from(bytes), total: all.length }
    })
  })
})

export const layer = Layer.effect(Outputs, make)
