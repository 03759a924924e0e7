// What every ProcessLock does above the one attempt that a backend makes: fibers queue in memory, processes poll, and
// whoever holds a lock may take it again. A fiber that was forked inside a lock takes turns with its siblings, and one
// that outlives the lock has to queue like anybody else.
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

/** Polling that is dense at first and never regular: two processes in step would refuse each other for ever. */
const poll = Schedule.exponential(Duration.millis(1), 1.5).pipe(
  Schedule.modifyDelay(({ duration }) =>
    Effect.map(Random.next, (random) => Duration.times(Duration.min(duration, Duration.millis(40)), 0.5 + random))
  )
)

// Which locks the current fiber is inside of.
const Held = Context.Reference<ReadonlyMap<string, Level>>("kiwi/layers/workspace/makeProcessLock/Held", {
  defaultValue: () => new Map()
})

export const makeProcessLock = (
  backend: {
    /** One attempt, without waiting; the lock is free again when the scope closes. */
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
