// What a handler of a program that embeds Kiwi answers, before anybody believes it: types hold for TypeScript alone.
import { Effect, Predicate } from "effect"
import { isKiwiError } from "../../services/error/KiwiError.ts"
import { BuiltinFailed } from "../../services/primitive/Primitive.ts"
import type { PrimitiveHandler, PrimitiveInput, PrimitiveResult } from "../../services/primitive/Primitive.ts"
import { unlikeJson } from "../../services/schema/json.ts"

const shape = "Let it answer an Effect of { data, metadata: {} }, where data is JSON"

/** Fails as `BuiltinFailed` where the handler throws, fails with what is no error of Kiwi's, or answers no JSON. */
export const askBuiltin = (id: string, handler: PrimitiveHandler, input: PrimitiveInput) => {
  const broken = (issue: string, hint: string = shape) =>
    new BuiltinFailed({ tool: input.tool, issue: `the builtin "${id}" ${issue}`, hint })
  // What it says may hold anything, paths and secrets among it: that is for the program's own log.
  const logged = (cause: unknown, issue: string) =>
    Effect.andThen(
      Effect.logError(`The builtin "${id}" ${issue}`, cause),
      Effect.fail(broken(issue, "The log of the program that embeds Kiwi has the error"))
    )
  const checked = (answer: PrimitiveResult): Effect.Effect<PrimitiveResult, BuiltinFailed> => {
    if (!Predicate.isObject(answer) || !Predicate.isObject(answer.metadata)) {
      return Effect.fail(broken("answers no result"))
    }
    const { data, metadata } = answer
    const issue = unlikeJson(data, "data") ?? unlikeJson(metadata, "metadata")
    return issue === undefined ? Effect.succeed({ data, metadata }) : Effect.fail(broken(`answers no JSON: ${issue}`))
  }
  return Effect.suspend(() => {
    const made: unknown = handler(input)
    if (Effect.isEffect(made)) return made as ReturnType<PrimitiveHandler>
    if (!Predicate.isPromiseLike(made)) return Effect.fail(broken("answers something that is no Effect"))
    // Nobody waits for it, and a promise that fails unheard ends the process.
    return Effect.andThen(
      Effect.forkDetach(Effect.ignore(Effect.tryPromise(() => made)), { startImmediately: true }),
      Effect.fail(broken("answers a promise and no Effect"))
    )
  }).pipe(
    Effect.flatMap(checked),
    Effect.catchIf((error): error is never => !isKiwiError(error), (error) => logged(error, "fails")),
    Effect.catchDefect((defect) => logged(defect, "throws"))
  )
}
