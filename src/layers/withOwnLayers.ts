// Layers are shared by reference: whoever builds one kernel inside another, or two in one graph, would get the first
// one's services in the second. A kernel builds all of its layers for itself, and is itself shared by reference as any
// layer is.
import { Effect, Layer } from "effect"

export const withOwnLayers = <A, E, R>(self: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.fromBuildMemo((_, scope) =>
    Effect.flatMap(Layer.makeMemoMap, (own) => Layer.buildWithMemoMap(self, own, scope))
  )
