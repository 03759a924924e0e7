// The `builtin` primitive: finds the handler that a config names, and runs it. It knows no domain with handlers: a
// kernel's graph registers them.
import { Effect, Exit, Layer, Result, Schema } from "effect"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import type { BuiltinHandler, BuiltinHandlers } from "../../services/primitive/Builtins.ts"
import { Builtins, BuiltinTaken } from "../../services/primitive/Builtins.ts"
import { Outputs } from "../../services/primitive/Outputs.ts"
import { BuiltinFailed } from "../../services/primitive/Primitive.ts"
import type { PrimitiveInput } from "../../services/primitive/Primitive.ts"
import { askBuiltin } from "./builtinAnswer.ts"
import type { CaptureLimits } from "./captureOutput.ts"

export const layerWith = (handlers: ReadonlyMap<string, BuiltinHandler>) =>
  Layer.succeed(Builtins, Builtins.of({ handlers }))

export const layer = layerWith(new Map())

type Answer = Effect.Success<ReturnType<BuiltinHandler>>
type ServicesOf<D> = D extends BuiltinHandlers<infer R> ? R : never

/**
 * Adds handlers to those already registered. A duplicate name is refused. The handlers run with the services that the
 * layer is built with.
 */
export const register = <const D extends ReadonlyArray<BuiltinHandlers<unknown>>>(...domains: D) =>
  Layer.effect(
    Builtins,
    Effect.gen(function*() {
      const handlers = new Map((yield* Builtins).handlers)
      const context = yield* Effect.context<ServicesOf<D[number]>>()
      const added = (domains as ReadonlyArray<BuiltinHandlers<ServicesOf<D[number]>>>).flatMap(Object.entries)
      for (const [name, handler] of added) {
        if (handlers.has(name)) return yield* new BuiltinTaken({ name })
        handlers.set(name, (input) => {
          const answer = handler(input)
          // An effect that has finished needs no services, and providing them costs a microsecond.
          return Exit.isExit(answer) ? answer as Exit.Exit<Answer, KiwiError> : Effect.provideContext(answer, context)
        })
      }
      return Builtins.of({ handlers })
    })
  )

const Config = Schema.Struct({ handler: Schema.NonEmptyString })
const decodeConfig = Schema.decodeUnknownResult(Config)

export const make = Effect.fnUntraced(function*(limits: Pick<CaptureLimits, "inline" | "spill">) {
  const builtins = yield* Builtins
  const ask = askBuiltin(yield* Outputs, limits)
  const find = Effect.fnUntraced(function*(input: PrimitiveInput) {
    const config = decodeConfig(input.config)
    const handler = Result.isSuccess(config) ? builtins.handlers.get(config.success.handler) : undefined
    if (handler !== undefined) return handler
    return yield* new BuiltinFailed({
      tool: input.tool,
      issue: Result.isSuccess(config)
        ? `this kernel has no builtin "${config.success.handler}"`
        : "its config names no handler",
      hint: `Builtins here: ${[...builtins.handlers.keys()].toSorted().join(", ")}`
    })
  })
  const run = (input: PrimitiveInput) =>
    Effect.flatMap(find(input), (handler) => ask(String(input.config["handler"]), handler, input))
  return { run, find }
})
