// How a run of the program ends: 0 done, 1 it failed, 2 wrong usage, 130 stopped by the person.
import { Cause, Effect, Exit, Layer, Logger, References } from "effect"
import { safeText } from "../../services/error/safeText.ts"
import * as Output from "./Output.ts"
import { printJson } from "./Output.ts"

/** Warnings and worse, on stderr, as everything else is said there. */
const logger = Logger.withConsoleError(
  Logger.make(({ logLevel, message }) => {
    const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
    const text = parts.map((part) => typeof part === "string" ? part : printJson(part)).join(" ")
    return `${logLevel === "Warn" ? "warning" : logLevel.toLowerCase()}: ${safeText(text)}`
  })
)

/** Runs something and says on stderr what goes wrong; never fails. `json`: whether a failure is said as JSON. */
export const toExitCode = (json: boolean) => <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const output = yield* Output.Output
    const exit = yield* Effect.exit(program)
    if (Exit.isSuccess(exit)) return yield* output.exitCode
    // Somebody pressed Ctrl-C: they know.
    if (Cause.hasInterruptsOnly(exit.cause)) return 130
    const { fail } = yield* Effect.promise(() => import("./failure.ts"))
    return yield* fail(exit.cause)
  }).pipe(
    Effect.provide(Layer.merge(Output.layer(json), Logger.layer([logger]))),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
