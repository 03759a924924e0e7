// One kernel for each project, opened on first use and closed when idle. Surfaces ask for it on every call and do not
// keep it.
import { Context, Effect, Layer, LayerMap, Scope } from "effect"
import type { ProjectNotFound } from "../services/workspace/Workspace.ts"
import type { ProjectServices } from "./projectGraph.ts"

/** A project's real path, or "" for the kernel without a project (user and system tiers only). */
export type ProjectKey = string

export class Projects extends Context.Service<Projects, {
  /** The services of one project, held open until the surrounding scope closes. */
  readonly open: (
    key: ProjectKey
  ) => Effect.Effect<Context.Context<ProjectServices>, ProjectNotFound, Scope.Scope>
  /** Runs an effect with the services of one project. About 5 µs once it is open. */
  readonly use: (
    key: ProjectKey
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | ProjectNotFound, Exclude<R, ProjectServices>>
  /** Whether there may be a decision about this project. A project without one is not worth opening. */
  readonly isKnown: (key: ProjectKey) => Effect.Effect<boolean>
  /** The project in which a request for a person's answer was filed, by whichever process. Opens none. */
  readonly ofRequest: (id: string) => Effect.Effect<ProjectKey | undefined>
  /** Closes a project's kernel; the next call opens it anew. */
  readonly close: (key: ProjectKey) => Effect.Effect<void>
}>()("kiwi/layers/Projects") {}

/** `lookup` builds the kernel of one project. `R`: what it needs from the process. */
export const layerWith = <R>(
  lookup: (key: ProjectKey) => Layer.Layer<ProjectServices, ProjectNotFound, R>,
  isKnown: (key: ProjectKey) => Effect.Effect<boolean> = () => Effect.succeed(true),
  ofRequest: (id: string) => Effect.Effect<ProjectKey | undefined> = () => Effect.undefined
) =>
  Layer.effect(
    Projects,
    // Fresh, since layers are shared by reference: another project would otherwise get the services of the first one.
    Effect.map(
      LayerMap.make((key: ProjectKey) => Layer.fresh(lookup(key)), { idleTimeToLive: "10 minutes" }),
      (map) =>
        Projects.of({
          open: (key) => map.contextEffect(key),
          use: (key) => (effect) =>
            Effect.scopedWith((scope) =>
              Effect.flatMap(
                Effect.provideService(map.contextEffect(key), Scope.Scope, scope),
                (context) => Effect.provideContext(effect, context)
              )
            ),
          isKnown,
          ofRequest,
          close: map.invalidate
        })
    )
  )
