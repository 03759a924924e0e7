// Tells nobody, and counts what it would have told of.
import { Effect, Layer } from "effect"
import { ApprovalNotices } from "../../services/approval/ApprovalNotices.ts"

/** `announced`: gets the id of every request and whether the client shows it. */
export const make = (announced: (id: string, isShown: boolean) => void = () => {}) =>
  ApprovalNotices.of({
    announce: (id, isShown) => Effect.sync(() => announced(id, isShown)),
    ways: Effect.succeed([])
  })

export const layerWith = (announced: (id: string, isShown: boolean) => void) =>
  Layer.sync(ApprovalNotices, () => make(announced))

export const layer = Layer.sync(ApprovalNotices, () => make())
