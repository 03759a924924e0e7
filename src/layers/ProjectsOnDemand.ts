// The projects of a process, with a kernel that is loaded when the first of them is opened: a server answers `initialize`
// and says which tools it has without one, and every client waits for that.
import { Context, Effect, Layer } from "effect"
import type { KernelOptions } from "./Kernel.ts"
import { Projects } from "./Projects.ts"
import * as KiwiHomeNode from "./workspace/KiwiHomeNode.ts"

export const make = Effect.fnUntraced(function*(options: Omit<KernelOptions, "project">) {
  // Who serves hears at once that no home can be found, and not a client with its first call.
  yield* Effect.scoped(Layer.build(KiwiHomeNode.layerWith(options)))
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const loaded = yield* Effect.promise(() => import("./Kernel.ts")).pipe(
    Effect.flatMap(({ layerProjects }) => Layer.buildWithScope(layerProjects(options), scope)),
    Effect.map((kernel) => Context.get(kernel, Projects)),
    Effect.provideContext(context),
    Effect.catchTag("HomeRefused", Effect.die),
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

export const layer = (options: Omit<KernelOptions, "project"> = {}) => Layer.effect(Projects, make(options))
