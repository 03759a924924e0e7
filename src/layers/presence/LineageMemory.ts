// A lineage given by a test or an embedder.
import { Effect, Layer } from "effect"
import { Lineage, type ProcessInfo } from "../../services/presence/Lineage.ts"

/** This process first, its ancestors after it. Omitted fields are those of a plain process in its own session. */
export const make = (lineage: ReadonlyArray<Partial<ProcessInfo>> | undefined) =>
  Lineage.of({
    read: Effect.succeed(
      lineage?.map((parts, at): ProcessInfo => ({
        pid: 100 - at,
        name: "",
        program: undefined,
        argv: [],
        session: 1,
        group: 1,
        ...parts
      }))
    )
  })

export const layerWith = (lineage: ReadonlyArray<Partial<ProcessInfo>> | undefined) =>
  Layer.succeed(Lineage, make(lineage))

/** A process without known ancestors. */
export const layer = layerWith([{}])
