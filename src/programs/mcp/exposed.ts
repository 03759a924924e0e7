// The tools of the server's profile, listed by name after Kiwi's own five. Calling one is executing it: only the edge
// knows the name.
import { Context, Effect } from "effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import { Projects } from "../../layers/Projects.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import { isListed } from "../../services/permission/profile/Profile.ts"
import type { ExposedTool } from "../exposedTools.ts"
import { exposedBy, findProfile } from "../profiles.ts"
import type { CallProject } from "./callProject.ts"
import type { OfProfile } from "./catalog.ts"
import { withProgress } from "./progress.ts"
import type { Notices } from "./transport/notices.ts"

/** The very tool that was listed, also where another tier has one of the same id. */
export interface ExposedTarget {
  readonly id: string
  readonly tier: ExposedTool["location"]["tier"]
}

type CallExposed = (
  target: ExposedTarget,
  args: unknown
) => ReturnType<Parameters<McpServer.McpServer["Service"]["addTool"]>[0]["handle"]>

const descriptorOf = ({ annotations, description, inputSchema, name }: ExposedTool) =>
  new McpSchema.Tool({ name, description, inputSchema: { ...inputSchema, type: "object" }, annotations })

/** Registers the tools as they become known. `update`: what changed since the last time is registered or hidden. */
export const make = Effect.fnUntraced(function*(
  project: CallProject,
  { client, profile }: { readonly client: string; readonly profile: string },
  call: CallExposed,
  notices: Notices
) {
  const projects = yield* Projects
  const server = yield* McpServer.McpServer
  const listed = new Map<string, string>()
  let warned = ""

  // Nothing is listed of a profile that cannot be read any more, and each call says why.
  const find = projects.use(project.own)(
    findProfile(profile).pipe(
      Effect.flatMap((found) => exposedBy(found, { surface: "mcp", client, session: "tools/list" })),
      Effect.catch(({ message }) =>
        Effect.succeed({ exposed: [], leftOut: [{ id: profile, why: message, remedy: undefined }] })
      )
    )
  )
  const visible: OfProfile["visible"] = projects.use(project.own)(
    Effect.match(findProfile(profile), {
      onFailure: () => () => false,
      onSuccess: (found) => (location) => isListed(found, location)
    })
  )

  const update: OfProfile["update"] = Effect.gen(function*() {
    const { exposed, leftOut } = yield* find
    let changed = false
    for (const tool of exposed) {
      const target = { id: qualifiedId(tool.location), tier: tool.location.tier }
      const descriptor = descriptorOf(tool)
      const known = JSON.stringify([descriptor, target])
      if (listed.get(tool.name) === known) continue
      listed.set(tool.name, known)
      changed = true
      yield* server.addTool({
        tool: descriptor,
        annotations: Context.make(McpSchema.EnabledWhen, () => listed.has(tool.name)),
        handle: (args) => withProgress(server.notifications)(call(target, args))
      })
    }
    const names = new Set(exposed.map(({ name }) => name))
    const gone = [...listed.keys()].filter((name) => !names.has(name))
    for (const name of gone) listed.delete(name)
    if (gone.length > 0) yield* server.notifications["notifications/tools/list_changed"]({})
    if (changed || gone.length > 0) yield* notices.publish({ method: "notifications/tools/list_changed" })
    const warning = leftOut.map(({ id, remedy, why }) => `${id}: ${why}${remedy === undefined ? "" : ` (${remedy})`}`)
      .join("; ")
    if (warning !== warned && warning !== "") {
      yield* Effect.logWarning(`Tools that the profile ${profile} names and that are not listed: ${warning}`)
    }
    warned = warning
  })

  return { update, visible } satisfies OfProfile
})
