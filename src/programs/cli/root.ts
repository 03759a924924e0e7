// What every command shares: the flags --project and --json, which project a command is about, and who calls.
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
import { keyOf } from "./keyOf.ts"
import { Output } from "./Output.ts"
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

/** The real path of the project that this command is about, or "" where there is none. */
export const projectKey = Effect.gen(function*() {
  const { project } = yield* root
  return yield* keyOf(Option.getOrUndefined(project))
})

/** Runs an effect with the services of the project that this command is about. What it warns of goes to stderr. */
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
