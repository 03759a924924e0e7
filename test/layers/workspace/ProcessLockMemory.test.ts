import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { ProcessLock } from "../../../src/services/workspace/ProcessLock.ts"

it.effect("lets one holder in at a time, and others past it by name or folder", () =>
  Effect.gen(function*() {
    const { withLock } = yield* ProcessLock
    let [inside, most] = [0, 0]
    const work = Effect.gen(function*() {
      most = Math.max(most, ++inside)
      yield* Effect.yieldNow
      inside--
    })
    yield* Effect.forEach([work, work, work], withLock("/a", "x"), { concurrency: "unbounded" })
    assert.strictEqual(most, 1)
    const held = yield* Deferred.make<void>()
    const holder = yield* Effect.forkChild(withLock("/a", "x")(Deferred.await(held)))
    yield* Effect.yieldNow
    assert.strictEqual(yield* withLock("/a", "y")(Effect.succeed(1)), 1)
    assert.strictEqual(yield* withLock("/b", "x")(Effect.succeed(2)), 2)
    yield* Deferred.succeed(held, undefined)
    yield* Fiber.join(holder)
  }).pipe(Effect.provide(ProcessLockMemory.layer)))

it.effect("gives up after ten seconds, and is free again after a failure or an interruption", () =>
  Effect.gen(function*() {
    const { withLock } = yield* ProcessLock
    const holder = yield* Effect.forkChild(withLock("/a", "x")(Effect.never))
    yield* Effect.yieldNow
    const waiting = yield* Effect.forkChild(Effect.flip(withLock("/a", "x")(Effect.void)))
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual((yield* Fiber.join(waiting))._tag, "LockTimeout")
    yield* Fiber.interrupt(holder)
    assert.strictEqual(yield* Effect.flip(withLock("/a", "x")(Effect.fail("failed" as const))), "failed")
    assert.strictEqual(yield* withLock("/a", "x")(Effect.succeed("free")), "free")
  }).pipe(Effect.provide(ProcessLockMemory.layer)))
