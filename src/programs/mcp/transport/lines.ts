// A byte stream cut into the lines of stdio messages.
import { maxMessageBytes } from "./admission.ts"

const newline = 0x0a

const decoder = new TextDecoder("utf-8", { fatal: true })

export type Line = { readonly text: string } | "too-long" | "not-text"

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

/** Holds at most one line; a line above `maxMessageBytes` is dropped whole. */
export const makeLineReader = (): LineReader => {
  let pending: Array<Uint8Array> = []
  let size = 0
  let dropping = false
  const end = (): ReadonlyArray<Line> => {
    const lines = dropping || size === 0
      ? []
      : [lineOfBytes(pending.length === 1 ? pending[0]! : Buffer.concat(pending))]
    pending = []
    size = 0
    dropping = false
    return lines
  }
  const read = (chunk: Uint8Array): ReadonlyArray<Line> => {
    const lines: Array<Line> = []
    let from = 0
    while (from < chunk.length) {
      const at = chunk.indexOf(newline, from)
      const part = chunk.subarray(from, at === -1 ? chunk.length : at)
      if (!dropping) {
        size += part.length
        if (size > maxMessageBytes) {
          dropping = true
          pending = []
          lines.push("too-long")
        } else if (part.length > 0) pending.push(part)
      }
      if (at === -1) break
      lines.push(...end())
      from = at + 1
    }
    return lines
  }
  return { read, end }
}
