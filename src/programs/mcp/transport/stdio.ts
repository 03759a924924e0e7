// The stdio transport below the protocol library: reads whole, admitted lines, writes only messages, and detects the
// end of its client. The library alone would wait half a second after a broken line and lose the lines around it, would
// keep running after its client is gone, and ends by interrupting the fiber that started it.
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Cause, Deferred, Effect, Fiber, FiberSet, Layer, PlatformError, Queue, Sink, Stdio, Stream } from "effect"
import type { Readable, Writable } from "node:stream"
import {
  admit,
  answeredIdsOf,
  cancelledIdsOf,
  encodeRefusal,
  idTaken,
  invalidRequest,
  maxMessageBytes,
  methodsOf,
  parseError,
  requestIdsOf
} from "./admission.ts"
import type { ListGate, Refusal } from "./admission.ts"

export interface StdioOptions {
  readonly input: Readable
  readonly output: Writable
  /** Runs before a message with one of these methods is handed on. Other messages do not wait for it. */
  readonly before: ListGate
}

/** How long running calls may still take after stdin has ended: `printf … | kiwi serve` expects its answers. */
const grace = "1 second"

const newline = 0x0a

/** Splits a byte stream into lines, with at most one line in memory. A line that is too long is dropped whole. */
const makeLineReader = () => {
  let pending: Array<Uint8Array> = []
  let size = 0
  let dropping = false
  return (chunk: Uint8Array): ReadonlyArray<Uint8Array | "too-long"> => {
    const lines: Array<Uint8Array | "too-long"> = []
    let from = 0
    while (from < chunk.length) {
      const at = chunk.indexOf(newline, from)
      const part = chunk.subarray(from, at === -1 ? chunk.length : at)
      if (!dropping) {
        size += part.length
        if (size > maxMessageBytes) {
          dropping = true
          pending = []
          lines.push("too-long")
        } else if (part.length > 0) pending.push(part)
      }
      if (at === -1) break
      if (!dropping && size > 0) lines.push(pending.length === 1 ? pending[0]! : Buffer.concat(pending))
      pending = []
      size = 0
      dropping = false
      from = at + 1
    }
    return lines
  }
}

const tooLong: Refusal = {
  code: invalidRequest,
  message: `A message may be at most ${maxMessageBytes / 1024 / 1024} MiB long`,
  id: null
}
const notText: Refusal = { code: parseError, message: "Parse error: this is not UTF-8", id: null }

const decodeText = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Ids of requests that have no answer yet. Of two requests with the same id the library would answer only one. */
const makeRunning = () => {
  const running = new Set<string>()
  return {
    /** Reserves these ids. Returns the first one that is in use already, or `undefined` if all are reserved now. */
    begin: (message: unknown): string | undefined => {
      const ids = requestIdsOf(message)
      const taken = ids.find((id, index) => running.has(id) || ids.indexOf(id) !== index)
      if (taken !== undefined) return taken
      for (const id of ids) running.add(id)
      for (const id of cancelledIdsOf(message)) running.delete(id)
      return undefined
    },
    answered: (data: string | Uint8Array): void => {
      if (running.size === 0) return
      const text = typeof data === "string" ? data : Buffer.from(data).toString("utf8")
      for (const line of text.split("\n")) {
        if (line !== "") { for (const id of answeredIdsOf(line)) running.delete(id) }
      }
    }
  }
}

const brokenPipe = (cause: unknown) =>
  PlatformError.systemError({ module: "Stdio", method: "stdout", _tag: "Unknown", cause })

interface Ends {
  /** stdin has ended. */
  readonly ended: Deferred.Deferred<void>
  /** Everything was written, or stdout was closed. */
  readonly closed: Deferred.Deferred<void>
}

const makeStdio = ({ before, input, output }: StdioOptions, { closed, ended }: Ends): Stdio.Stdio => {
  const write = (data: string | Uint8Array) =>
    Effect.callback<void, PlatformError.PlatformError>((resume) => {
      output.write(data, (error) => resume(error ? Effect.fail(brokenPipe(error)) : Effect.void))
    })
  const running = makeRunning()
  const refuse = (refusal: Refusal) => Effect.ignore(write(`${encodeRefusal(refusal)}\n`))

  const stdin = Stream.unwrap(Effect.gen(function*() {
    const accepted = yield* Queue.bounded<Uint8Array, Cause.Done>(64)
    const waiting = yield* FiberSet.make()
    const readLines = makeLineReader()
    const takeLine = Effect.fnUntraced(function*(line: Uint8Array | "too-long") {
      if (line === "too-long") return yield* refuse(tooLong)
      const text = decodeText(line)
      if (text === undefined) return yield* refuse(notText)
      if (text.trim() === "") return
      const admission = admit(text)
      if (admission._tag === "Refused") return yield* refuse(admission.refusal)
      const taken = running.begin(admission.message)
      if (taken !== undefined) return yield* refuse(idTaken(taken))
      const framed = new TextEncoder().encode(`${text.trim()}\n`)
      if (!methodsOf(admission.message).some((method) => before.methods.has(method))) {
        return yield* Queue.offer(accepted, framed)
      }
      yield* before.effect.pipe(Effect.andThen(Queue.offer(accepted, framed)), FiberSet.run(waiting))
    })
    yield* NodeStream.fromReadable({ evaluate: () => input, closeOnDone: false }).pipe(
      Stream.runForEach((chunk) => Effect.forEach(readLines(chunk), takeLine, { discard: true })),
      Effect.ignore,
      Effect.andThen(Deferred.succeed(ended, undefined)),
      Effect.andThen(FiberSet.awaitEmpty(waiting)),
      Effect.andThen(Queue.end(accepted)),
      Effect.forkScoped
    )
    return Stream.fromQueue(accepted)
  }))

  return Stdio.make({
    args: Effect.succeed([]),
    stdin,
    stdout: () =>
      Sink.forEachArray((parts: ReadonlyArray<string | Uint8Array>) =>
        Effect.forEach(parts, (part) => {
          running.answered(part)
          return write(part)
        }, { discard: true })
      ).pipe(Sink.onExit(() => Deferred.succeed(closed, undefined))),
    stderr: () => Sink.drain
  })
}

/**
 * Runs a server until its client is gone, then ends it in order: after the end of stdin, running calls get the grace
 * period, then they are interrupted. Every finalizer has finished when this succeeds.
 */
export const serve = Effect.fnUntraced(function*<A, E, R>(
  server: Layer.Layer<A, E, R>,
  options: StdioOptions
) {
  const ended = yield* Deferred.make<void>()
  const closed = yield* Deferred.make<void>()
  // A broken pipe is reported twice: by the failed write, and by an event that may come after this has ended. Without a
  // listener that event would end the process.
  options.input.on("error", () => {})
  options.output.on("error", () => {})
  // An open stdin would keep the process alive after everything has ended.
  yield* Effect.addFinalizer(() => Effect.sync(() => options.input.destroy()))
  const stdio = Layer.succeed(Stdio.Stdio, makeStdio(options, { ended, closed }))
  // The library interrupts the fiber that built its transport. That is this child fiber, not the program.
  const running = yield* Effect.forkChild(Layer.launch(Layer.provide(server, stdio)))
  // Also if a signal interrupts the program: its calls end before the program does.
  yield* Effect.addFinalizer(() => Fiber.interrupt(running))
  const over = Effect.raceFirst(
    Deferred.await(closed),
    Deferred.await(ended).pipe(Effect.andThen(Effect.sleep(grace)))
  )
  yield* Effect.raceFirst(Effect.asVoid(Fiber.await(running)), over)
  const exit = yield* Fiber.interrupt(running).pipe(Effect.andThen(Fiber.await(running)))
  if (exit._tag === "Failure" && !Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause)
}, Effect.scoped)
