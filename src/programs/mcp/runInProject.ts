// Runs a call with the services of its project. To provide these to the context of a request would copy more than a
// hundred services at each call. So they are merged with the server's once for each project that is opened, and what a
// request has of its own is added to them.
import { Context, Effect, References, Scope, Tracer } from "effect"
import type { ProjectServices } from "../../layers/projectGraph.ts"
import { type ProjectKey, Projects } from "../../layers/Projects.ts"
import { CallEvents } from "../../services/call/CallEvents.ts"
import { CallWarnings } from "../../services/call/CallWarning.ts"
import { RunningCalls } from "../../services/call/RunningCalls.ts"
import { HumanGate } from "../../services/trust/HumanAct.ts"
import type { ProjectNotFound } from "../../services/workspace/Workspace.ts"

/** What the context of a request has in addition to that of the server, and a call needs. */
const ofRequest: ReadonlyArray<Context.Key<unknown, unknown>> = [
  CallEvents,
  RunningCalls,
  References.CurrentLogLevel,
  Tracer.ParentSpan
]

/** Whom a call asks and warns. */
export interface Audience {
  readonly gate: HumanGate["Service"]
  readonly warn: typeof CallWarnings.Service["warn"]
}

export const make = (server: Context.Context<Projects>) => {
  const projects = Context.get(server, Projects)
  const merged = new WeakMap<Context.Context<ProjectServices>, Context.Context<Projects | ProjectServices>>()

  const withServer = (services: Context.Context<ProjectServices>) => {
    const known = merged.get(services) ?? Context.merge(server, services)
    merged.set(services, known)
    return known
  }

  const open = (
    key: ProjectKey,
    scope: Scope.Scope
  ): Effect.Effect<Context.Context<ProjectServices>, ProjectNotFound> =>
    Effect.updateContext(projects.open(key), () => Context.add(server, Scope.Scope, scope))

  /** The project stays open meanwhile. */
  return <A, E>(key: ProjectKey, run: Effect.Effect<A, E, ProjectServices | HumanGate>, { gate, warn }: Audience) =>
    Effect.scopedWith((scope) =>
      Effect.flatMap(open(key, scope), (services) =>
        Effect.updateContext(run, (request: Context.Context<never>) => {
          let all = withServer(services)
          for (const own of ofRequest) {
            const value = Context.getOrUndefined(request, own)
            if (value !== undefined) all = Context.add(all, own, value)
          }
          return all.pipe(Context.add(HumanGate, gate), Context.add(CallWarnings, { warn }))
        }))
    )
}
