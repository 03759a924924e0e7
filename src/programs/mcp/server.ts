// The MCP server: five tools, resources and prompts over one set of projects, for every transport. Nothing here opens a
// project; `initialize` is answered before any is.
import { Context, Deferred, Effect, Layer } from "effect"
import * as McpServer from "effect/ai/McpServer"
import type { ProjectKey } from "../../layers/Projects.ts"
import { version } from "../version.ts"
import * as CallProject from "./callProject.ts"
import * as Catalog from "./catalog.ts"
import * as Edge from "./edge.ts"
import type { Presence } from "./HumanGateElicit.ts"
import { withProgress } from "./progress.ts"
import { instructions, tools } from "./tools.ts"
import type { ListGate } from "./transport/admission.ts"
import * as Notices from "./transport/notices.ts"

export interface ServerOptions {
  /** The server's own project, by real path; "" for none. */
  readonly project: ProjectKey
  /** The name that policy knows this server's clients by. */
  readonly client: string
  /** What was seen of whoever started the server. */
  readonly presence: Presence
}

export const serverInfo = { name: "kiwi", version, instructions }

/** Registrations, the gate that its transport puts in front of them, and what they tell without being asked. */
export const make = Effect.fnUntraced(function*(options: ServerOptions) {
  const notices = yield* Notices.make
  const ready = yield* Deferred.make<Catalog.Catalog>()
  const gate: ListGate = {
    methods: Catalog.listMethods,
    // A project that takes for ever to open must not hold a list for ever.
    effect: Deferred.await(ready).pipe(
      Effect.flatMap((catalog) => catalog.refresh),
      Effect.timeoutOption("10 seconds"),
      Effect.asVoid
    )
  }
  const registrations = Layer.effectDiscard(Effect.gen(function*() {
    const server = yield* McpServer.McpServer
    const project = yield* CallProject.make(options.project)
    const edge = yield* Edge.make(project, options)
    for (const tool of tools) {
      yield* server.addTool({
        tool,
        annotations: Context.empty(),
        handle: (args) => withProgress(server.notifications)(edge.call(tool.name, args))
      })
    }
    yield* Deferred.succeed(ready, yield* Catalog.make(project, edge.follow, notices))
  }))
  return { gate, notices, registrations }
})
