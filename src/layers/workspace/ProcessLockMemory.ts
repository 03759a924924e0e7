// Locks between the fibers of one process. Nothing is written to disk.
import { Effect, Layer } from "effect"
import { LockTimeout, ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { makeProcessLock } from "./makeProcessLock.ts"

export const make = Effect.sync(() => {
  const held = new Set<string>()
  return makeProcessLock({
    tryHold: (folder, name) => {
      const path = `${folder}/${name}`
      return Effect.asVoid(Effect.acquireRelease(
        Effect.suspend(() => {
          if (held.has(path)) return Effect.fail(new LockTimeout({ name }))
          held.add(path)
          return Effect.void
        }),
        () => Effect.sync(() => held.delete(path))
      ))
    }
  })
})

export const layer = Layer.effect(ProcessLock, make)
