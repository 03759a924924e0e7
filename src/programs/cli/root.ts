// Shared by all commands: the flags --project and --json, the project of the command, and its caller.
import { Effect, Option } from "effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { randomUUID } from "node:crypto"
import type { ProjectServices } from "../../layers/projectGraph.ts"
import { Projects } from "../../layers/Projects.ts"
import type { ProjectKey } from "../../layers/Projects.ts"
import type { Caller } from "../../services/call/Caller.ts"
import { CallWarnings } from "../../services/call/CallWarning.ts"
import { safeText } from "../../services/error/safeText.ts"
import { Output } from "./Output.ts"
import { resolveProject } from "./resolveProject.ts"
import { Shell } from "./Shell.ts"

export const root = Command.make("kiwi").pipe(
  Command.withSharedFlags({
    project: Flag.String("project").pipe(
      Flag.withMetavar("DIR"),
      Flag.withDescription(
        "The project's folder. Default: the nearest folder with an .ai, from the current one upwards"
      ),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withoutNegation,
      Flag.withDescription("Print one JSON value on stdout, for failures too"),
      Flag.withDefault(false)
    )
  })
)

/** The real path of the project that this command is about, or "" if there is none. */
export const projectKey = Effect.gen(function*() {
  const { project } = yield* root
  return yield* resolveProject(Option.getOrUndefined(project))
})

/** Runs an effect with the services of this command's project. Prints warnings on stderr. */
export const inProject = <A, E, R>(
  effect: (project: ProjectKey) => Effect.Effect<A, E, R | ProjectServices>
) =>
  Effect.gen(function*() {
    const output = yield* Output
    const projects = yield* Projects
    const key = yield* projectKey
    return yield* projects.use(key)(effect(key)).pipe(
      Effect.provideService(CallWarnings, {
        warn: ({ message }) => output.say(`${output.talkPaint.yellow("warning")}: ${safeText(message)}`)
      })
    )
  })

const session = randomUUID()

export const caller: Effect.Effect<Caller, never, Shell> = Effect.map(Effect.service(Shell), ({ user }) => ({
  surface: "cli",
  client: user,
  session
}))
