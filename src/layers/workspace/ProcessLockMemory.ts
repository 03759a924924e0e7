// One semaphore per lock: enough where one process is all there is.
import { Duration, Effect, Layer, Option, Semaphore } from "effect"
import { LockTimeout, ProcessLock } from "../../services/workspace/ProcessLock.ts"

const patience = Duration.seconds(10)

export const make = Effect.sync(() => {
  const semaphores = new Map<string, Semaphore.Semaphore>()

  const semaphore = (key: string): Semaphore.Semaphore => {
    const found = semaphores.get(key)
    if (found !== undefined) return found
    const made = Semaphore.makeUnsafe(1)
    semaphores.set(key, made)
    return made
  }

  const withLock = (folder: string, name: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      const lock = semaphore(`${folder}\0${name}`)
      return Effect.acquireUseRelease(
        Effect.timeoutOption(Effect.interruptible(lock.take(1)), patience),
        (taken): Effect.Effect<A, E | LockTimeout, R> =>
          Option.isSome(taken) ? effect : Effect.fail(new LockTimeout({ name })),
        (taken) => Option.isSome(taken) ? lock.release(1) : Effect.void
      )
    })

  return ProcessLock.of({ withLock })
})

export const layer = Layer.effect(ProcessLock, make)
