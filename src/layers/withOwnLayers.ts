// Layers are shared by reference: a kernel built inside another, or two in one graph, would share the first one's
// services. So each kernel builds all of its layers itself, and is itself shared by reference as any layer is.
import { Effect, Layer } from "effect"

export const withOwnLayers = <A, E, R>(self: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.fromBuildMemo((_, scope) =>
    Effect.flatMap(Layer.makeMemoMap, (own) => Layer.buildWithMemoMap(self, own, scope))
  )
