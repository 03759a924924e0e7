// What may enter as a JSON-RPC message, decided over the raw text before anything of it reaches the protocol library:
// its decoder throws away what shares a chunk with a broken line, and reads transport members (headers, trace ids)
// from the message itself.
import { Predicate } from "effect"
import type { Effect } from "effect"
import { isId, makeIdFinder } from "./messageId.ts"
import type { MessageId } from "./messageId.ts"

/** A message larger than this is refused; an item is at most 1 MiB, and parameters may carry a few of them. */
export const maxMessageBytes = 16 * 1024 * 1024
export const maxDepth = 128

export const parseError = -32700
export const invalidRequest = -32600

export interface Refusal {
  readonly code: number
  readonly message: string
  readonly id: MessageId | null
}

/** A request, a notification (no id), or an answer (no method). */
export interface Message {
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: object | null
  readonly result?: unknown
  readonly error?: unknown
}

export type Admission =
  | { readonly _tag: "Accepted"; readonly message: Message | ReadonlyArray<Message> }
  | { readonly _tag: "Refused"; readonly refusal: Refusal }

const refused = (code: number, message: string, id: MessageId | null = null): Admission => ({
  _tag: "Refused",
  refusal: { code, message, id }
})

/** Whether the brackets of a JSON text nest deeper than `maxDepth`. Linear; brackets in strings do not count. */
const tooDeep = (text: string): boolean => {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (inString) {
      if (c === 0x5c) i++
      else if (c === 0x22) inString = false
    } else if (c === 0x22) inString = true
    else if (c === 0x5b || c === 0x7b) {
      if (++depth > maxDepth) return true
    } else if (c === 0x5d || c === 0x7d) depth--
  }
  return false
}

/** A key that would set a prototype when some code below copies the object by assignment. */
const hasPrototypeKey = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(hasPrototypeKey)
  if (!Predicate.isObject(value)) return false
  return Object.entries(value).some(([key, inner]) => key === "__proto__" || hasPrototypeKey(inner))
}

/** Members that JSON-RPC does not have and the library below would act upon. */
const reserved = ["headers", "discard", "chunk", "traceId", "spanId", "sampled"]

const checkOne = (message: unknown): Admission | undefined => {
  if (!Predicate.isObject(message) || Array.isArray(message)) {
    return refused(invalidRequest, "A JSON-RPC message is an object")
  }
  const own = (key: string): unknown => Object.hasOwn(message, key) ? Reflect.get(message, key) : undefined
  const id = own("id")
  // The id of an answer is one of the server's: as the id of a refusal it would name a request of the client.
  const known = Object.hasOwn(message, "method") && isId(id) ? id : null
  if (own("jsonrpc") !== "2.0") return refused(invalidRequest, "jsonrpc must be \"2.0\"", known)
  const extra = reserved.find((key) => Object.hasOwn(message, key))
  if (extra !== undefined) return refused(invalidRequest, `A JSON-RPC message has no member "${extra}"`, known)
  if (Object.hasOwn(message, "method")) {
    if (typeof own("method") !== "string") return refused(invalidRequest, "method must be a string", known)
    if (Object.hasOwn(message, "id") && !isId(id)) return refused(invalidRequest, "id must be a string or a number")
    const params = own("params")
    if (params !== undefined && params !== null && (!Predicate.isObject(params) || Array.isArray(params))) {
      return refused(invalidRequest, "params must be an object", known)
    }
    return undefined
  }
  const answers = Object.hasOwn(message, "result") !== Object.hasOwn(message, "error")
  if (!answers || !(isId(id) || id === null)) {
    return refused(invalidRequest, "A JSON-RPC message has a method, or an id with a result or an error", known)
  }
  const error = own("error")
  return Predicate.isObject(error) && Object.hasOwn(error, "_tag")
    ? refused(invalidRequest, "A JSON-RPC error has no member \"_tag\"", known)
    : undefined
}

/** The id of a request that is not parsed. */
const idIn = (text: string): MessageId | null => {
  const finder = makeIdFinder()
  finder.take(Buffer.from(text))
  return finder.found()
}

/** Decides over one message or one batch, given as text without its line end. */
export const admit = (text: string): Admission => {
  if (tooDeep(text)) return refused(invalidRequest, `A message may nest at most ${maxDepth} levels deep`, idIn(text))
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return refused(parseError, "Parse error: this is not a JSON value on one line")
  }
  if ((text.includes("__proto__") || text.includes("\\u")) && hasPrototypeKey(message)) {
    return refused(invalidRequest, "A message may not have a key named __proto__", idIn(text))
  }
  const bad = Array.isArray(message) ? message.map(checkOne).find(Predicate.isNotUndefined) : checkOne(message)
  return bad ?? { _tag: "Accepted", message: message as Message | ReadonlyArray<Message> }
}

export const isList = <A>(given: A | ReadonlyArray<A>): given is ReadonlyArray<A> => Array.isArray(given)

/** The methods of a message or batch. */
export const methodsOf = (message: Message | ReadonlyArray<Message>): ReadonlyArray<string> =>
  isList(message) ? message.flatMap(methodsOf) : message.method === undefined ? [] : [message.method]

export const encodeRefusal = ({ code, id, message }: Refusal): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })

/** What a transport does before it hands on a request for a list. */
export interface ListGate {
  readonly methods: ReadonlySet<string>
  readonly effect: Effect.Effect<void>
}
