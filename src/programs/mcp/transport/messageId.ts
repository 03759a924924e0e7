// The id of a request that is refused without being parsed, because it is too long or too deep: without it, its sender
// would wait for an answer for ever.
export type MessageId = string | number

/** Integers above 2^53 would come back as other ones. */
export const isId = (id: unknown): id is MessageId =>
  typeof id === "string" ||
  (typeof id === "number" && Number.isFinite(id) && (Number.isSafeInteger(id) || !Number.isInteger(id)))

const punctuation = new Set(Buffer.from("{}[]:,"))

/** A longer id is not looked for. */
const longestToken = 512

/** `token`: bytes, a character each. */
const parseToken = (token: string): unknown => {
  try {
    return JSON.parse(Buffer.from(token, "latin1").toString())
  } catch {
    return undefined
  }
}

export interface IdFinder {
  /** The next bytes of the message. Linear, and keeps none of them. */
  readonly take: (bytes: Uint8Array) => void
  /** The message's own id; null if it has none, or is an answer or a batch. */
  readonly found: () => MessageId | null
}

export const makeIdFinder = (): IdFinder => {
  let depth = 0
  let inString = false
  let escaped = false
  let isObject = false
  /** What stands between the punctuation of the message's own members. */
  let token = ""
  let key: unknown
  let id: MessageId | null = null
  let isRequest = false

  const endMember = () => {
    if (key === "method") isRequest = true
    if (key === "id") {
      const given = parseToken(token)
      id = isId(given) ? given : null
    }
    key = undefined
    token = ""
  }

  const take = (bytes: Uint8Array) => {
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!
      if (depth === 1 && token.length < longestToken && (inString || !punctuation.has(byte))) {
        token += String.fromCharCode(byte)
      }
      if (inString) {
        if (escaped) escaped = false
        else if (byte === 0x5c) escaped = true
        else if (byte === 0x22) inString = false
      } else if (byte === 0x22) inString = true
      else if (byte === 0x7b || byte === 0x5b) {
        if (depth === 0) isObject = byte === 0x7b
        depth++
      } else if (byte === 0x7d || byte === 0x5d) {
        if (depth === 1) endMember()
        depth--
      } else if (depth === 1 && byte === 0x3a) {
        key = parseToken(token)
        token = ""
      } else if (depth === 1 && byte === 0x2c) endMember()
    }
  }

  return { take, found: () => isObject && isRequest ? id : null }
}
