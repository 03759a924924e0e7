// What both backends of Interventions do. Attempts are counted in memory: they are about a session of this process.
import { Clock, Effect } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { newCallId } from "../../services/call/callId.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import type { Intervention } from "../../services/limit/Interventions.ts"
import {
  addTo,
  Interventions,
  InterventionsUnavailable,
  isAnswerFor,
  mostAnswers
} from "../../services/limit/Interventions.ts"
import type { LockError } from "../../services/workspace/ProcessLock.ts"

const mostSessions = 1_000

const isWaiting = ({ answer }: Intervention): boolean => answer === undefined

interface Kept {
  readonly read: Effect.Effect<ReadonlyArray<Intervention>, InterventionsUnavailable>
  readonly write: (waiting: ReadonlyArray<Intervention>) => Effect.Effect<void, InterventionsUnavailable>
  /** Runs a change while nobody else makes one. */
  readonly alone: <A, E, R>(change: Effect.Effect<A, E, R>) => Effect.Effect<A, E | LockError, R>
}

export const unavailable = (cause: KiwiError) => new InterventionsUnavailable({ detail: cause.message, cause })

export const makeOver = ({ alone, read, write }: Kept): Interventions["Service"] => {
  const stuck = new BoundedMap<string, number>(mostSessions)
  return Interventions.of({
    file: Effect.fn("Interventions.file")((request) =>
      alone(Effect.gen(function*() {
        const { id, waiting } = yield* addTo(
          yield* read,
          request,
          yield* newCallId,
          yield* Clock.currentTimeMillis
        )
        yield* write(waiting)
        return id
      })).pipe(Effect.catchTag(["LockTimeout", "LockUnavailable"], (error) => Effect.fail(unavailable(error))))
    ),
    waiting: Effect.map(read, (all) => all.filter(isWaiting)),
    settle: Effect.fn("Interventions.settle")((id, answer) =>
      alone(Effect.gen(function*() {
        const all = yield* read
        const found = all.find((one) => one.id === id && isWaiting(one))
        if (found === undefined) return false
        const rest = all.filter((one) => one !== found)
        const answers = rest.filter((one) => !isWaiting(one))
        yield* write(
          answer === undefined
            ? rest
            : [...rest.filter(isWaiting), ...answers.slice(1 - mostAnswers), { ...found, answer }]
        )
        return true
      })).pipe(Effect.catchTag(["LockTimeout", "LockUnavailable"], (error) => Effect.fail(unavailable(error))))
    ),
    takeAnswer: Effect.fn("Interventions.takeAnswer")((caller, reason) =>
      alone(Effect.gen(function*() {
        const all = yield* read
        const found = all.find(isAnswerFor(caller, reason))
        if (found !== undefined) yield* write(all.filter((one) => one !== found))
        return found
      })).pipe(Effect.catchTag(["LockTimeout", "LockUnavailable"], (error) => Effect.fail(unavailable(error))))
    ),
    countStuck: ({ client, session }, said = 0) =>
      Effect.sync(() => {
        const key = `${client}\n${session}`
        const attempts = Math.max((stuck.get(key) ?? 0) + 1, said)
        stuck.set(key, attempts)
        return attempts
      })
  })
}
