// Reads a range of a kept output, as text or base64. A character that the range splits becomes a replacement character
// in text.
import { Effect, Schema } from "effect"
import { PermissionGate } from "../../../services/permission/PermissionGate.ts"
import { decodeParameters } from "../../../services/primitive/Builtins.ts"
import type { BuiltinHandler } from "../../../services/primitive/Builtins.ts"
import { maxOutputRange, Outputs, parseOutputId } from "../../../services/primitive/Outputs.ts"
import { decodeText } from "../captureOutput.ts"

const Range = Schema.Struct({
  id: Schema.String,
  encoding: Schema.optionalKey(Schema.Literals(["text", "base64"])),
  offset: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  length: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxOutputRange })))
})

const defaultLength = 65_536

const read: BuiltinHandler<Outputs | PermissionGate> = Effect.fnUntraced(function*(input) {
  const { encoding, length = defaultLength, offset = 0, ...named } = yield* decodeParameters(Range, input)
  const outputs = yield* Outputs
  const gate = yield* PermissionGate
  const id = yield* parseOutputId(named.id)
  yield* gate.decide(input.caller, { _tag: "ReadOutput", id })
  const { bytes, total } = yield* outputs.read(id, { offset, length })
  const next = offset + bytes.length
  const content = encoding === "base64"
    ? { base64: Buffer.from(bytes).toString("base64") }
    : { text: decodeText(bytes) }
  return {
    data: { ...content, offset, length: bytes.length, total, next: next < total ? next : null },
    metadata: {}
  }
})

export const handlers = { output_read: read }
