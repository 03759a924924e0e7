// Lets the process hear signals and other requests while a fiber works. Effect's own scheduler counts the steps of a
// fiber since it last waited. A promise that is settled already ends a wait within the same turn of the event loop, so
// a walk over thousands of files with one `import()` for each never reaches that count. This one looks at the time too.
import type * as Fiber from "effect/Fiber"
import { MixedScheduler } from "effect/Scheduler"

/** Milliseconds after which fibers let the event loop go on. */
const longestTurn = 20

/** Steps between two looks at the clock; a power of two. */
const stride = 4

export class TurnScheduler extends MixedScheduler {
  #steps = 0
  #turnBegan: number | undefined
  readonly #endTurn = (): void => {
    this.#turnBegan = undefined
  }

  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (super.shouldYield(fiber)) return true
    // A fiber that is interrupted before its first turn ends in one step. If it had to wait with that, Effect would begin
    // it meanwhile, and it would end when all its work is done.
    if (fiber.currentOpCount < 2) return false
    if ((++this.#steps & (stride - 1)) !== 0) return false
    const now = performance.now()
    if (this.#turnBegan !== undefined) return now - this.#turnBegan > longestTurn
    this.#turnBegan = now
    setImmediate(this.#endTurn)
    return false
  }
}
