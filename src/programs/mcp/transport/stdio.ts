// The stdio transport of the protocol library: whole, admitted lines in; nothing but messages out; an end that is
// noticed. The library's own waits half a second after a broken line and loses its neighbours, never gives up on a
// client that is gone, and parses each message three times.
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Cause, Deferred, Effect, Fiber, FiberSet, Latch, Layer, Queue, Stream } from "effect"
import type * as RpcMessage from "effect/rpc/RpcMessage"
import * as RpcSerialization from "effect/rpc/RpcSerialization"
import * as RpcServer from "effect/rpc/RpcServer"
import type { Readable, Writable } from "node:stream"
import { admit, encodeRefusal, invalidRequest, maxMessageBytes, methodsOf, parseError } from "./admission.ts"
import type { ListGate, Refusal } from "./admission.ts"
import type { Line } from "./lines.ts"
import { makeLineReader } from "./lines.ts"
import { makeMessages } from "./messages.ts"

export interface StdioOptions {
  readonly input: Readable
  readonly output: Writable
  /** Runs before a message with one of these methods is handed on; others pass it meanwhile. */
  readonly before: ListGate
}

/** How long calls that are running when stdin ends may still take: `printf … | kiwi serve` wants its answers. */
const grace = "1 second"

/** Of a line that holds no text to admit. */
const refusalOf = (line: Exclude<Line, { readonly text: string }>): Refusal =>
  line === "not-text"
    ? { code: parseError, message: "Parse error: this is not UTF-8", id: null }
    : {
      code: invalidRequest,
      message: `A message may be at most ${maxMessageBytes / 1024 / 1024} MiB long`,
      id: line.tooLong
    }

interface Ends {
  /** stdin has ended. */
  readonly ended: Deferred.Deferred<void>
  /** Everything was written, or nobody reads any more. */
  readonly closed: Deferred.Deferred<void>
}

/** Waits until everything was handed over that has been written so far, or can no longer be. */
const flush = (output: Writable): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (output.destroyed) resume(Effect.void)
    else output.write("", () => resume(Effect.void))
  })

/** The only client of a server on stdio. */
const client = 0

const makeProtocol = ({ before, input, output }: StdioOptions, { closed, ended }: Ends) =>
  RpcServer.Protocol.make(Effect.fnUntraced(function*(handOn) {
    const messages = makeMessages()
    const waiting = yield* FiberSet.make()
    const lines = makeLineReader()

    const room = Latch.makeUnsafe(true)
    for (const event of ["drain", "error", "close"]) output.on(event, () => room.openUnsafe())
    /** Waits if the client reads more slowly than it is written to. */
    const write = (text: string | undefined): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (text === undefined || output.destroyed || output.write(`${text}\n`)) return Effect.void
        room.closeUnsafe()
        return Effect.raceFirst(room.await, Deferred.await(closed))
      })
    const refuse = (refusal: Refusal) => write(encodeRefusal(messages.refusal(refusal)))

    /** After a defect in the library, only one message is lost: the next ones are still read. */
    const takeLines = (taken: ReadonlyArray<Line>): Effect.Effect<void> =>
      Effect.forEach(
        taken,
        (line) =>
          Effect.catchCauseIf(
            takeLine(line),
            (cause) => !Cause.hasInterrupts(cause),
            (cause) => Effect.logError("A message could not be handled", cause)
          ),
        { discard: true }
      )

    const takeLine = (line: Line): Effect.Effect<void> => {
      if (line === "not-text" || "tooLong" in line) return refuse(refusalOf(line))
      const text = line.text.trim()
      if (text === "") return Effect.void
      const admission = admit(text)
      if (admission._tag === "Refused") return refuse(admission.refusal)
      const { message } = admission
      const received = messages.receive(message)
      if ("code" in received) return refuse(received)
      // The library takes answers here too, though its type does not say so.
      const handed = Effect.forEach(
        received.handOn,
        (one) => handOn(client, one as RpcMessage.FromClientEncoded),
        { discard: true }
      )
      const taken = received.answers.length === 0
        ? handed
        : Effect.andThen(Effect.forEach(received.answers, write, { discard: true }), handed)
      return methodsOf(message).some((method) => before.methods.has(method))
        ? Effect.asVoid(FiberSet.run(waiting, Effect.andThen(before.effect, taken)))
        : taken
    }

    yield* NodeStream.fromReadable({ evaluate: () => input, closeOnDone: false }).pipe(
      Stream.runForEach((chunk) => takeLines(lines.read(chunk))),
      Effect.ignore,
      Effect.andThen(Effect.suspend(() => takeLines(lines.end()))),
      Effect.andThen(Deferred.succeed(ended, undefined)),
      Effect.andThen(FiberSet.awaitEmpty(waiting)),
      Effect.andThen(Effect.suspend(() => handOn(client, { _tag: "Eof" }))),
      Effect.forkScoped
    )
    return {
      disconnects: yield* Queue.make<number>(),
      send: (_client: number, message: RpcMessage.FromServerEncoded) => write(messages.send(message)),
      end: () => Effect.asVoid(Deferred.succeed(closed, undefined)),
      clientIds: Effect.succeed(new Set([client])),
      initialMessage: Effect.succeedNone,
      supportsAck: true,
      supportsTransferables: false,
      supportsSpanPropagation: false,
      supportsNotifications: true,
      codecFor: RpcSerialization.json.codecFor
    }
  }))

/**
 * Runs a server until its client is gone, then ends it in order: calls that run on after stdin's end get a moment,
 * what is still running then is interrupted, and every finalizer has finished when this succeeds.
 */
export const serve = Effect.fnUntraced(function*<A, E, R>(
  server: Layer.Layer<A, E, R>,
  options: StdioOptions
) {
  const ended = yield* Deferred.make<void>()
  const closed = yield* Deferred.make<void>()
  options.input.on("error", () => {})
  // Nobody reads any more.
  for (const event of ["error", "close"]) {
    options.output.on(event, () => Deferred.doneUnsafe(closed, Effect.void))
  }
  // An input that is still open would keep the process alive after everything has ended.
  yield* Effect.addFinalizer(() => Effect.sync(() => options.input.destroy()))
  const protocol = Layer.effect(RpcServer.Protocol, makeProtocol(options, { ended, closed }))
  const running = yield* Effect.forkChild(Layer.launch(Layer.provide(server, protocol)))
  // Also when this program itself is interrupted, by a signal: calls end before whoever runs it goes on to its own end.
  yield* Effect.addFinalizer(() => Fiber.interrupt(running))
  const over = Effect.raceFirst(
    Deferred.await(closed),
    Deferred.await(ended).pipe(Effect.andThen(Effect.sleep(grace)))
  )
  yield* Effect.raceFirst(Effect.asVoid(Fiber.await(running)), over)
  // What is still answered waits for no reader any more.
  yield* Deferred.succeed(closed, undefined)
  const exit = yield* Fiber.interrupt(running).pipe(Effect.andThen(Fiber.await(running)))
  yield* Effect.timeoutOption(flush(options.output), grace)
  if (exit._tag === "Failure" && !Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause)
}, Effect.scoped)
