import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { MixedScheduler, Scheduler } from "effect/Scheduler"
import { TurnScheduler } from "../../../src/programs/bin/TurnScheduler.ts"

/** Milliseconds of work that no fiber can be stopped in. */
const work = (millis: number) =>
  Effect.sync(() => {
    const end = performance.now() + millis
    while (performance.now() < end);
  })

const entriesOfWalk = 1_000

/** How far a walk has come when the event loop first goes on. */
const reached = (each: Effect.Effect<unknown>, scheduler: Scheduler) =>
  Effect.gen(function*() {
    let [done, seen] = [0, entriesOfWalk]
    const timer = setTimeout(() => {
      seen = done
    }, 1)
    const walk = Effect.gen(function*() {
      while (done < seen) {
        yield* each
        done++
      }
    })
    yield* Effect.forkChild(walk, { startImmediately: true }).pipe(
      Effect.flatMap(Fiber.join),
      Effect.provideService(Scheduler, scheduler)
    )
    clearTimeout(timer)
    return seen
  })

const entries: Readonly<Record<string, Effect.Effect<unknown>>> = {
  "a promise that is settled": Effect.andThen(Effect.promise(() => Promise.resolve()), work(1)),
  "a module that is loaded": Effect.andThen(Effect.promise(() => import("node:path")), work(1)),
  "work alone": work(1),
  "what fails": Effect.andThen(work(1), Effect.ignore(Effect.fail("no"))),
  "its own fiber": Effect.flatMap(Effect.forkChild(work(1), { startImmediately: true }), Fiber.join),
  "nested effects": Effect.forEach([1, 2], () => Effect.andThen(Effect.promise(() => Promise.resolve()), work(1))),
  "entries at once": Effect.forEach([1, 2], () => work(1), { concurrency: "unbounded" }),
  "a span": Effect.withSpan(work(1), "entry"),
  "a service": Effect.andThen(Scheduler, work(1)),
  "a scope": Effect.scoped(Effect.acquireRelease(work(1), () => work(1)))
}

describe("TurnScheduler", () => {
  for (const [name, each] of Object.entries(entries)) {
    it.live(`lets the event loop go on during a walk with ${name} for each entry`, () =>
      Effect.gen(function*() {
        assert.isBelow(yield* reached(each, new TurnScheduler()), entriesOfWalk)
      }))
  }

  // Which step of a fiber is looked at depends on how many were taken before.
  for (let before = 0; before < 8; before++) {
    it.live(`does not let a fiber begin that was interrupted before, ${before} steps after a look`, () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.sleep("1 hour"))
        for (let step = 0; step < before; step++) yield* Effect.void
        yield* Effect.andThen(work(25), Effect.sync(() => fiber.interruptUnsafe()))
        const exit = yield* Effect.timeoutOption(Fiber.await(fiber), "1 second")
        assert.isTrue(Option.isSome(exit))
      }).pipe(Effect.provideService(Scheduler, new TurnScheduler())))
  }

  it.live("does not part what a fiber does in one step from what it does in the next", () =>
    Effect.gen(function*() {
      let turns = 0
      const count = setInterval(() => turns++, 0)
      for (let wait = 0; wait < 5; wait++) {
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 1)))
        const before = turns
        for (let step = 0; step < 100; step++) yield* work(step % 4 === 0 ? 1 : 0)
        assert.strictEqual(turns, before)
      }
      clearInterval(count)
    }).pipe(Effect.provideService(Scheduler, new TurnScheduler())))

  it.live("is needed: without it a walk over promises that are settled ends first", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reached(entries["a promise that is settled"]!, new MixedScheduler()), entriesOfWalk)
    }))

  it.live("keeps Effect's own limit of steps", () =>
    Effect.withFiber((fiber) =>
      Effect.sync(() => {
        const scheduler = new TurnScheduler()
        assert.isFalse(scheduler.shouldYield(fiber))
        assert.isTrue(scheduler.shouldYield(Object.create(fiber, { currentOpCount: { value: 1_000_000 } })))
      })
    ))
})
