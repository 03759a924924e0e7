// `kiwi serve` in the form of clients' configurations, without the command-line parser, which takes a sixth of the time
// that a session needs to start. Any other form, or wrong usage, goes to the parser.
import { Effect } from "effect"
import type { ProjectKey } from "../../layers/Projects.ts"
import { Lineage } from "../../services/presence/Lineage.ts"
import { startedBy, whyNotAnswered } from "../../services/presence/presence.ts"
import { Output } from "./Output.ts"
import { resolveProject } from "./resolveProject.ts"
import { Shell } from "./Shell.ts"

export interface PlainServe {
  readonly project: string | undefined
  /** The client's name in policy. */
  readonly client: string | undefined
  readonly profile: string | undefined
}

const flags = new Set(["--project", "--client", "--profile"])

/** `serve`, with each of `flags` at most once; `undefined` for everything else. */
export const parsePlainServe = ([command, ...args]: ReadonlyArray<string>): PlainServe | undefined => {
  if (command !== "serve") return undefined
  const given = new Map<string, string>()
  for (let i = 0; i < args.length; i += 2) {
    const name = args[i]!
    const value = args[i + 1]
    if (!flags.has(name) || given.has(name)) return undefined
    if (value === undefined || value === "" || value.startsWith("-")) return undefined
    given.set(name, value)
  }
  return { project: given.get("--project"), client: given.get("--client"), profile: given.get("--profile") }
}

/** A missing folder is reported by the server, for each call. */
export const projectToServe = Effect.fnUntraced(function*(dir: string | undefined) {
  const output = yield* Output
  return yield* Effect.catchTag(
    resolveProject(dir),
    "ProjectNotFound",
    (error) => Effect.as(output.say(`${output.talkPaint.yellow("warning")}: ${error.message}`), error.dir)
  )
})

const whyNobody = Effect.fnUntraced(function*(client: string | undefined, user: string) {
  if (client === undefined || client === user) return undefined
  const { unattendedClient } = yield* Effect.promise(() => import("../namedClient.ts"))
  return yield* unattendedClient(client)
})

/**
 * Whether a client's answers count as a person's. Fails if nobody added a client with this name. Read at the start:
 * later, the parent process may be gone.
 */
export const readPresence = Effect.fnUntraced(function*(transport: "stdio" | "http", client: string | undefined) {
  const { env, started, user } = yield* Shell
  const lineage = yield* Effect.flatMap(Lineage, ({ read }) => read)
  const nobody = yield* whyNobody(client, user)
  return {
    nobody: whyNotAnswered({ env, lineage, transport, script: started.script }) ?? nobody,
    agent: startedBy(lineage)
  }
})

/** Without a profile no file is read for it. */
export const profileToServe = Effect.fnUntraced(function*(project: ProjectKey, profile: string | undefined) {
  if (profile === undefined) return {}
  const { requireProfile } = yield* Effect.promise(() => import("../profiles.ts"))
  yield* requireProfile(project, profile)
  return { profile }
})

export const plainServe = Effect.fnUntraced(function*({ client, profile, project }: PlainServe) {
  const shell = yield* Shell
  const served = yield* projectToServe(project)
  const options = {
    project: served,
    client: client ?? shell.user,
    ...(yield* profileToServe(served, profile)),
    presence: yield* readPresence("stdio", client)
  }
  const { serveStdio } = yield* Effect.promise(() => import("../mcp/serve.ts"))
  yield* serveStdio({ ...options, ...(yield* shell.protocol) })
})
