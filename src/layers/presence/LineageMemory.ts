// A lineage that a test or an embedder states.
import { Effect, Layer } from "effect"
import { Lineage, type ProcessInfo } from "../../services/presence/Lineage.ts"

/** This process first, its ancestors after it; what is left out is a plain process of its own session. */
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

/** A process that nothing is known to be above. */
export const layer = layerWith([{}])
