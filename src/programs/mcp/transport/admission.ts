// Checks the raw text of each JSON-RPC message before the protocol library gets it. The library's decoder drops valid
// messages in the same chunk as a broken line, and reads transport members (headers, trace ids) from the message
// itself.
import { Predicate } from "effect"
import type { Effect } from "effect"

/** A message larger than this is refused; an item is at most 1 MiB, and parameters may carry a few of them. */
export const maxMessageBytes = 16 * 1024 * 1024
export const maxDepth = 128

export const parseError = -32700
export const invalidRequest = -32600

export interface Refusal {
  readonly code: number
  readonly message: string
  readonly id: string | number | null
}

export type Admission =
  | { readonly _tag: "Accepted"; readonly message: unknown }
  | { readonly _tag: "Refused"; readonly refusal: Refusal }

const refused = (code: number, message: string, id: string | number | null = null): Admission => ({
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

/** Code that copies an object by assignment would set its prototype by this key. */
const hasPrototypeKey = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(hasPrototypeKey)
  if (!Predicate.isObject(value)) return false
  return Object.entries(value).some(([key, inner]) => key === "__proto__" || hasPrototypeKey(inner))
}

/** Members that are not part of JSON-RPC, but that the library would act upon. */
const reserved = ["headers", "discard", "chunk", "traceId", "spanId", "sampled"]

const isId = (id: unknown): id is string | number =>
  typeof id === "string" || (typeof id === "number" && Number.isFinite(id))

const checkOne = (message: unknown): Admission | undefined => {
  if (!Predicate.isObject(message) || Array.isArray(message)) {
    return refused(invalidRequest, "A JSON-RPC message is an object")
  }
  const own = (key: string): unknown => Object.hasOwn(message, key) ? Reflect.get(message, key) : undefined
  const id = own("id")
  const known = isId(id) ? id : null
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

/** Checks one message or one batch, given as text without its line end. */
export const admit = (text: string): Admission => {
  if (tooDeep(text)) return refused(invalidRequest, `A message may nest at most ${maxDepth} levels deep`)
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return refused(parseError, "Parse error: this is not a JSON value on one line")
  }
  if ((text.includes("__proto__") || text.includes("\\u")) && hasPrototypeKey(message)) {
    return refused(invalidRequest, "A message may not have a key named __proto__")
  }
  if (Array.isArray(message)) {
    const bad = message.map(checkOne).find(Predicate.isNotUndefined)
    return bad ?? { _tag: "Accepted", message }
  }
  return checkOne(message) ?? { _tag: "Accepted", message }
}

/** The methods of a message or batch. */
export const methodsOf = (message: unknown): ReadonlyArray<string> =>
  (Array.isArray(message) ? message : [message]).flatMap((one: unknown) =>
    Predicate.hasProperty(one, "method") && typeof one.method === "string" ? [one.method] : []
  )

/** Type and value of an id: `7` and `"7"` differ. */
export const idKey = (id: string | number): string => `${typeof id}:${id}`

const each = (message: unknown): ReadonlyArray<unknown> => Array.isArray(message) ? message : [message]

const idOf = (message: unknown): string | undefined =>
  Predicate.hasProperty(message, "id") && isId(message.id) ? idKey(message.id) : undefined

/** Ids of the requests of an accepted message or batch. */
export const requestIdsOf = (message: unknown): ReadonlyArray<string> =>
  each(message).flatMap((one) => Predicate.hasProperty(one, "method") ? idOf(one) ?? [] : [])

/** Ids of the requests that a message or batch cancels. They are not answered. */
export const cancelledIdsOf = (message: unknown): ReadonlyArray<string> =>
  each(message).flatMap((one) =>
    Predicate.hasProperty(one, "method") && one.method === "notifications/cancelled" &&
      Predicate.hasProperty(one, "params") && Predicate.hasProperty(one.params, "requestId") &&
      isId(one.params.requestId)
      ? [idKey(one.params.requestId)]
      : []
  )

/** Ids that an outgoing line answers. Lines of the library begin with the id; other lines are parsed. */
export const answeredIdsOf = (line: string): ReadonlyArray<string> => {
  if (line.startsWith("{\"jsonrpc\":\"2.0\",\"method\":")) return []
  const [, id] = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.){0,256}"|[-\d.eE+]{1,40}),"(?:result|error)":/.exec(line) ??
    []
  if (id !== undefined) return [idKey(JSON.parse(id))]
  return each(JSON.parse(line)).flatMap((one) => Predicate.hasProperty(one, "method") ? [] : idOf(one) ?? [])
}

/** The answer's id is null: with the request's id it would look like the answer of the other request. */
export const idTaken = (key: string): Refusal => ({
  code: invalidRequest,
  message: `The id ${key.slice(key.indexOf(":") + 1, 80)} is that of a request that is still running: ` +
    "every request needs an id of its own, and this one was not run",
  id: null
})

export const encodeRefusal = ({ code, id, message }: Refusal): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })

/** Called by a transport before it hands on a request for a list. */
export interface ListGate {
  readonly methods: ReadonlySet<string>
  readonly effect: Effect.Effect<void>
}
