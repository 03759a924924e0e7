// Follows calls that were answered as running.
import { Effect, Schema } from "effect"
import { CallUnknown, RunningCalls } from "../../services/call/RunningCalls.ts"
import type { BuiltinHandler, BuiltinHandlers } from "../../services/primitive/Builtins.ts"
import { decodeParameters } from "../../services/primitive/Builtins.ts"

const CallId = Schema.NonEmptyString.check(Schema.isMaxLength(128))

/** In seconds: shorter than any client waits. */
const longestWait = 40

const Result = Schema.Struct({
  call_id: CallId,
  wait: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: longestWait })))
})
const Stop = Schema.Struct({ call_id: CallId })

const find = Effect.fnUntraced(function*(callId: string) {
  const calls = yield* RunningCalls
  const found = calls.find(callId)
  return found ?? (yield* new CallUnknown({ callId }))
})

/** The answer, once: it is not kept after it was read. */
const taken = Effect.fnUntraced(function*(callId: string, wait: number) {
  const answer = yield* (yield* find(callId)).answer(wait)
  if (answer !== undefined) (yield* RunningCalls).forget(callId)
  return answer
})

const result: BuiltinHandler = Effect.fnUntraced(function*(input) {
  const { call_id, wait = 30 } = yield* decodeParameters(Result, input)
  const call = yield* find(call_id)
  const answer = yield* taken(call_id, wait * 1_000)
  const data: Schema.JsonObject = answer === undefined
    ? { call_id, status: "running", output: call.output() }
    : { call_id, ...answer }
  return { data, metadata: {} }
})

const stop: BuiltinHandler = Effect.fnUntraced(function*(input) {
  const { call_id } = yield* decodeParameters(Stop, input)
  const call = yield* find(call_id)
  const before = yield* taken(call_id, 0)
  if (before !== undefined) return { data: { call_id, ...before }, metadata: {} }
  const calls = yield* RunningCalls
  yield* call.stop
  calls.forget(call_id)
  return { data: { call_id, status: "stopped", output: call.output() }, metadata: {} }
})

export const handlers = { call_result: result, call_stop: stop } satisfies BuiltinHandlers
