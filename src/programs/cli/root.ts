// What every command shares: the flags --project and --json, which project a command is about, and who calls.
import { Effect, FileSystem, Option, Path } from "effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { randomUUID } from "node:crypto"
import { Projects } from "../../layers/Projects.ts"
import type { ProjectKey, ProjectServices } from "../../layers/Projects.ts"
import { findProject } from "../../layers/workspace/WorkspaceNode.ts"
import type { Caller } from "../../services/proxy/ToolCall.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProjectNotFound } from "../../services/workspace/Workspace.ts"
import { Shell } from "./Shell.ts"

export const root = Command.make("kiwi").pipe(
  Command.withSharedFlags({
    project: Flag.String("project").pipe(
      Flag.withMetavar("DIR"),
      Flag.withDescription("The project's folder. Default: the nearest folder from here upwards that has an .ai"),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withoutNegation,
      Flag.withDescription("Print one JSON value on stdout, for failures too"),
      Flag.withDefault(false)
    )
  })
)

/** Whether `--json` was given, known before the arguments are parsed: wrong usage is reported as JSON too. */
export const wantsJson = (args: ReadonlyArray<string>): boolean => {
  const end = args.indexOf("--")
  const given = end === -1 ? args : args.slice(0, end)
  const at = given.findLastIndex((arg) => arg === "--json" || arg.startsWith("--json="))
  if (at === -1) return false
  const value = given[at] === "--json" ? given[at + 1] : given[at]?.slice("--json=".length)
  return !/^(false|no|off|0|n)$/.test(value ?? "")
}

/** The real path of the project that this command is about, or "" where there is none. */
export const projectKey = Effect.gen(function*() {
  const { project } = yield* root
  const { cwd } = yield* Shell
  if (Option.isNone(project)) return (yield* findProject(cwd, yield* KiwiHome)) ?? ""
  const files = yield* FileSystem.FileSystem
  const dir = (yield* Path.Path).resolve(cwd, project.value)
  const real = yield* Effect.mapError(
    files.realPath(dir),
    () => new ProjectNotFound({ dir, detail: "there is no such folder, or you may not look into it" })
  )
  const { type } = yield* Effect.orElseSucceed(files.stat(real), () => ({ type: "Unknown" as const }))
  return type === "Directory" ? real : yield* new ProjectNotFound({ dir, detail: "it is no folder" })
})

/** Runs an effect with the services of the project that this command is about. */
export const inProject = <A, E, R>(
  effect: (project: ProjectKey) => Effect.Effect<A, E, R | ProjectServices>
) =>
  Effect.gen(function*() {
    const projects = yield* Projects
    const key = yield* projectKey
    return yield* projects.use(key)(effect(key))
  })

const session = randomUUID()

export const caller: Effect.Effect<Caller, never, Shell> = Effect.map(Effect.service(Shell), ({ user }) => ({
  surface: "cli",
  client: user,
  session
}))
