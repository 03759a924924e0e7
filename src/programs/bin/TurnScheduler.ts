// Lets the process hear signals and other requests while a fiber works. Effect's own scheduler counts the steps of a
// fiber since it last waited. A promise that is settled already ends a wait within the same turn of the event loop, so
// a walk over thousands of files with one `import()` for each never reaches that count. This one looks at the time too.
import type * as Fiber from "effect/Fiber"
import { MixedScheduler } from "effect/Scheduler"

/** Milliseconds after which fibers let the event loop go on. */
const longestTurn = 20

/**
 * Steps of a fiber, since it last waited, between two looks at the clock: as many as its code may take before another
 * fiber goes on, where it makes an effect in one step and runs it in the next. Effect's own limit is 2,048.
 */
const longestRun = 512

export class TurnScheduler extends MixedScheduler {
  readonly #begun = new WeakSet<Fiber.Fiber<unknown, unknown>>()
  #turnBegan: number | undefined
  readonly #endTurn = (): void => {
    this.#turnBegan = undefined
  }

  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (super.shouldYield(fiber)) return true
    const { currentOpCount } = fiber
    if (currentOpCount !== 1 && currentOpCount % longestRun !== 0) return false
    const late = this.#isLate()
    // After a wait, a fiber that goes on in the next turn waited a little longer: nothing can tell. One that begins is
    // not held up: if it was interrupted before, it ends in this step, or else it would be begun all the same.
    if (currentOpCount !== 1 || this.#begun.has(fiber)) return late
    this.#begun.add(fiber)
    return false
  }

  #isLate(): boolean {
    const now = performance.now()
    if (this.#turnBegan !== undefined) return now - this.#turnBegan > longestTurn
    this.#turnBegan = now
    setImmediate(this.#endTurn)
    return false
  }
}
