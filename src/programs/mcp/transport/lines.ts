// A byte stream cut into the lines of stdio messages.
import { maxMessageBytes } from "./admission.ts"
import { makeIdFinder } from "./messageId.ts"
import type { IdFinder, MessageId } from "./messageId.ts"

const newline = 0x0a

const decoder = new TextDecoder("utf-8", { fatal: true })

/** `tooLong`: the id of the request on the line. */
export type Line = { readonly text: string } | { readonly tooLong: MessageId | null } | "not-text"

const lineOfBytes = (bytes: Uint8Array): Line => {
  try {
    return { text: decoder.decode(bytes) }
  } catch {
    return "not-text"
  }
}

export interface LineReader {
  /** The lines that a chunk completes. */
  readonly read: (chunk: Uint8Array) => ReadonlyArray<Line>
  /** The last line, if the stream ended without a newline. */
  readonly end: () => ReadonlyArray<Line>
}

/** Holds at most one line; of a line above `maxMessageBytes` only the id is kept. */
export const makeLineReader = (): LineReader => {
  let pending: Array<Uint8Array> = []
  let size = 0
  /** Of a line that is too long. */
  let id: IdFinder | undefined
  const end = (): ReadonlyArray<Line> => {
    const lines: ReadonlyArray<Line> = id !== undefined
      ? [{ tooLong: id.found() }]
      : size === 0
      ? []
      : [lineOfBytes(pending.length === 1 ? pending[0]! : Buffer.concat(pending))]
    pending = []
    size = 0
    id = undefined
    return lines
  }
  const takePart = (part: Uint8Array) => {
    size += part.length
    if (id !== undefined) return id.take(part)
    if (part.length > 0) pending.push(part)
    if (size <= maxMessageBytes) return
    id = makeIdFinder()
    for (const taken of pending) id.take(taken)
    pending = []
  }
  const read = (chunk: Uint8Array): ReadonlyArray<Line> => {
    const lines: Array<Line> = []
    let from = 0
    while (from < chunk.length) {
      const at = chunk.indexOf(newline, from)
      takePart(chunk.subarray(from, at === -1 ? chunk.length : at))
      if (at === -1) break
      lines.push(...end())
      from = at + 1
    }
    return lines
  }
  return { read, end }
}
