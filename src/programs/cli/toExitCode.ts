// The exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
import { Cause, Effect, Exit, Layer, Logger, References } from "effect"
import { safeText } from "../../services/error/safeText.ts"
import * as Output from "./Output.ts"
import { printJson } from "./Output.ts"

/** Logs warnings and errors on stderr. */
const logger = Logger.withConsoleError(
  Logger.make(({ logLevel, message }) => {
    const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
    const text = parts.map((part) => typeof part === "string" ? part : printJson(part)).join(" ")
    return `${logLevel === "Warn" ? "warning" : logLevel.toLowerCase()}: ${safeText(text)}`
  })
)

/** Runs an effect and prints its failure on stderr; never fails. `json`: whether to print a failure as JSON. */
export const toExitCode = (json: boolean) => <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const output = yield* Output.Output
    const exit = yield* Effect.exit(program)
    if (Exit.isSuccess(exit)) return yield* output.exitCode
    // The person pressed Ctrl-C, so there is nothing to report.
    if (Cause.hasInterruptsOnly(exit.cause)) return 130
    const { fail } = yield* Effect.promise(() => import("./failure.ts"))
    return yield* fail(exit.cause)
  }).pipe(
    Effect.provide(Layer.merge(Output.layer(json), Logger.layer([logger]))),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
