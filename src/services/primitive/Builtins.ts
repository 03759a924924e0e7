// The `builtin` primitive: handlers by name. A domain exports its handlers as `handlers`, and the graph registers them.
// The primitive knows none of those domains.
import { Context, Effect, Schema } from "effect"
import type { Access } from "../capability/Access.ts"
import { loadCall } from "../error/calls.ts"
import type { KiwiError } from "../error/KiwiError.ts"
import type { AccessInput, NeededLevel, PrimitiveInput, PrimitiveResult, PrimitiveStream } from "./Primitive.ts"
import { BuiltinFailed } from "./PrimitiveErrors.ts"

/** Answers with a result, or with a stream that ends in one. Its failure becomes the `cause` of `BuiltinFailed`. */
export type BuiltinHandler<R = never> = (
  input: PrimitiveInput
) => Effect.Effect<PrimitiveResult | PrimitiveStream, KiwiError, R>

export interface PreviewInput extends AccessInput {
  /** Whether the caller may read this file, without a question. */
  readonly mayRead: (path: string) => Effect.Effect<boolean>
}

export interface Builtin<R = never> {
  readonly run: BuiltinHandler<R>
  /** What it would touch: decided before it runs. Default: nothing but its own answer. */
  readonly accesses?: (input: AccessInput) => Effect.Effect<ReadonlyArray<Access>, KiwiError, R>
  /** What it would do, for the person who is asked: lines of text, of foreign origin. Default: nothing but its name. */
  readonly preview?: (input: PreviewInput) => Effect.Effect<string, KiwiError, R>
  /**
   * The parameters that are only text to keep, as a file's content. Who is asked where it goes may be shown their ends
   * and digests. Default: none.
   */
  readonly contents?: ReadonlyArray<string>
  /** The level that it needs because of what its caller chooses. Default: the level of its chain. */
  readonly needs?: NeededLevel
}

/** One domain's handlers, by the `handler` in an item's config. */
export type BuiltinHandlers<R = never> = Readonly<Record<string, BuiltinHandler<R> | Builtin<R>>>

/** Two handlers were registered under the same name. */
export class BuiltinTaken extends Schema.TaggedError<BuiltinTaken>()("BuiltinTaken", {
  name: Schema.String
}) {
  override get message() {
    return `There is already a builtin "${this.name}", and a name can have only one handler`
  }
  get remediation() {
    return "Give the handler another name, and name that in the config of its item"
  }
}

/** The registered handlers. Only system items may name one. */
export class Builtins extends Context.Service<Builtins, {
  readonly handlers: ReadonlyMap<string, Builtin>
}>()("kiwi/services/primitive/Builtins") {}

/** Fails as `BuiltinFailed`, with the tool's details from `load`, if its parameters do not fit the handler. */
export const decodeParameters = <A>(schema: Schema.ConstraintDecoder<A>, input: AccessInput) =>
  Effect.mapError(
    Schema.decodeEffect(schema)(input.parameters),
    (error) => new BuiltinFailed({ tool: input.tool, issue: error.message, hint: loadCall("tool", input.tool) })
  )
