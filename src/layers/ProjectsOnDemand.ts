// The projects of a process. Kernel code is loaded when the first project is opened: a server answers `initialize` and
// lists its tools without it, and every client waits for that.
import { Context, Effect, Layer } from "effect"
import type { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { Projects } from "./Projects.ts"

/** A refused home is reported where it is determined, when the server starts, and not to a client in its first call. */
export const make = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<KiwiHome>()
  const loaded = yield* Effect.promise(() => import("./Kernel.ts")).pipe(
    Effect.flatMap(({ layerProjectsInHome }) => Layer.buildWithScope(layerProjectsInHome, scope)),
    Effect.map((kernel) => Context.get(kernel, Projects)),
    Effect.provideContext(context),
    // Otherwise an interruption of the first caller would be cached.
    Effect.uninterruptible,
    Effect.cached
  )
  return Projects.of({
    open: (key) => Effect.flatMap(loaded, (projects) => projects.open(key)),
    use: (key) => (effect) => Effect.flatMap(loaded, (projects) => projects.use(key)(effect)),
    isKnown: (key) => Effect.flatMap(loaded, (projects) => projects.isKnown(key)),
    ofRequest: (id) => Effect.flatMap(loaded, (projects) => projects.ofRequest(id)),
    close: (key) => Effect.flatMap(loaded, (projects) => projects.close(key))
  })
})

export const layer = Layer.effect(Projects, make)
