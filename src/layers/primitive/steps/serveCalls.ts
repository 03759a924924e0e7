// The calls that a running tool makes: JSON-RPC 2.0, one message on each line, over the connection that it inherited.
// Each is a call of the same caller, made within the tool's own, with a token that the tool never sees.
import { Cause, Effect, Exit, Option, Result, Schema, Semaphore } from "effect"
import { CallEvents } from "../../../services/call/CallEvents.ts"
import { newCallId } from "../../../services/call/callId.ts"
import { toErrorObject } from "../../../services/error/KiwiError.ts"
import type { KiwiError } from "../../../services/error/KiwiError.ts"
import type { Connection } from "../../../services/process/ChildProcesses.ts"
import { childOf, NestedApproval } from "../../../services/proxy/nesting.ts"
import { unlikeJson } from "../../../services/schema/json.ts"
import type { Prepared } from "../../call/Step.ts"

/** Most bytes of a message. */
const maxMessage = 1_048_576
/** Most calls that run at once over one connection. Further messages are not read until one has ended. */
const mostAtOnce = 4

const Id = Schema.Union([Schema.String.check(Schema.isMaxLength(200)), Schema.Int])

const Envelope = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Id,
  method: Schema.String,
  params: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})
const decodeEnvelope = Schema.decodeUnknownOption(Envelope, { onExcessProperty: "error" })

const Execute = Schema.Struct({
  item_id: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(512)),
  parameters: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  dry_run: Schema.optionalKey(Schema.Boolean)
})
const decodeExecute = Schema.decodeUnknownResult(Execute, { onExcessProperty: "error" })

/** The codes of JSON-RPC, and one for what Kiwi refuses or a tool fails with. */
const codes = { notJson: -32700, notRequest: -32600, noMethod: -32601, notParams: -32602, defect: -32603, kiwi: -32000 }

type RequestId = typeof Id.Type | null

const problem = (id: RequestId, code: keyof typeof codes, message: string, data?: unknown): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, error: { code: codes[code], message, data } })}\n`

const decoder = new TextDecoder("utf-8", { fatal: true })

const parse = (bytes: Uint8Array): Result.Result<unknown, string> =>
  Result.try({ try: (): unknown => JSON.parse(decoder.decode(bytes)), catch: () => "the line is not JSON in UTF-8" })
    .pipe(
      Result.flatMap((value) => {
        const issue = unlikeJson(value, "the message")
        return issue === undefined ? Result.succeed(value) : Result.fail(issue)
      })
    )

/** The id of a message that is not a request, if it has a usable one. */
const idOf = (message: unknown): RequestId =>
  typeof message === "object" && message !== null && "id" in message && Schema.is(Id)(message.id) ? message.id : null

const newline = 0x0a

const joined = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}

export const serveCalls = (
  { call, callBack, chain }: Pick<Prepared, "call" | "callBack" | "chain">,
  granted: NonNullable<Prepared["callGrant"]>
) =>
(connection: Connection): Effect.Effect<void> =>
  Effect.scoped(Effect.gen(function*() {
    const { ask } = yield* NestedApproval
    const { emit } = yield* CallEvents
    const places = yield* Semaphore.make(mostAtOnce)
    const writing = yield* Semaphore.make(1)
    const running = new Set<string>()
    const tool = chain.leaf.tool.location.id
    const write = (text: string) => writing.withPermit(connection.write(text))

    const run = ({ dry_run: dryRun = false, item_id: item, parameters = {} }: typeof Execute.Type) =>
      ask(Effect.flatMap(newCallId, (callId) =>
        callBack(childOf(call, tool, { ...granted, callId, item, parameters, dryRun })))).pipe(
          // The tool shows its own output, not that of others.
          Effect.provideService(CallEvents, {
            emit: (event) =>
              event._tag === "Progress" ? emit(event) : Effect.void
          })
        )

    const answer = (id: RequestId, exit: Exit.Exit<unknown, KiwiError>): string => {
      if (Exit.isSuccess(exit)) return `${JSON.stringify({ jsonrpc: "2.0", id, result: exit.value })}\n`
      const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
      return error === undefined
        ? problem(id, "defect", "the call failed because of a defect in Kiwi")
        : problem(id, "kiwi", error.message, toErrorObject(error))
    }

    const perform = Effect.fnUntraced(function*(id: typeof Id.Type, execute: typeof Execute.Type) {
      const exit = yield* Effect.exit(Effect.suspend(() => run(execute)))
      if (Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)) return yield* Effect.interrupt
      if (Exit.isFailure(exit) && Option.isNone(Cause.findErrorOption(exit.cause))) {
        yield* Effect.logError("a tool's call failed", exit.cause)
      }
      yield* write(answer(id, exit))
    })

    /** What is wrong with a message; undefined if it is being performed. */
    const take = Effect.fnUntraced(function*(line: Uint8Array) {
      const message = parse(line)
      if (Result.isFailure(message)) return problem(null, "notJson", message.failure)
      const request = Option.getOrUndefined(decodeEnvelope(message.success))
      if (request === undefined) {
        const form = `write {"jsonrpc": "2.0", "id": 1, "method": "execute", "params": {"item_id": "…"}}`
        return problem(idOf(message.success), "notRequest", `the message is not a request: ${form}`)
      }
      const { id, method, params = {} } = request
      if (method !== "execute") return problem(id, "noMethod", "there is no such method: only execute")
      const execute = decodeExecute(params)
      if (Result.isFailure(execute)) return problem(id, "notParams", execute.failure.message)
      const key = JSON.stringify(id)
      if (running.has(key)) return problem(id, "notRequest", "a call with this id is still running")
      yield* places.take(1)
      running.add(key)
      yield* Effect.forkScoped(Effect.ensuring(
        perform(id, execute.success),
        Effect.suspend(() => {
          running.delete(key)
          return places.release(1)
        })
      ))
      return undefined
    })

    let rest: Uint8Array = new Uint8Array()
    for (;;) {
      const chunk = yield* connection.read
      if (chunk === undefined) return
      rest = rest.length === 0 ? chunk : joined(rest, chunk)
      for (let end = rest.indexOf(newline); end !== -1 && end <= maxMessage; end = rest.indexOf(newline)) {
        const line = rest.subarray(0, end)
        rest = rest.subarray(end + 1)
        const issue = line.length === 0 ? undefined : yield* take(line)
        if (issue !== undefined) yield* write(issue)
      }
      if (rest.length > maxMessage) {
        return yield* write(problem(null, "notRequest", `a message has at most ${maxMessage} bytes`))
      }
    }
  })).pipe(
    Effect.catchCauseIf(
      (cause) => !Cause.hasInterrupts(cause),
      (cause) =>
        Effect.andThen(
          Effect.logError("the connection of a tool failed", cause),
          connection.write(problem(null, "defect", "the connection ended because of a defect in Kiwi"))
        )
    )
  )
