// Captures a stream of bytes: a little stays in memory, more goes to Outputs, and the returned text is its head and
// tail. Bytes that the disk refuses are counted and reported, never silently lost, and do not fail the call: a full
// disk does not undo what the tool did. Secrets are removed before anything is cut or stored: half of one at an edge
// could not be found later.
import { Effect, type Redacted } from "effect"
import { isUtf8 } from "node:buffer"
import { makeRedactor, mark, patternsOf } from "../../services/audit/redaction.ts"
import type { Outputs, OutputWriter } from "../../services/primitive/Outputs.ts"
import type { CapturedOutput } from "../../services/primitive/Primitive.ts"

export interface CaptureLimits {
  /** Outputs up to this many bytes are returned whole. */
  readonly inline: number
  /** The limit of one output, in bytes. */
  readonly spill: number
  /** Default: lenient UTF-8. */
  readonly decode?: (bytes: Uint8Array) => string
  /**
   * Values that must not be stored. Text that is returned whole still contains them: the caller removes them from the
   * result.
   */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

/** The maximum size of the head, and of the tail, of a spilled output, in bytes. */
const maxEdge = 16_384

export interface OutputTooLarge {
  readonly _tag: "OutputTooLarge"
  readonly limit: number
}

export interface Capture {
  /** Returns an effect only if no more may be read until it is done. Fails above the limit. */
  readonly take: (chunk: Uint8Array) => Effect.Effect<void, OutputTooLarge> | undefined
  /** The first bytes as text, at any time. */
  readonly head: (bytes: number) => string
  /** The last bytes as text, at any time. */
  readonly tail: (bytes: number) => string
  /** Moves the bytes in memory to Outputs, for an output that is not returned whole. */
  readonly keep: Effect.Effect<void>
  /** Completes and closes the output. Bytes that are not UTF-8 are stored as they are, however few. */
  readonly finish: Effect.Effect<CapturedOutput>
  /** Discards an output that has not been finished. */
  readonly close: Effect.Effect<void>
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/** The length without an incomplete last character. */
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

/** Lenient: invalid UTF-8 becomes U+FFFD. */
export const decodeText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")

/** The last `count` bytes; `subarray(-0)` would be all of them. */
const lastBytes = (bytes: Buffer, count: number): Buffer => bytes.subarray(Math.max(0, bytes.length - count))

const amount = (bytes: number) => `${bytes.toLocaleString("en-US")} bytes`

/** Each byte is one character of Latin-1 text, so that text search works on bytes. */
const makeConcealer = (secrets: CaptureLimits["secrets"] = []) => {
  const none = Buffer.alloc(0)
  if (secrets.length === 0) return { push: (chunk: Buffer) => chunk, rest: () => none }
  const bytewise = (text: string) => Buffer.from(text).toString("latin1")
  const redactor = makeRedactor(patternsOf(secrets).map(bytewise), bytewise(mark))
  return {
    /** Takes a piece, and returns the bytes that can no longer be the beginning of a secret. */
    push: (chunk: Buffer): Buffer => Buffer.from(redactor.push(chunk.toString("latin1")), "latin1"),
    rest: (): Buffer => Buffer.from(redactor.rest(), "latin1")
  }
}

/** Whether the bytes so far, which arrive in pieces, are valid UTF-8. */
const makeUtf8Check = () => {
  let open: Buffer = Buffer.alloc(0)
  let valid = true
  return {
    push: (chunk: Buffer): void => {
      if (!valid) return
      const all = open.length === 0 ? chunk : Buffer.concat([open, chunk])
      const end = completeLength(all)
      valid = isUtf8(all.subarray(0, end))
      open = Buffer.from(all.subarray(end))
    },
    end: () => valid && open.length === 0
  }
}

export const makeCapture = (outputs: Outputs["Service"], limits: CaptureLimits): Capture => {
  const decode = limits.decode ?? decodeText
  const lastText = (all: Buffer, count: number): string => {
    const end = lastBytes(all, count)
    return decode(end.length === all.length ? end : end.subarray(cutAfter(end, 0)))
  }
  const edge = Math.min(maxEdge, Math.floor(limits.inline / 2))
  const concealer = makeConcealer(limits.secrets)
  let bytes = 0
  /** Number of bytes, without secrets, of an output too large for memory. */
  let passed = 0
  let dropped = 0
  let written = 0
  /** All bytes, until they are too many for memory. */
  let whole: Array<Buffer> | undefined = []
  let head: Buffer = Buffer.alloc(0)
  let last: Buffer = Buffer.alloc(0)
  let writer: OutputWriter | undefined
  let problem = ""
  let finished = false
  // Text in another encoding is not checked.
  const utf8 = limits.decode === undefined ? makeUtf8Check() : undefined

  const append = Effect.fnUntraced(function*(chunk: Buffer) {
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

  const appendBelowLimit = Effect.fnUntraced(function*(chunk: Buffer) {
    if (bytes > limits.spill) return yield* Effect.fail<OutputTooLarge>({ _tag: "OutputTooLarge", limit: limits.spill })
    yield* append(chunk)
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
    yield* appendBelowLimit(all)
  })

  const addToLast = (chunk: Buffer): void => {
    passed += chunk.length
    last = chunk.length >= edge
      ? Buffer.from(lastBytes(chunk, edge))
      : Buffer.concat([last.subarray(Math.min(last.length, Math.max(0, last.length + chunk.length - edge))), chunk])
  }

  const spillWhole = (chunks: ReadonlyArray<Buffer>): Buffer => {
    const all = Buffer.concat(chunks)
    utf8?.push(all)
    const safe = concealer.push(all)
    whole = undefined
    head = Buffer.from(safe.subarray(0, edge))
    addToLast(safe)
    return safe
  }

  const take: Capture["take"] = (given) => {
    const chunk = Buffer.from(given.buffer, given.byteOffset, given.length)
    bytes += chunk.length
    if (whole !== undefined) {
      whole.push(chunk)
      if (bytes <= limits.inline) return undefined
      return overflow(spillWhole(whole))
    }
    utf8?.push(chunk)
    const safe = concealer.push(chunk)
    addToLast(safe)
    return appendBelowLimit(safe)
  }

  const close = Effect.suspend(() => writer === undefined ? Effect.void : finished ? writer.close : writer.discard)

  const keep = Effect.suspend(() => whole === undefined ? Effect.void : Effect.ignore(overflow(spillWhole(whole))))

  /** Small but not text: stored like a large output. */
  const keepBinary = Effect.suspend(() => {
    if (whole === undefined || utf8 === undefined || whole.every((chunk) => isUtf8(chunk))) return Effect.void
    return isUtf8(Buffer.concat(whole)) ? Effect.void : keep
  })

  const complete = Effect.suspend(() => {
    finished = true
    if (whole !== undefined) return Effect.void
    const rest = concealer.rest()
    if (head.length < edge) head = Buffer.concat([head, rest]).subarray(0, edge)
    addToLast(rest)
    return append(rest)
  })

  const finish = Effect.map(Effect.andThen(keepBinary, Effect.andThen(complete, close)), (): CapturedOutput => {
    if (whole !== undefined) {
      return { text: decode(Buffer.concat(whole)), bytes, spilled: undefined, dropped: 0 }
    }
    const spilled = written > 0 ? writer?.uri : undefined
    const kept = spilled === undefined
      ? ""
      : `, ${dropped === 0 ? "all of it" : `the first ${amount(written)}`} in ${spilled}`
    const lost = dropped === 0 ? "" : `, ${amount(dropped)} not kept${problem === "" ? "" : ` (${problem})`}`
    const binary = utf8 !== undefined && !utf8.end()
    const flag = binary ? { binary } : {}
    // Head and tail overlap if the output is short.
    const left = Math.max(0, passed - head.length - last.length)
    if (left === 0) {
      const text = decode(Buffer.concat([head, lastBytes(last, Math.max(0, passed - head.length))]))
      return { text, bytes: passed, spilled, dropped, ...flag }
    }
    const start = decode(head.subarray(0, completeLength(head)))
    return {
      ...flag,
      text: `${start}\n[… ${amount(left)} of ${amount(passed)} left out${kept}${lost} …]\n${
        decode(last.subarray(cutAfter(last, 0)))
      }`,
      bytes: passed,
      spilled,
      dropped
    }
  })

  /** For an error message, at any time. */
  const concealed = (): Buffer => {
    if (whole === undefined) return Buffer.concat([last, concealer.rest()])
    const now = makeConcealer(limits.secrets)
    const safe = now.push(Buffer.concat(whole))
    return Buffer.concat([safe, now.rest()])
  }

  return {
    take,
    head: (count) => {
      const all = whole === undefined ? head : concealed()
      const start = all.subarray(0, count)
      return decode(start.length === all.length ? start : start.subarray(0, completeLength(start)))
    },
    tail: (count) => lastText(concealed(), count),
    keep,
    finish,
    close
  }
}
