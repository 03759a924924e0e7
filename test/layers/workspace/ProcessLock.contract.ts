import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, type Layer, type Scope } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { ProcessLock } from "../../../src/services/workspace/ProcessLock.ts"

/** `makeFolder` makes one that no other test locks in. */
export const contract = <E>(
  name: string,
  layer: Layer.Layer<ProcessLock, E>,
  makeFolder: Effect.Effect<string, never, Scope.Scope>
) =>
  describe(`${name} satisfies ProcessLock`, () => {
    const test = <A, E2>(
      title: string,
      body: (lock: ProcessLock["Service"], folder: string) => Effect.Effect<A, E2, Scope.Scope>
    ) =>
      it.effect(title, () =>
        Effect.gen(function*() {
          return yield* body(yield* ProcessLock, yield* makeFolder)
        }).pipe(Effect.provide(layer)))

    /** Runs `effect` from another fiber until it waits for somebody else. */
    const started = <A, E2>(effect: Effect.Effect<A, E2>) =>
      Effect.tap(Effect.forkChild(effect), () => Effect.repeat(Effect.yieldNow, { times: 20 }))

    test("fifty fibers that increment a counter lose nothing", (lock, folder) => {
      let counter = 0
      const increment = Effect.gen(function*() {
        const read = counter
        yield* Effect.yieldNow
        counter = read + 1
      })
      return Effect.all(Array.from({ length: 50 }, () => lock.withLock(folder, "a.lock")(increment)), {
        concurrency: "unbounded"
      }).pipe(Effect.andThen(Effect.sync(() => assert.strictEqual(counter, 50))))
    })

    test("gives back what the effect gave, and frees the lock after each kind of end", (lock, folder) =>
      Effect.gen(function*() {
        const locked = lock.withLock(folder, "a.lock")
        assert.strictEqual(yield* locked(Effect.succeed(1)), 1)
        assert.strictEqual(yield* Effect.flip(locked(Effect.fail("no"))), "no")
        yield* Effect.exit(locked(Effect.die("defect")))
        const holder = yield* started(locked(Effect.never))
        yield* Fiber.interrupt(holder)
        assert.strictEqual(yield* locked(Effect.succeed(2)), 2)
      }))

    test("two names do not meet", (lock, folder) =>
      lock.withLock(folder, "a.lock")(Effect.flatMap(
        Effect.forkChild(lock.withLock(folder, "b.lock")(Effect.succeed(1))),
        Fiber.join
      )))

    test("a waiter can be interrupted and fails after ten seconds", (lock, folder) =>
      Effect.gen(function*() {
        const locked = lock.withLock(folder, "a.lock")
        const holder = yield* Effect.forkChild(locked(Effect.never))
        yield* Effect.repeat(Effect.yieldNow, { times: 20 })
        const impatient = yield* started(locked(Effect.void))
        yield* Fiber.interrupt(impatient)
        const waiter = yield* started(Effect.flip(locked(Effect.void)))
        yield* TestClock.adjust("9 seconds")
        assert.isUndefined(waiter.pollUnsafe())
        yield* TestClock.adjust("2 seconds")
        const error = yield* Fiber.join(waiter)
        assert.strictEqual(error._tag, "LockTimeout")
        yield* Fiber.interrupt(holder)
      }))

    test("whoever is inside may enter again", (lock, folder) => {
      const locked = lock.withLock(folder, "a.lock")
      return locked(Effect.gen(function*() {
        assert.strictEqual(yield* locked(locked(Effect.succeed(1))), 1)
        assert.strictEqual(yield* locked(Effect.succeed(2)), 2)
      }))
    })

    test("fibers forked inside take turns", (lock, folder) => {
      const locked = lock.withLock(folder, "a.lock")
      let inside = 0
      const child = locked(Effect.gen(function*() {
        inside++
        assert.strictEqual(inside, 1)
        yield* Effect.yieldNow
        inside--
      }))
      return locked(Effect.all([child, child, child], { concurrency: "unbounded" }))
    })

    test("a fiber that outlives the lock has to queue for it", (lock, folder) =>
      Effect.gen(function*() {
        const locked = lock.withLock(folder, "a.lock")
        const go = yield* Deferred.make<void>()
        const order: Array<string> = []
        const late = yield* locked(Effect.forkScoped(
          Effect.andThen(
            Deferred.await(go),
            locked(Effect.sync(() =>
              order.push("late")
            ))
          )
        ))
        yield* locked(Effect.gen(function*() {
          yield* Deferred.succeed(go, undefined)
          yield* Effect.repeat(Effect.yieldNow, { times: 20 })
          order.push("holder")
        }))
        yield* Fiber.join(late)
        assert.deepStrictEqual(order, ["holder", "late"])
      }))

    test("tryHold fails at once where somebody holds, and holds for its scope", (lock, folder) =>
      Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          yield* lock.tryHold(folder, "a.lock")
          const error = yield* Effect.flip(Effect.scoped(lock.tryHold(folder, "a.lock")))
          assert.strictEqual(error._tag, "LockTimeout")
          const waiter = yield* started(Effect.flip(lock.withLock(folder, "a.lock")(Effect.void)))
          yield* TestClock.adjust("11 seconds")
          assert.strictEqual((yield* Fiber.join(waiter))._tag, "LockTimeout")
        }))
        yield* lock.withLock(folder, "a.lock")(Effect.flip(Effect.scoped(lock.tryHold(folder, "a.lock"))))
        yield* Effect.scoped(lock.tryHold(folder, "a.lock"))
      }))
  })
