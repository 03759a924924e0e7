// Output that is too large to return: kept on disk below `.ai/outputs`, read in ranges, removed after seven days.
import { Context, Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"

/** The kept output has been removed, or never existed. */
export class OutputNotFound extends Schema.TaggedError<OutputNotFound>()("OutputNotFound", { id: Schema.String }) {
  override get message() {
    return `There is no kept output "${this.id}"`
  }
  get remediation() {
    return "Outputs are kept for seven days; run the tool again"
  }
}

const prefix = "kiwi://output/"
const idPattern = /^[0-9a-f]{32}$/

export const outputUri = (id: string): string => `${prefix}${id}`

/** The id in `kiwi://output/<id>`, or a bare id. Undefined for anything else. */
export const outputId = (text: string): string | undefined => {
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : text
  return idPattern.test(id) ? id : undefined
}

/** The id in an address, or a bare id. */
export const parseOutputId = (text: string): Effect.Effect<string, OutputNotFound> => {
  const id = outputId(text)
  return id === undefined ? Effect.fail(new OutputNotFound({ id: text.slice(0, 64) })) : Effect.succeed(id)
}

/** The largest range of one `read`, in bytes. */
export const maxOutputRange = 1_048_576

/** An output that is being written. Nothing is lost, and nothing is kept in memory. */
export interface OutputWriter {
  readonly uri: string
  readonly append: (bytes: Uint8Array) => Effect.Effect<void, WriteRefused>
  readonly close: Effect.Effect<void>
  /** Closes and deletes it: for an output whose address nobody gets. */
  readonly discard: Effect.Effect<void>
}

export class Outputs extends Context.Service<Outputs, {
  readonly create: Effect.Effect<OutputWriter, WriteRefused>
  /** Bytes `[offset, offset + length)` of an output, by its id or address; `length` is at most 1 MiB. */
  readonly read: (
    id: string,
    range: { readonly offset: number; readonly length: number }
  ) => Effect.Effect<{ readonly bytes: Uint8Array; readonly total: number }, OutputNotFound>
}>()("kiwi/services/primitive/Outputs") {}
