// Progress notifications of a running call. Delivery never slows the tool: only the newest few are queued, older ones
// are dropped. The protocol requires that progress numbers grow: the tool's own if it gives some, else a count.
import { Cause, Clock, Effect, Fiber, Queue } from "effect"
import * as McpSchema from "effect/ai/McpSchema"
import type * as McpServer from "effect/ai/McpServer"
import { CallEvents } from "../../services/call/CallEvents.ts"
import type { CallEvent } from "../../services/call/CallEvents.ts"
import { safeLine } from "../../services/error/safeText.ts"

interface Step {
  readonly progress: number
  readonly total?: number
  readonly message: string
}

/** Least time between two notifications that quote a tool's output. */
const quoteEvery = 250
const heartbeat = 5000

/** The last line of a chunk that is not blank. */
const lastLine = (text: string): string => safeLine(text.trimEnd().split("\n").at(-1) ?? "")

const makeSteps = (started: number) => {
  let last = 0
  let lastAt = started
  let toolCounts = false
  const counted = (message: string): Step | undefined => toolCounts ? undefined : { progress: ++last, message }
  const next = (event: CallEvent, now: number): Step | undefined => {
    if (event._tag === "Chunk") {
      const message = now - lastAt < quoteEvery ? "" : lastLine(event.text)
      return message === "" ? undefined : counted(message)
    }
    const message = safeLine(event.message)
    if (event.progress === undefined) return counted(message)
    if (toolCounts && event.progress <= last) return undefined
    toolCounts = true
    last = Math.max(event.progress, last)
    return { progress: last, ...(event.total === undefined ? {} : { total: event.total }), message }
  }
  const remember = (step: Step | undefined, now: number): Step | undefined => {
    if (step !== undefined) lastAt = now
    return step
  }
  return {
    ofEvent: (event: CallEvent, now: number) => remember(next(event, now), now),
    ofSilence: (now: number) =>
      now - lastAt < heartbeat
        ? undefined
        : remember(counted(`running for ${Math.round((now - started) / 1000)} s`), now)
  }
}

/** Reports a call's events while it runs, if its client asked for progress. */
export const withProgress =
  (notifications: McpServer.McpServer["Service"]["notifications"]) =>
  <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | McpSchema.McpRequestContext> =>
    McpSchema.McpRequestContext.use(({ requestMetadata }) => {
      const progressToken = requestMetadata?.progressToken
      return typeof progressToken === "string" || typeof progressToken === "number"
        ? reported(notifications, progressToken, call)
        : call
    })

const reported = Effect.fnUntraced(
  function*<A, E, R>(
    notifications: McpServer.McpServer["Service"]["notifications"],
    progressToken: string | number,
    call: Effect.Effect<A, E, R>
  ) {
    const steps = makeSteps(yield* Clock.currentTimeMillis)
    const queue = yield* Queue.make<Step, Cause.Done>({ capacity: 16, strategy: "sliding" })
    const offer = (step: Step | undefined) => step === undefined ? Effect.void : Effect.asVoid(Queue.offer(queue, step))
    const sender = yield* Queue.take(queue).pipe(
      Effect.flatMap((step) => notifications["notifications/progress"]({ progressToken, ...step })),
      Effect.forever,
      Effect.ignore,
      Effect.forkChild
    )
    const beat = yield* Clock.currentTimeMillis.pipe(
      Effect.flatMap((now) => offer(steps.ofSilence(now))),
      Effect.delay("1 second"),
      Effect.forever,
      Effect.forkChild
    )
    const result = yield* Effect.provideService(call, CallEvents, {
      emit: (event) => Effect.flatMap(Clock.currentTimeMillis, (now) => offer(steps.ofEvent(event, now)))
    })
    yield* Fiber.interrupt(beat)
    // What was said before the end arrives before the result.
    yield* Queue.end(queue)
    yield* Fiber.await(sender)
    return result
  }
)
