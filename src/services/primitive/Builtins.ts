// The `builtin` primitive: handlers by name. A domain that has some exports them as `handlers`, and the graph registers
// them; the primitive knows none of those domains.
import { Context, Effect, Schema } from "effect"
import { loadCall } from "../error/calls.ts"
import type { KiwiError } from "../error/KiwiError.ts"
import { BuiltinFailed } from "./Primitive.ts"
import type { PrimitiveInput, PrimitiveResult, PrimitiveStream } from "./Primitive.ts"

/** Answers a result, or a stream that ends in one. Its failure becomes the `cause` of `BuiltinFailed`. */
export type BuiltinHandler<R = never> = (
  input: PrimitiveInput
) => Effect.Effect<PrimitiveResult | PrimitiveStream, KiwiError, R>

/** What one domain brings, by the `handler` that an item's config names. */
export type BuiltinHandlers<R = never> = Readonly<Record<string, BuiltinHandler<R>>>

/** Two handlers are registered under one name. */
export class BuiltinTaken extends Schema.TaggedError<BuiltinTaken>()("BuiltinTaken", {
  name: Schema.String
}) {
  override get message() {
    return `There is already a builtin "${this.name}", and one name stands for one handler`
  }
  get remediation() {
    return "Give the handler another name, and name that in the config of its item"
  }
}

/** The handlers that are registered. Only system items may name one. */
export class Builtins extends Context.Service<Builtins, {
  readonly handlers: ReadonlyMap<string, BuiltinHandler>
}>()("kiwi/services/primitive/Builtins") {}

/** Fails as `BuiltinFailed`, with what `load` shows of the tool, if its parameters are not those of the handler. */
export const decodeParameters = <A>(schema: Schema.ConstraintDecoder<A>, input: PrimitiveInput) =>
  Effect.mapError(
    Schema.decodeEffect(schema)(input.parameters),
    (error) => new BuiltinFailed({ tool: input.tool, issue: error.message, hint: loadCall("tool", input.tool) })
  )
