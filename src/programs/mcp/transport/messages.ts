// JSON-RPC messages as the protocol library has them, and back: which ids are in use, and the answers that a batch waits
// for.
import { Predicate } from "effect"
import type * as RpcMessage from "effect/rpc/RpcMessage"
import { BoundedMap } from "../../../services/cache/BoundedMap.ts"
import type { Message, Refusal } from "./admission.ts"
import { invalidRequest, isList } from "./admission.ts"
import { stdioProtocols } from "./protocols.ts"

/** The library has one type for what a client sends as a request and as an answer. */
type FromClient = RpcMessage.FromClientEncoded | RpcMessage.ResponseExitEncoded

const toRpc = (message: Message): FromClient => {
  if (message.method !== undefined) {
    return {
      _tag: "Request",
      id: message.id ?? "",
      tag: message.method,
      payload: message.params ?? null,
      headers: [],
      ...(message.id === undefined ? { isNotification: true } : {})
    }
  }
  return {
    _tag: "Exit",
    requestId: message.id ?? "",
    exit: message.error === undefined || message.error === null
      ? { _tag: "Success", value: message.result }
      : { _tag: "Failure", cause: [{ _tag: "Fail", error: message.error }] }
  }
}

/** Type and value of an id: `7` and `"7"` are two. */
const idKey = (id: string | number): string => `${typeof id}:${id}`

const mostInBatch = 1_000

const refused = (message: string): Refusal => ({ code: invalidRequest, message, id: null })

/** Has no id: with this one, it would be taken for the answer of the other request. */
const idTaken = (key: string): Refusal =>
  refused(
    `The id ${key.slice(key.indexOf(":") + 1, 80)} is that of a request that is still running or was cancelled: ` +
      "every request needs an id of its own, and this one was not run"
  )

const batchRefused = refused("JSON-RPC batches are not supported in this revision of the protocol")
const batchTooLong = refused(`A JSON-RPC batch may have at most ${mostInBatch} messages`)

const internalError = { code: -32603, message: "Internal error" }

type Exit = RpcMessage.ResponseExitEncoded["exit"]

const errorOf = (cause: Extract<Exit, { readonly _tag: "Failure" }>["cause"]): object => {
  const failure = cause.find(({ _tag }) => _tag === "Fail")
  const error = failure?._tag === "Fail" ? failure.error : undefined
  if (!Predicate.hasProperty(error, "code") || !Predicate.hasProperty(error, "message")) return internalError
  const { code, message } = error
  return { code, message, ...(Predicate.hasProperty(error, "data") ? { data: error.data } : {}) }
}

/** Whether the revision that was agreed on by `initialize` has batches. */
const hasBatches = (exit: Exit): boolean => {
  const result = exit._tag === "Success" ? exit.value : undefined
  const agreed = Predicate.hasProperty(result, "protocolVersion") ? result.protocolVersion : undefined
  const protocol = stdioProtocols.find(({ protocolVersion }) => protocolVersion === agreed)
  return protocol?.runtime.transport.jsonRpc.acceptsBatches === true
}

interface Batch {
  /** Requests that have no answer yet and have not been cancelled. */
  open: number
  readonly answers: Array<object>
}

const isInitialize = ({ id, method }: Message) => method === "initialize" && id !== undefined

const revisionKey = "io.modelcontextprotocol/protocolVersion"

/** Requests that name a revision themselves are of one that has no batches. */
const namesRevision = ({ params }: Message) =>
  Predicate.hasProperty(params, "_meta") && Predicate.hasProperty(params._meta, revisionKey)

/** What to do with an accepted message. */
interface Received {
  /** For the library. */
  readonly handOn: ReadonlyArray<FromClient>
  /** For the client: a batch whose last open request was cancelled. */
  readonly answers: ReadonlyArray<string>
}

const requestKey = ({ id, method }: Message): string | undefined =>
  method === undefined || id === undefined || id === null ? undefined : idKey(id)

const cancelledKey = ({ method, params }: Message): string | undefined => {
  if (method !== "notifications/cancelled" || !Predicate.hasProperty(params, "requestId")) return undefined
  const { requestId } = params
  return typeof requestId === "string" || typeof requestId === "number" ? idKey(requestId) : undefined
}

/** One connection: what it has asked and not been answered, and whether its revision has batches. */
export const makeMessages = () => {
  const running = new Map<string, Batch | undefined>()
  /** What a cancelled request still answers must not be taken for the answer of a later one with its id. */
  const cancelled = new BoundedMap<string, true>(10_000)
  /** Ids of `initialize`, until it is answered. */
  const initializing = new Set<string>()
  let takesBatches = false

  /** The text of a batch that waits for nothing any more. */
  const complete = (batch: Batch): ReadonlyArray<string> =>
    batch.open === 0 && batch.answers.length > 0 ? [JSON.stringify(batch.answers)] : []

  /** A request that was called off gets no answer. */
  const cancel = (message: Message): ReadonlyArray<string> => {
    const key = cancelledKey(message)
    if (key === undefined || !running.has(key) || initializing.has(key)) return []
    const batch = running.get(key)
    running.delete(key)
    cancelled.set(key, true)
    if (batch === undefined) return []
    batch.open--
    return complete(batch)
  }

  const receive = (given: Message | ReadonlyArray<Message>): Received | Refusal => {
    const isBatch = isList(given)
    const all = isBatch ? given : [given]
    if (isBatch && (!takesBatches || all.length === 0 || all.some(isInitialize) || all.some(namesRevision))) {
      return batchRefused
    }
    if (all.length > mostInBatch) return batchTooLong
    const own = new Set<string>()
    for (const message of all) {
      const key = requestKey(message)
      if (key === undefined) continue
      if (running.has(key) || cancelled.get(key) === true || own.has(key)) return idTaken(key)
      own.add(key)
    }
    const batch = isBatch ? { open: own.size, answers: [] } : undefined
    const answers: Array<string> = []
    for (const message of all) {
      const key = requestKey(message)
      if (key !== undefined) {
        running.set(key, batch)
        if (isInitialize(message)) initializing.add(key)
      } else answers.push(...cancel(message))
    }
    return { handOn: all.map(toRpc), answers }
  }

  /** A refusal has no id of a request that is running: it would be taken for its answer. */
  const refusal = (given: Refusal): Refusal =>
    given.id !== null && running.has(idKey(given.id)) ? { ...given, id: null } : given

  /** The text to send for a message of the library; `undefined` if nothing is sent, or not before the rest of its batch. */
  const send = (message: RpcMessage.FromServerEncoded): string | undefined => {
    if (message._tag === "Request") {
      const { id, isNotification, payload: params, tag: method } = message
      return JSON.stringify({ jsonrpc: "2.0", method, params, ...(isNotification === true ? {} : { id }) })
    }
    if (message._tag !== "Exit") return undefined
    const { exit, requestId: id } = message
    const key = idKey(id)
    const batch = running.get(key)
    if (!running.delete(key)) return undefined
    const answer = exit._tag === "Success"
      ? { jsonrpc: "2.0", id, result: exit.value }
      : { jsonrpc: "2.0", id, error: errorOf(exit.cause) }
    if (initializing.delete(key)) takesBatches = hasBatches(exit)
    if (batch === undefined) return JSON.stringify(answer)
    batch.open--
    batch.answers.push(answer)
    return complete(batch)[0]
  }

  return { receive, refusal, send }
}
