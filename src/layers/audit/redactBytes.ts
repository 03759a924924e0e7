// Takes secrets out of bytes that come in parts, before they are kept where nobody knows any more what was secret. What
// could be the beginning of one is held back until more comes.
import type { Redacted } from "effect"
import { mark, patternsOf } from "../../services/audit/redaction.ts"

const replacement = Buffer.from(mark)
const nothing = Buffer.alloc(0)

const replace = (bytes: Buffer, pattern: Buffer): Buffer => {
  const parts: Array<Buffer> = []
  let from = 0
  for (let at = bytes.indexOf(pattern); at !== -1; at = bytes.indexOf(pattern, from)) {
    parts.push(bytes.subarray(from, at), replacement)
    from = at + pattern.length
  }
  return from === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)])
}

export const redactBytes = (secrets: ReadonlyArray<Redacted.Redacted<string>>) => {
  const patterns = patternsOf(secrets).map((pattern) => Buffer.from(pattern))
  const most = Math.max(1, ...patterns.map((pattern) => pattern.length)) - 1
  let held = nothing
  return {
    push: (chunk: Buffer): Buffer => {
      if (most === 0) return chunk
      const bytes = patterns.reduce(replace, Buffer.concat([held, chunk]))
      const end = Math.max(0, bytes.length - most)
      held = Buffer.from(bytes.subarray(end))
      return bytes.subarray(0, end)
    },
    held: (): Buffer => held,
    end: (): Buffer => {
      const rest = held
      held = nothing
      return rest
    }
  }
}
