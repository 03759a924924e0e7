// Checks a handler's answer: its TypeScript types are not enforced at run time.
import { Effect, Predicate, Stream } from "effect"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { isKiwiError } from "../../services/error/KiwiError.ts"
import type { BuiltinHandler } from "../../services/primitive/Builtins.ts"
import type { Outputs } from "../../services/primitive/Outputs.ts"
import type { PrimitiveInput, PrimitiveResult, PrimitiveStream } from "../../services/primitive/Primitive.ts"
import { BuiltinFailed, StreamFailed } from "../../services/primitive/PrimitiveErrors.ts"
import type { PrimitiveError } from "../../services/primitive/PrimitiveErrors.ts"
import { unlikeJson } from "../../services/schema/json.ts"
import type { CaptureLimits } from "./captureOutput.ts"
import { takeStream } from "./takeStream.ts"

const shape = "Let it answer an Effect of { data, metadata: {} }, where data is JSON, or of { stream }"

/**
 * Fails as `BuiltinFailed` if the handler throws, fails or does not answer JSON; a Kiwi error becomes its `cause`.
 * Fails as `StreamFailed` if its stream fails.
 */
export const askBuiltin =
  (outputs: Outputs["Service"], limits: Pick<CaptureLimits, "inline" | "spill">) =>
  (id: string, handler: BuiltinHandler, input: PrimitiveInput): Effect.Effect<PrimitiveResult, PrimitiveError> => {
    const broken = (issue: string, hint: string = shape) =>
      new BuiltinFailed({ tool: input.tool, issue: `the builtin "${id}" ${issue}`, hint })
    const logHint = "The log of the program that embeds Kiwi has the error"
    // Its message may contain anything, such as paths and secrets, so it only goes to the program's own log.
    const logged = (cause: unknown, issue: string) =>
      Effect.andThen(
        Effect.logError(`The builtin "${id}" ${issue}`, cause),
        Effect.fail(broken(issue, logHint))
      )
    const failed = (error: unknown): Effect.Effect<never, PrimitiveError> => {
      if (error instanceof BuiltinFailed || error instanceof StreamFailed) return Effect.fail(error)
      if (!isKiwiError(error)) return logged(error, "fails")
      const { message, remediation: hint = logHint } = error
      return Effect.fail(new BuiltinFailed({ tool: input.tool, issue: message, hint, cause: error }))
    }
    const checked = ({ data, metadata }: PrimitiveResult): Effect.Effect<PrimitiveResult, BuiltinFailed> => {
      const issue = unlikeJson(data, "data") ?? unlikeJson(metadata, "metadata")
      return issue === undefined
        ? Effect.succeed({ data, metadata })
        : Effect.fail(broken(`does not answer JSON:  ${issue}`))
    }
    /** `from`: whose answer it is, for messages. */
    const ask = <A>(from: string, make: () => Effect.Effect<A, KiwiError>) =>
      Effect.suspend((): Effect.Effect<A, KiwiError> => {
        const made: unknown = make()
        if (Effect.isEffect(made)) return made as Effect.Effect<A, KiwiError>
        if (!Predicate.isPromiseLike(made)) return Effect.fail(broken(`${from}answers something that is not an Effect`))
        // Nothing awaits the promise, and an unhandled rejection would end the process.
        return Effect.andThen(
          Effect.forkDetach(Effect.ignore(Effect.tryPromise(() => made)), { startImmediately: true }),
          Effect.fail(broken(`${from}answers a promise and not an Effect`))
        )
      })
    const streamed = ({ stream, summary }: PrimitiveStream) =>
      Effect.flatMap(takeStream(outputs, limits, input, stream), (stdout) =>
        Effect.flatMap(
          summary === undefined ? Effect.succeed(stdout.text) : ask("has a summary that ", () => summary(stdout)),
          (data) => checked({ data, metadata: { stdout } })
        ))
    const taken = (answer: PrimitiveResult | PrimitiveStream): Effect.Effect<PrimitiveResult, KiwiError> => {
      if (typeof answer !== "object" || answer === null) return Effect.fail(broken("does not answer a result"))
      if ("stream" in answer && Stream.isStream(answer.stream)) return streamed(answer)
      return "metadata" in answer && Predicate.isObject(answer.metadata)
        ? checked(answer)
        : Effect.fail(broken("does not answer a result"))
    }
    return ask("", () => handler(input)).pipe(
      Effect.flatMap(taken),
      Effect.catch(failed),
      Effect.catchDefect((defect) => logged(defect, "throws"))
    )
  }
