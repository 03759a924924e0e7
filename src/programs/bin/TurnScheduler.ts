// Lets the process handle signals and other requests while a fiber works. Effect's own scheduler counts the steps of a
// fiber since it last waited. Waiting for a settled promise resets that count within the same turn of the event loop,
// so a walk over thousands of files with one `import()` for each never reaches the limit. This scheduler checks the
// clock too.
import type * as Fiber from "effect/Fiber"
import { MixedScheduler } from "effect/Scheduler"

/** Milliseconds after which a fiber yields to the event loop. */
const longestTurn = 20

/**
 * How many steps a fiber may take between two checks of the clock. Effect's own limit before it yields is 2,048.
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
    // A fiber that continues after a wait may be delayed by a turn without visible effect. A fiber that starts is not
    // delayed: one that was interrupted before its start ends in this step; delayed, it would start all the same.
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
