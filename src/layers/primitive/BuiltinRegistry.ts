// The `builtin` primitive: finds the handler that a config names, and runs it. It knows no domain with handlers: a
// kernel's graph registers them.
import { Context, Effect, Exit, Layer, type Schema } from "effect"
import { CallEvents } from "../../services/call/CallEvents.ts"
import { CallWarnings } from "../../services/call/CallWarning.ts"
import { RunningCalls } from "../../services/call/RunningCalls.ts"
import type { Access } from "../../services/capability/Access.ts"
import { loadCall } from "../../services/error/calls.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { WriteRefused } from "../../services/files/SafeFiles.ts"
import { EditUnclear, FileAbsent, PathUnusable } from "../../services/filesystem/fileErrors.ts"
import type { Builtin, BuiltinHandler, BuiltinHandlers, PreviewInput } from "../../services/primitive/Builtins.ts"
import { Builtins, BuiltinTaken } from "../../services/primitive/Builtins.ts"
import { Outputs } from "../../services/primitive/Outputs.ts"
import type { AccessInput, Preview, PrimitiveInput } from "../../services/primitive/Primitive.ts"
import { BuiltinFailed, RequestRefused } from "../../services/primitive/PrimitiveErrors.ts"
import type { PrimitiveError } from "../../services/primitive/PrimitiveErrors.ts"
import { askBuiltin } from "./builtinAnswer.ts"
import type { CaptureLimits } from "./captureOutput.ts"

/** Whether the call would fail for the reason that its preview failed for. Others are no reason not to ask. */
const wouldFail = (cause: KiwiError): cause is EditUnclear | FileAbsent | PathUnusable | WriteRefused =>
  [EditUnclear, FileAbsent, PathUnusable, WriteRefused].some((one) => cause instanceof one)

export const layerWith = (handlers: ReadonlyMap<string, BuiltinHandler>) =>
  Layer.sync(Builtins, () => Builtins.of({ handlers: new Map(Array.from(handlers, ([name, run]) => [name, { run }])) }))

export const layer = layerWith(new Map())

type Answer = Effect.Success<ReturnType<BuiltinHandler>>
type ServicesOfOne<H> = H extends BuiltinHandler<infer R> ? R : H extends Builtin<infer R> ? R : never
type ServicesOf<D> = ServicesOfOne<D[keyof D]>

/**
 * Adds handlers to those already registered. A duplicate name is refused. The handlers run with the services that the
 * layer is built with.
 */
export const register = <const D extends ReadonlyArray<BuiltinHandlers<unknown>>>(...domains: D) =>
  Layer.effect(
    Builtins,
    Effect.gen(function*() {
      const handlers = new Map((yield* Builtins).handlers)
      // A kernel may be built within its first call: what belongs to that call must not reach others.
      const context = Context.omit(CallEvents, CallWarnings, RunningCalls)(
        yield* Effect.context<ServicesOf<D[number]>>()
      ) as Context.Context<ServicesOf<D[number]>>
      const added = (domains as ReadonlyArray<BuiltinHandlers<ServicesOf<D[number]>>>).flatMap(Object.entries)
      for (const [name, builtin] of added) {
        if (handlers.has(name)) return yield* new BuiltinTaken({ name })
        const given: Builtin<ServicesOf<D[number]>> = typeof builtin === "function" ? { run: builtin } : builtin
        const { accesses, contents, needs, preview, run: handle } = given
        handlers.set(name, {
          run: (input) => {
            const answer = handle(input)
            // An effect that has finished needs no services, and providing them costs a microsecond.
            return Exit.isExit(answer) ? answer as Exit.Exit<Answer, KiwiError> : Effect.provideContext(answer, context)
          },
          ...(needs === undefined ? {} : { needs }),
          ...(contents === undefined ? {} : { contents }),
          ...(preview === undefined
            ? {}
            : { preview: (input: PreviewInput) => Effect.provideContext(preview(input), context) }),
          ...(accesses === undefined
            ? {}
            : { accesses: (input: AccessInput) => Effect.provideContext(accesses(input), context) })
        })
      }
      return Builtins.of({ handlers })
    })
  )

export const make = Effect.fnUntraced(function*(limits: Pick<CaptureLimits, "inline" | "spill">) {
  const builtins = yield* Builtins
  const ask = askBuiltin(yield* Outputs, limits)
  const named = ({ handler: name }: Schema.JsonObject) =>
    typeof name === "string" ? builtins.handlers.get(name) : undefined
  const find = Effect.fnUntracedEager(function*(input: AccessInput) {
    const handler = named(input.config)
    if (handler !== undefined) return handler
    const { handler: name } = input.config
    return yield* new BuiltinFailed({
      tool: input.tool,
      issue: typeof name === "string" && name !== ""
        ? `this kernel has no builtin "${name}"`
        : "its config names no handler",
      hint: `Builtins here: ${[...builtins.handlers.keys()].toSorted().join(", ")}`
    })
  })
  const run = (input: PrimitiveInput) =>
    Effect.flatMapEager(find(input), (found) => ask(String(input.config["handler"]), found.run, input))
  const accesses = (input: AccessInput): Effect.Effect<ReadonlyArray<Access>, PrimitiveError> => {
    // What is not there is refused when it would run.
    const accessesOf = named(input.config)?.accesses
    if (accessesOf === undefined) return Effect.succeed([])
    return Effect.mapError(accessesOf(input), (cause) =>
      cause instanceof RequestRefused ? cause : new BuiltinFailed({
        tool: input.tool,
        issue: cause.message,
        hint: cause.remediation ?? loadCall("tool", input.tool),
        cause
      }))
  }
  const preview = (input: PreviewInput): Effect.Effect<Preview | undefined, BuiltinFailed> =>
    Effect.flatMap(
      find(input),
      ({ contents = [], preview: show }) =>
        show === undefined ? Effect.undefined : Effect.map(show(input), (text) => ({ text, contents }))
    ).pipe(
      Effect.catch((cause) =>
        wouldFail(cause)
          ? Effect.fail(
            new BuiltinFailed({ tool: input.tool, issue: cause.message, hint: cause.remediation, cause })
          )
          : Effect.undefined
      )
    )
  return { run, find, accesses, preview, needs: (config: Schema.JsonObject) => named(config)?.needs }
})
