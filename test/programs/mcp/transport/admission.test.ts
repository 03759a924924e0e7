import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  answeredIdsOf,
  cancelledIdsOf,
  encodeRefusal,
  idKey,
  idTaken,
  requestIdsOf
} from "../../../../src/programs/mcp/transport/admission.ts"

const Id = Schema.Union([Schema.String, Schema.Int])

it.prop("what is asked under an id is answered under it, however the answer is written", [Id], ([id]) => {
  const [asked] = requestIdsOf({ jsonrpc: "2.0", id, method: "ping" })
  const answers = [
    { jsonrpc: "2.0", id, result: {} },
    { jsonrpc: "2.0", id, error: { code: 1, message: "" } },
    { result: {}, id, jsonrpc: "2.0" },
    [{ jsonrpc: "2.0", method: "notifications/progress", params: {} }, { jsonrpc: "2.0", id, result: {} }]
  ]
  return asked === idKey(id) && answers.every((answer) => {
    const found = answeredIdsOf(JSON.stringify(answer))
    return found.length === 1 && found[0] === asked
  })
})

it("numbers and texts are different ids, and what is no request has none", () => {
  assert.notStrictEqual(idKey(7), idKey("7"))
  assert.deepStrictEqual(requestIdsOf([{ jsonrpc: "2.0", id: 1, result: {} }, { jsonrpc: "2.0", method: "x" }]), [])
  assert.deepStrictEqual(answeredIdsOf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}"), [])
  assert.deepStrictEqual(answeredIdsOf(encodeRefusal(idTaken(idKey(7)))), [])
  assert.deepStrictEqual(
    cancelledIdsOf({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } }),
    [idKey(7)]
  )
  assert.deepStrictEqual(cancelledIdsOf({ jsonrpc: "2.0", method: "notifications/cancelled" }), [])
})
