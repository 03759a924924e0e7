// The projects of a process, with a kernel that is loaded when the first of them is opened: a server answers `initialize`
// and says which tools it has without one, and every client waits for that.
import { Context, Effect, Layer } from "effect"
import type { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { Projects } from "./Projects.ts"

/** A home that is refused is told by whoever decides it, when the server starts, and not to a client with its first call. */
export const make = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<KiwiHome>()
  const loaded = yield* Effect.promise(() => import("./Kernel.ts")).pipe(
    Effect.flatMap(({ layerProjectsInHome }) => Layer.buildWithScope(layerProjectsInHome, scope)),
    Effect.map((kernel) => Context.get(kernel, Projects)),
    Effect.provideContext(context),
    // What is cached must not be that the first caller went away.
    Effect.uninterruptible,
    Effect.cached
  )
  return Projects.of({
    open: (key) => Effect.flatMap(loaded, (projects) => projects.open(key)),
    use: (key) => (effect) => Effect.flatMap(loaded, (projects) => projects.use(key)(effect)),
    isKnown: (key) => Effect.flatMap(loaded, (projects) => projects.isKnown(key)),
    close: (key) => Effect.flatMap(loaded, (projects) => projects.close(key))
  })
})

export const layer = Layer.effect(Projects, make)
