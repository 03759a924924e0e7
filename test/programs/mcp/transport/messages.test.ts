import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type * as RpcMessage from "effect/rpc/RpcMessage"
import type { Message } from "../../../../src/programs/mcp/transport/admission.ts"
import { makeMessages } from "../../../../src/programs/mcp/transport/messages.ts"

const Id = Schema.Union([Schema.String, Schema.Int])
type Id = typeof Id.Type

const request = (id: Id, method = "ping") => ({ jsonrpc: "2.0", id, method })
const cancelled = (requestId: Id) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } })
const done = (requestId: Id, value: unknown = {}): RpcMessage.ResponseExitEncoded => ({
  _tag: "Exit",
  requestId,
  exit: { _tag: "Success", value }
})
const failed = (requestId: Id, error: unknown): RpcMessage.ResponseExitEncoded => ({
  _tag: "Exit",
  requestId,
  exit: { _tag: "Failure", cause: [{ _tag: "Fail", error }] }
})

type Messages = ReturnType<typeof makeMessages>
const accepted = (messages: Messages, given: Message | ReadonlyArray<Message>) => {
  const received = messages.receive(given)
  assert.isTrue("handOn" in received, JSON.stringify(received))
  return "handOn" in received ? received : { handOn: [], answers: [] }
}
const refusal = (messages: Messages, given: Message | ReadonlyArray<Message>): string => {
  const received = messages.receive(given)
  return "code" in received ? received.message : ""
}
const sent = (messages: Messages, message: RpcMessage.FromServerEncoded): unknown => {
  const text = messages.send(message)
  return text === undefined ? undefined : JSON.parse(text)
}
/** Of a connection that has agreed on this revision. */
const connected = (protocolVersion: string) => {
  const messages = makeMessages()
  accepted(messages, request("init", "initialize"))
  messages.send(done("init", { protocolVersion }))
  return messages
}

it.prop("what is asked under an id is answered under it once, and the id is free again", [Id], ([id]) => {
  const messages = makeMessages()
  for (let round = 0; round < 2; round++) {
    accepted(messages, request(id))
    assert.include(refusal(messages, request(id)), "still running")
    assert.strictEqual(messages.send(done(id)), JSON.stringify({ jsonrpc: "2.0", id, result: {} }))
    assert.isUndefined(messages.send(done(id)))
  }
})

it("numbers and texts are different ids", () => {
  const messages = makeMessages()
  accepted(messages, request(7))
  accepted(messages, request("7"))
  assert.deepStrictEqual(sent(messages, done("7")), { jsonrpc: "2.0", id: "7", result: {} })
})

it("what was called off is not answered, and what else is called off does nothing", () => {
  const messages = makeMessages()
  accepted(messages, request(1))
  accepted(messages, request(2))
  accepted(messages, cancelled(1))
  accepted(messages, cancelled("nothing"))
  accepted(messages, { method: "notifications/cancelled" })
  assert.isUndefined(messages.send(done(1)))
  assert.isDefined(messages.send(done(2)))
})

it("an id that was called off is not used again, since its answer may still come", () => {
  const messages = makeMessages()
  accepted(messages, request(1))
  accepted(messages, cancelled(1))
  assert.include(refusal(messages, request(1)), "was cancelled")
  assert.isUndefined(messages.send(done(1)))
})

it("initialize cannot be called off", () => {
  const messages = makeMessages()
  accepted(messages, request("init", "initialize"))
  accepted(messages, cancelled("init"))
  assert.isDefined(messages.send(done("init", { protocolVersion: "2025-06-18" })))
})

it("a refusal has no id of a request that is running", () => {
  const messages = makeMessages()
  accepted(messages, request(5))
  const malformed = { code: -32600, message: "", id: 5 }
  assert.strictEqual(messages.refusal(malformed).id, null)
  messages.send(done(5))
  assert.strictEqual(messages.refusal(malformed).id, 5)
})

it("an error is its code, message and data, and says nothing else", () => {
  const messages = makeMessages()
  const error = { code: -32602, message: "No such tool", data: { name: "x" } }
  accepted(messages, request(1))
  assert.deepStrictEqual(sent(messages, failed(1, { ...error, _tag: "InvalidParams", stack: "at /home" })), {
    jsonrpc: "2.0",
    id: 1,
    error
  })
  accepted(messages, request(2))
  const internal = { jsonrpc: "2.0", id: 2, error: { code: -32603, message: "Internal error" } }
  assert.deepStrictEqual(sent(messages, failed(2, new Error("secret"))), internal)
  assert.isUndefined(messages.send({ _tag: "Defect", defect: "secret" }))
})

it("a question to the client has an id, and a notification none", () => {
  const messages = makeMessages()
  const asked = { _tag: "Request", id: 1, tag: "elicitation/create", payload: {}, headers: [] } as const
  assert.deepStrictEqual(sent(messages, asked), { jsonrpc: "2.0", method: "elicitation/create", params: {}, id: 1 })
  const told = { ...asked, id: "", isNotification: true } as const
  assert.deepStrictEqual(sent(messages, told), { jsonrpc: "2.0", method: "elicitation/create", params: {} })
  assert.deepStrictEqual(accepted(messages, { id: 1, result: { action: "accept" } }).handOn, [
    { _tag: "Exit", requestId: 1, exit: { _tag: "Success", value: { action: "accept" } } }
  ])
  assert.deepStrictEqual(accepted(messages, { id: 1, error: { code: 1, message: "no" } }).handOn, [
    {
      _tag: "Exit",
      requestId: 1,
      exit: { _tag: "Failure", cause: [{ _tag: "Fail", error: { code: 1, message: "no" } }] }
    }
  ])
})

describe("a batch", () => {
  const batch = [request(1), { method: "notifications/progress" }, request(2)]

  it("is answered in one, when its last request is", () => {
    const messages = connected("2025-03-26")
    assert.lengthOf(accepted(messages, batch).handOn, 3)
    assert.isUndefined(messages.send(done(2)))
    assert.deepStrictEqual(sent(messages, done(1)), [
      { jsonrpc: "2.0", id: 2, result: {} },
      { jsonrpc: "2.0", id: 1, result: {} }
    ])
  })

  it("waits no longer for what was called off", () => {
    const messages = connected("2025-03-26")
    accepted(messages, batch)
    messages.send(done(1))
    const { answers } = accepted(messages, cancelled(2))
    assert.deepStrictEqual(answers.map((text) => JSON.parse(text)), [[{ jsonrpc: "2.0", id: 1, result: {} }]])
    assert.isUndefined(messages.send(done(2)))
  })

  it("that nothing is left of is not answered", () => {
    const messages = connected("2025-03-26")
    accepted(messages, batch)
    assert.deepStrictEqual(accepted(messages, cancelled(1)).answers, [])
    assert.deepStrictEqual(accepted(messages, cancelled(2)).answers, [])
    assert.isUndefined(messages.send(done(1)))
  })

  const refused: ReadonlyArray<readonly [string, Messages, ReadonlyArray<Message>]> = [
    ["before a revision is agreed on", makeMessages(), batch],
    ["in a revision without them", connected("2025-06-18"), batch],
    ["in the newest revision", connected("2025-11-25"), batch],
    ["that is empty", connected("2025-03-26"), []],
    ["with an initialize", connected("2025-03-26"), [request(3, "initialize")]],
    ["with a request that names its revision", connected("2025-03-26"), [
      { ...request(3), params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } } }
    ]]
  ]
  it.each(refused)("%s is refused", (_, messages, given) => {
    assert.include(refusal(messages, given), "batches")
    for (const { id } of given) if (id !== undefined && id !== null) assert.isUndefined(messages.send(done(id)))
  })

  it("that calls off what it asks only later is answered, and the other way round is not", () => {
    const messages = connected("2025-03-26")
    accepted(messages, [cancelled(1), request(1), request(2), cancelled(2)])
    assert.deepStrictEqual(sent(messages, done(1)), [{ jsonrpc: "2.0", id: 1, result: {} }])
    assert.isUndefined(messages.send(done(2)))
  })

  it("of more than a thousand messages is refused", () => {
    const messages = connected("2025-03-26")
    assert.include(refusal(messages, Array.from({ length: 1_001 }, (_, id) => request(id))), "at most 1000")
  })

  it("with an id twice is refused whole", () => {
    const messages = connected("2025-03-26")
    assert.include(refusal(messages, [request(1), request(1)]), "still running")
    assert.isUndefined(messages.send(done(1)))
  })
})
