// The `builtin` primitive: Effect handlers by id. Whoever composes a kernel registers handlers; Kiwi's own come last,
// so that none of them can be replaced.
import { Effect, Layer, Result, Schema } from "effect"
import { loadCall } from "../../services/error/calls.ts"
import { maxOutputRange, Outputs } from "../../services/primitive/Outputs.ts"
import {
  BuiltinFailed,
  Builtins,
  type PrimitiveError,
  type PrimitiveHandler,
  type PrimitiveInput
} from "../../services/primitive/Primitive.ts"
import * as LockfileBuiltins from "../lockfile/lockfileBuiltins.ts"
import { askBuiltin } from "./builtinAnswer.ts"
import { decodeText } from "./captureOutput.ts"

export const layerWith = (handlers: ReadonlyMap<string, PrimitiveHandler>) =>
  Layer.succeed(Builtins, Builtins.of({ handlers }))

export const layer = layerWith(new Map())

const Config = Schema.Struct({ handler: Schema.NonEmptyString })
const decodeConfig = Schema.decodeUnknownResult(Config)

const Range = Schema.Struct({
  id: Schema.String,
  encoding: Schema.optionalKey(Schema.Literals(["text", "base64"])),
  offset: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  length: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxOutputRange })))
})
const decodeRange = Schema.decodeUnknownResult(Range)

const defaultLength = 65_536

const wrongParameters = (input: PrimitiveInput, error: Schema.SchemaError) =>
  new BuiltinFailed({ tool: input.tool, issue: error.message, hint: loadCall("tool", input.tool) })

/** Answers with nothing at all: what a call costs without what it does. */
const noop: PrimitiveHandler = () => Effect.succeed({ data: null, metadata: {} })

/** A range of a kept output, as text or as it is. A character that a range splits is a replacement character in both. */
const outputRead = (outputs: Outputs["Service"]): PrimitiveHandler =>
  Effect.fnUntraced(function*(input) {
    const { encoding, id, length, offset } = yield* Effect.fromResult(
      Result.mapError(decodeRange(input.parameters), (error) => wrongParameters(input, error))
    )
    const from = offset ?? 0
    const { bytes, total } = yield* Effect.mapError(
      outputs.read(id, { offset: from, length: length ?? defaultLength }),
      (error) => new BuiltinFailed({ tool: input.tool, issue: error.message, hint: error.remediation })
    )
    const next = from + bytes.length
    const content = encoding === "base64"
      ? { base64: Buffer.from(bytes).toString("base64") }
      : { text: decodeText(bytes) }
    return {
      data: { ...content, offset: from, length: bytes.length, total, next: next < total ? next : null },
      metadata: {}
    }
  })

export const make = Effect.gen(function*() {
  const builtins = yield* Builtins
  const outputs = yield* Outputs
  const locks = yield* LockfileBuiltins.make
  const handlers = new Map<string, PrimitiveHandler>([
    ...builtins.handlers,
    ...locks,
    ["noop", noop],
    ["output_read", outputRead(outputs)]
  ])
  const find = Effect.fnUntraced(function*(input: PrimitiveInput): Effect.fn.Return<PrimitiveHandler, PrimitiveError> {
    const config = decodeConfig(input.config)
    const handler = Result.isSuccess(config) ? handlers.get(config.success.handler) : undefined
    if (handler !== undefined) return handler
    return yield* new BuiltinFailed({
      tool: input.tool,
      issue: Result.isSuccess(config)
        ? `this kernel has no builtin "${config.success.handler}"`
        : "its config names no handler",
      hint: `Builtins here: ${[...handlers.keys()].toSorted().join(", ")}`
    })
  })
  const run = (input: PrimitiveInput) =>
    Effect.flatMap(find(input), (handler) => askBuiltin(String(input.config["handler"]), handler, input))
  return { run, find }
})
