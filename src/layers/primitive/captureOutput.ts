// Takes in a stream of bytes: a little of it stays in memory, more goes to Outputs, and the text that is returned is
// its head and tail. What the disk refuses is counted and said, never silently lost: what the tool does is not undone
// by a full disk.
import { Effect, type Redacted } from "effect"
import type { Outputs, OutputWriter } from "../../services/primitive/Outputs.ts"
import type { CapturedOutput } from "../../services/primitive/Primitive.ts"
import { redactBytes } from "../audit/redactBytes.ts"

export interface CaptureLimits {
  /** Bytes that are returned whole. */
  readonly inline: number
  /** Bytes that one output may have at all. */
  readonly spill: number
  /** Default: UTF-8, leniently. */
  readonly decode?: (bytes: Uint8Array) => string
  /** Taken out of what goes to Outputs: nobody knows them any more when that is read. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>>
}

/** Bytes of head and of tail that stand for an output that was spilled, at most. */
export const maxEdge = 16_384

export interface OutputTooLarge {
  readonly _tag: "OutputTooLarge"
  readonly limit: number
}

export interface Capture {
  /** Returns an effect only where more may not be read before it is done. Fails above the limit. */
  readonly take: (chunk: Buffer) => Effect.Effect<void, OutputTooLarge> | undefined
  /** The last bytes as text, at any time. */
  readonly tail: (bytes: number) => string
  /** Closes what was written; the output is complete then. */
  readonly finish: Effect.Effect<CapturedOutput>
  readonly close: Effect.Effect<void>
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/** The length without a last character that is not complete. */
const completeLength = (bytes: Buffer): number => {
  let at = bytes.length - 1
  while (at > bytes.length - 4 && isContinuation(bytes[at])) at--
  const lead = bytes[at] ?? 0
  const needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return at + needs > bytes.length ? at : bytes.length
}

const cutAfter = (bytes: Buffer, index: number): number => {
  let at = Math.max(index, 0)
  for (let i = 0; i < 3 && isContinuation(bytes[at]); i++) at++
  return at
}

/** Lenient: what is not UTF-8 becomes U+FFFD. */
export const decodeText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")

/** The last `count` bytes; `subarray(-0)` would be all of them. */
const lastBytes = (bytes: Buffer, count: number): Buffer => bytes.subarray(Math.max(0, bytes.length - count))

const amount = (bytes: number) => `${bytes.toLocaleString("en-US")} bytes`

export const makeCapture = (outputs: Outputs["Service"], limits: CaptureLimits): Capture => {
  const decode = limits.decode ?? decodeText
  const redact = redactBytes(limits.secrets ?? [])
  const lastText = (all: Buffer, count: number): string => {
    const end = lastBytes(all, count)
    return decode(end.length === all.length ? end : end.subarray(cutAfter(end, 0)))
  }
  const edge = Math.min(maxEdge, Math.floor(limits.inline / 2))
  let bytes = 0
  let dropped = 0
  let written = 0
  /** Everything, until it is too much for memory. */
  let whole: Array<Buffer> | undefined = []
  let head: Buffer = Buffer.alloc(0)
  let last: Buffer = Buffer.alloc(0)
  let writer: OutputWriter | undefined
  let problem = ""

  /** The end of what goes to Outputs. */
  const remember = (chunk: Buffer): Buffer => {
    last = chunk.length >= edge
      ? Buffer.from(lastBytes(chunk, edge))
      : Buffer.concat([last.subarray(Math.min(last.length, Math.max(0, last.length + chunk.length - edge))), chunk])
    return chunk
  }

  const append = Effect.fnUntraced(function*(chunk: Buffer) {
    if (bytes > limits.spill) return yield* Effect.fail<OutputTooLarge>({ _tag: "OutputTooLarge", limit: limits.spill })
    if (writer !== undefined && problem === "") {
      yield* writer.append(chunk).pipe(
        Effect.andThen(Effect.sync(() => {
          written += chunk.length
        })),
        Effect.catch((error) =>
          Effect.sync(() => {
            problem = error.detail
          })
        )
      )
    }
    if (problem !== "") dropped += chunk.length
  })

  const overflow = Effect.fnUntraced(function*(all: Buffer) {
    writer = yield* outputs.create.pipe(
      Effect.catch((error) =>
        Effect.sync(() => {
          problem = error.detail
          return undefined
        })
      )
    )
    yield* append(all)
  })

  const take: Capture["take"] = (chunk) => {
    bytes += chunk.length
    if (whole !== undefined) {
      whole.push(chunk)
      if (bytes <= limits.inline) return undefined
      const all = redact.push(Buffer.concat(whole))
      whole = undefined
      head = Buffer.from(all.subarray(0, edge))
      return overflow(remember(all))
    }
    return append(remember(redact.push(chunk)))
  }

  const close = Effect.suspend(() => writer === undefined ? Effect.void : writer.close)

  const flush = Effect.suspend(() =>
    redact.held().length === 0 ? Effect.void : Effect.ignore(append(remember(redact.end())))
  )

  const finish = Effect.map(Effect.andThen(flush, close), (): CapturedOutput => {
    if (whole !== undefined) {
      return { text: decode(Buffer.concat(whole)), bytes, spilled: undefined, dropped: 0 }
    }
    const spilled = written > 0 ? writer?.uri : undefined
    const kept = spilled === undefined
      ? ""
      : `, ${dropped === 0 ? "all of it" : `the first ${amount(written)}`} in ${spilled}`
    const lost = dropped === 0 ? "" : `, ${amount(dropped)} not kept${problem === "" ? "" : ` (${problem})`}`
    const start = decode(head.subarray(0, completeLength(head)))
    const left = Math.max(0, bytes - head.length - last.length)
    return {
      text: `${start}\n[… ${amount(left)} of ${amount(bytes)} left out${kept}${lost} …]\n${
        decode(last.subarray(cutAfter(last, 0)))
      }`,
      bytes,
      spilled,
      dropped
    }
  })

  return {
    take,
    tail: (count) => lastText(whole === undefined ? Buffer.concat([last, redact.held()]) : Buffer.concat(whole), count),
    finish,
    close
  }
}
