// Extractors that a program provides.
import { Effect, Layer } from "effect"
import { Extractors } from "../../services/format/Extractors.ts"
import type { ExtractedType, LoadedExtractor } from "../../services/format/Extractors.ts"

export type MemoryExtractors = { readonly [type in ExtractedType]?: ReadonlyArray<LoadedExtractor> | undefined }

export const layerWith = (extractors: MemoryExtractors) =>
  Layer.succeed(
    Extractors,
    Extractors.of({
      of: (type) =>
        Effect.succeed(
          new Map((extractors[type] ?? []).flatMap((e) => e.extensions.map((name) => [name, e] as const)))
        ),
      problems: Effect.succeed([])
    })
  )

export const layer = layerWith({})
