// The MCP server: five tools, resources and prompts over one set of projects, for every transport. `initialize` is
// answered before any project is opened.
import { Context, Deferred, Effect, Layer } from "effect"
import type { Scope } from "effect"
import * as McpServer from "effect/ai/McpServer"
import type { ProjectKey, Projects } from "../../layers/Projects.ts"
import { version } from "../version.ts"
import * as CallProject from "./callProject.ts"
import * as Catalog from "./catalog.ts"
import type { Presence } from "./HumanGateElicit.ts"
import * as LongCalls from "./longCalls.ts"
import { withProgress } from "./progress.ts"
import { instructions, tools } from "./tools.ts"
import type { ListGate } from "./transport/admission.ts"
import * as Notices from "./transport/notices.ts"

export interface ServerOptions {
  /** The server's own project, by real path; "" for none. */
  readonly project: ProjectKey
  /** The name of this server's clients in policy. */
  readonly client: string
  /** How the server was started: by an agent, in a tool's call, or by a person. */
  readonly presence: Presence
  /** The profile of this server's clients. It has to exist. */
  readonly profile?: string | undefined
}

export const serverInfo = { name: "kiwi", version, instructions }

/**
 * The registrations, the gate that the transport puts in front of list requests, the notifications, and what a session
 * leaves when it ends.
 */
export const make = Effect.fnUntraced(function*(options: ServerOptions) {
  const notices = yield* Notices.make
  const long = LongCalls.make()
  const ready = yield* Deferred.make<Catalog.Catalog>()
  const gate: ListGate = {
    methods: options.profile === undefined ? Catalog.listMethods : new Set([...Catalog.listMethods, "tools/list"]),
    // A list request does not wait longer for a project that is slow to open.
    effect: Deferred.await(ready).pipe(
      Effect.flatMap((catalog) => catalog.refresh),
      Effect.timeoutOption("10 seconds"),
      Effect.asVoid
    )
  }
  const registrations = Layer.effectDiscard(Effect.gen(function*() {
    const server = yield* McpServer.McpServer
    const project = yield* CallProject.make(options.project, options.profile !== undefined)
    const context = yield* Effect.context<Projects | Scope.Scope>()
    // Loaded by the first call: a session starts without the modules of the use cases.
    const edge = yield* Effect.cached(
      Effect.promise(() => import("./edge.ts")).pipe(
        Effect.flatMap((Edge) => Edge.make(project, options, long, context)),
        // Otherwise an interruption of the first caller would be cached.
        Effect.uninterruptible
      )
    )
    for (const tool of tools) {
      yield* server.addTool({
        tool,
        annotations: Context.empty(),
        handle: (args) => withProgress(server.notifications)(Effect.flatMap(edge, ({ call }) => call(tool.name, args)))
      })
    }
    const openProfile = Effect.fnUntraced(function*(profile: string) {
      const Exposed = yield* Effect.promise(() => import("./exposed.ts"))
      const made = yield* Exposed.make(
        project,
        { client: options.client, profile },
        (target, args) => Effect.flatMap(edge, ({ callExposed }) => callExposed(target, args)),
        notices
      )
      // A client that knows the names may call them before it lists them.
      yield* made.update.pipe(
        Effect.catch((error) => Effect.logWarning("the profile's tools are not listed yet", error))
      )
      return made
    })
    const profile = options.profile === undefined ? undefined : yield* openProfile(options.profile)
    const uses: Catalog.Uses = {
      follow: (name, parameters) => Effect.flatMap(edge, ({ follow }) => follow(name, parameters)),
      readItem: (uri) => Effect.flatMap(edge, ({ readItem }) => readItem(uri)),
      readOutput: (uri) => Effect.flatMap(edge, ({ readOutput }) => readOutput(uri))
    }
    yield* Deferred.succeed(ready, yield* Catalog.make(project, uses, notices, profile))
  }))
  return { gate, notices, registrations, endSession: (id: string) => long.end(LongCalls.sessionName(id)) }
})
