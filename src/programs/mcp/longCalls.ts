// Calls that take longer than a client waits: answered as running, they go on until they end, are stopped, or their
// session ends. To the audit each is one call.
import { Deferred, type Duration, Effect, Exit, Fiber, Option, Scope } from "effect"
import type { Schema } from "effect"
import { sha256 } from "../../layers/identity/sha256.ts"
import type { ProjectKey } from "../../layers/Projects.ts"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Caller } from "../../services/call/Caller.ts"
import type { CallEvent } from "../../services/call/CallEvents.ts"
import { CallEvents } from "../../services/call/CallEvents.ts"
import type { RunningCall } from "../../services/call/RunningCalls.ts"
import { RunningCalls } from "../../services/call/RunningCalls.ts"

/** The end of a call's output that is kept, in characters. */
const mostOutput = 16_384
/** Answers that are kept until they are read: one that is longest unread goes first. */
const mostAnswers = 1_000

/** The name of an HTTP session, for audit and rules: with its id, a reader of the audit could end it. */
export const sessionName = (id: string): string => sha256(id).slice(0, 32)

const makeOutput = () => {
  let text = ""
  return {
    take: (event: CallEvent) => {
      if (event._tag === "Chunk") text = `${text}${event.text}`.slice(-mostOutput)
    },
    said: () => text.toWellFormed()
  }
}

export interface LongCall<A, R> {
  readonly caller: Caller
  /** The id that the audit has for the call, for its client: once given, it does not change. */
  readonly pinId: () => string
  /** Runs the call. It sets how long the client waits as soon as that is known. */
  readonly run: (setLimit: (time: Duration.Duration) => Effect.Effect<void>) => Effect.Effect<A, never, R>
  /** The answer as data, for a client that asks for it later. */
  readonly show: (answer: A) => Schema.JsonObject
}

export const make = () => {
  /** By session: every call that runs in it, whether it was answered as running or not. */
  const sessions = new Map<string, Scope.Closeable>()
  const ends = new Map<string, Map<ProjectKey, Effect.Effect<void>>>()
  /** Those that were answered as running, while they run, and their answers until these are read. */
  const running = new Map<string, RunningCall>()
  const answers = new BoundedMap<string, RunningCall>(mostAnswers)
  const keyOf = ({ client, session }: Caller, callId: string) => `${client}\0${session}\0${callId}`

  /** Of the session: it ends with the server's, or when the session ends. */
  const scopeOf = Effect.fnUntraced(function*(session: string, server: Scope.Scope) {
    const known = sessions.get(session) ?? (yield* Scope.fork(server, "parallel"))
    sessions.set(session, known)
    return known
  })

  /** Its answer is kept when it has ended. */
  const keep = (key: string, call: RunningCall, fiber: Fiber.Fiber<unknown>) => {
    running.set(key, call)
    fiber.addObserver(() => {
      if (running.delete(key)) answers.set(key, call)
    })
  }

  /**
   * Its answer or, once its client has waited long enough, its id and what it has said. `server`: the scope of all
   * sessions.
   */
  const follow = <A, R>(server: Scope.Scope, { caller, run, show, pinId }: LongCall<A, R>) =>
    // From its start on, somebody waits for the call or it can be found.
    Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
      const output = makeOutput()
      const outer = yield* CallEvents
      const time = yield* Deferred.make<Duration.Duration>()
      let answered = false
      const emit = (event: CallEvent) =>
        Effect.suspend(() => {
          output.take(event)
          return answered ? Effect.void : outer.emit(event)
        })
      const fiber = yield* run((limit) => Effect.asVoid(Deferred.succeed(time, limit))).pipe(
        Effect.provideService(CallEvents, { emit }),
        Effect.provideService(RunningCalls, {
          find: (id) => running.get(keyOf(caller, id)) ?? answers.get(keyOf(caller, id)),
          forget: (id) => {
            running.delete(keyOf(caller, id))
            answers.delete(keyOf(caller, id))
          }
        }),
        Effect.forkIn(yield* scopeOf(caller.session, server), { startImmediately: true })
      )
      const early = fiber.pollUnsafe()
      if (early !== undefined) return { answer: yield* early }
      const late = Effect.as(Effect.flatMap(Deferred.await(time), Effect.sleep), undefined)
      const done = yield* restore(Effect.raceFirst(Fiber.await(fiber), late)).pipe(
        Effect.onInterrupt(() => Fiber.interrupt(fiber))
      )
      if (done !== undefined) return { answer: yield* done }
      answered = true
      const callId = pinId()
      const call: RunningCall = {
        output: output.said,
        answer: (wait) =>
          Effect.map(
            Effect.timeoutOption(Fiber.await(fiber), wait),
            Option.match({
              onNone: () => undefined,
              onSome: (exit) => Exit.isSuccess(exit) ? show(exit.value) : { status: "stopped", output: output.said() }
            })
          ),
        stop: Effect.asVoid(Fiber.interrupt(fiber))
      }
      keep(keyOf(caller, callId), call, fiber)
      return { running: { call_id: callId, output: output.said() } }
    }))

  /** What is done in a project when the session ends, once. */
  const atEnd = (session: string, project: ProjectKey, effect: Effect.Effect<void>): void => {
    ends.set(session, (ends.get(session) ?? new Map()).set(project, effect))
  }

  /** Stops the calls of a session that ended. */
  const end = Effect.fnUntraced(function*(session: string) {
    const scope = sessions.get(session)
    sessions.delete(session)
    if (scope !== undefined) yield* Scope.close(scope, Exit.void)
    const effects = [...ends.get(session)?.values() ?? []]
    ends.delete(session)
    for (const effect of effects) yield* effect
  })

  return { follow, atEnd, end }
}
export type LongCalls = ReturnType<typeof make>
