// The part that every ProcessLock shares, above a backend's single attempt: fibers queue in memory, processes poll, and
// the holder of a lock may take it again. A fiber forked inside a lock takes turns with its siblings; one that outlives
// the lock has to queue.
import { Context, Duration, Effect, Random, Schedule, Scope, Semaphore } from "effect"
import { type LockError, LockTimeout, type ProcessLock } from "../../services/workspace/ProcessLock.ts"

interface Level {
  open: boolean
  readonly turns: Semaphore.Semaphore
}

interface Queue {
  readonly semaphore: Semaphore.Semaphore
  users: number
}

const patience = Duration.seconds(10)

/** Polls often at first and with jitter: two processes in step would refuse each other forever. */
const poll = Schedule.exponential(Duration.millis(1), 1.5).pipe(
  Schedule.modifyDelay(({ duration }) =>
    Effect.map(Random.next, (random) => Duration.times(Duration.min(duration, Duration.millis(40)), 0.5 + random))
  )
)

// The locks that the current fiber holds.
const Held = Context.Reference<ReadonlyMap<string, Level>>("kiwi/layers/workspace/makeProcessLock/Held", {
  defaultValue: () => new Map()
})

export const makeProcessLock = (
  backend: {
    /** One attempt, without waiting. The lock is released when the scope closes. */
    readonly tryHold: (folder: string, name: string) => Effect.Effect<void, LockError, Scope.Scope>
  }
): ProcessLock["Service"] => {
  const queues = new Map<string, Queue>()

  const turn = (path: string) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const queue = queues.get(path) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
        queue.users++
        queues.set(path, queue)
        return queue.semaphore
      }),
      () =>
        Effect.sync(() => {
          const queue = queues.get(path)
          if (queue !== undefined && --queue.users === 0) queues.delete(path)
        })
    ).pipe(Effect.flatMap((semaphore) => semaphore.takeScoped(1)))

  const patiently = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) =>
    Effect.timeoutOrElse(effect, { duration: patience, orElse: () => Effect.fail(new LockTimeout({ name })) })

  const inside = <A, E, R>(path: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const level: Level = { open: true, turns: Semaphore.makeUnsafe(1) }
      const end = Effect.suspend(() => {
        level.open = false
        return level.turns.take(1)
      })
      return Effect.flatMap(Held, (held) => Effect.provideService(effect, Held, new Map(held).set(path, level))).pipe(
        Effect.ensuring(end)
      )
    })

  const withLock = (folder: string, name: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => {
    const path = `${folder}/${name}`
    const outermost = Effect.scopedWith((scope) => {
      const attempt = Effect.retry(backend.tryHold(folder, name), {
        schedule: poll,
        while: (error) => error._tag === "LockTimeout"
      })
      const acquire = patiently(name, Effect.andThen(turn(path), attempt))
      return Effect.andThen(Effect.provideService(acquire, Scope.Scope, scope), inside(path, effect))
    })
    return Effect.flatMap(Held, (held): Effect.Effect<A, E | LockError, R> => {
      const level = held.get(path)
      if (level === undefined || !level.open) return outermost
      return Effect.scopedWith((scope) =>
        Effect.andThen(
          Effect.provideService(patiently(name, level.turns.takeScoped(1)), Scope.Scope, scope),
          Effect.suspend(() => level.open ? inside(path, effect) : outermost)
        )
      )
    })
  }
  return { withLock, tryHold: backend.tryHold }
}
