// Whether what was read of a file may be remembered until its stat changes. A change within the clock tick of the last
// one leaves a file's times as they were, and some file systems count in whole seconds.
import { Effect } from "effect"
import type { BigIntStats } from "node:fs"
import { lstatSync, statSync } from "node:fs"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"

/** In milliseconds. */
const settleTime = 2_000

/** Whether any later change will show. `changed`: when the file last changed, by its ctime or in milliseconds. */
export const isSettled = (changed: BigIntStats | number, now: number): boolean =>
  now - (typeof changed === "number" ? changed : changedAt(changed)) > settleTime

/** When anything of a file last changed, in milliseconds. */
export const changedAt = ({ ctimeNs }: BigIntStats): number => Number(ctimeNs / 1_000_000n)

/** `undefined` if there is no such file, null if it cannot be looked at. */
const stateOf = (path: string, follow: boolean): BigIntStats | undefined | null => {
  try {
    return (follow ? statSync : lstatSync)(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return null
  }
}

/** Of the file itself, links not followed; `undefined` where nothing is or nobody may look. */
export const statOf = (path: string): BigIntStats | undefined => stateOf(path, false) ?? undefined

/** Everything of a file's state that changes with its content, as text. */
export const stampOf = ({ ctimeNs, dev, ino, mode, mtimeNs, size }: BigIntStats): string =>
  `${dev}:${ino}:${mode}:${size}:${mtimeNs}:${ctimeNs}`

/** Whether two looks saw the same file in the same state. */
export const isSameState = (a: BigIntStats, b: BigIntStats): boolean =>
  a.ino === b.ino && a.ctimeNs === b.ctimeNs && a.mtimeNs === b.mtimeNs && a.size === b.size && a.dev === b.dev &&
  a.mode === b.mode && a.uid === b.uid

interface Reading<A> {
  readonly stat: BigIntStats
  readonly value: A
}

interface ReadingsOptions {
  /** What all files may take together, by `sizeOf`. Default: 1,000 files. */
  readonly most?: number
  readonly sizeOf?: (stat: BigIntStats) => number
  /** Whether the files may be links, whose targets are then watched. Default: no. */
  readonly follow?: boolean
}

/**
 * What files hold, by path. A file is read again if its state is another, or if its last change was so short before the
 * last read that a later one may not show. What `read` fails with is not remembered.
 */
export class Readings<A> {
  readonly #known: BoundedMap<string, Reading<A>>
  readonly #follow: boolean

  constructor({ follow = false, most = 1_000, sizeOf = () => 1 }: ReadingsOptions = {}) {
    this.#known = new BoundedMap(most, ({ stat }) => sizeOf(stat))
    this.#follow = follow
  }

  /** `undefined` if there is no such file. `now`: in milliseconds, from before the call. */
  get(path: string, now: number, read: () => A): A | undefined {
    const found = this.#find(path)
    return found === undefined || found.known !== undefined
      ? found?.known?.value
      : this.#keep(path, found.stat, now, read())
  }

  getEffect<E, R>(path: string, read: Effect.Effect<A, E, R>): Effect.Effect<A | undefined, E, R> {
    return Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      const found = this.#find(path)
      return found === undefined || found.known !== undefined
        ? Effect.succeed(found?.known?.value)
        : Effect.map(read, (value) => this.#keep(path, found.stat, now, value))
    })
  }

  /** What was read of the file last, whether it is still so or not. */
  last(path: string): A | undefined {
    return this.#known.get(path)?.value
  }

  #find(path: string): { readonly stat: BigIntStats | null; readonly known?: Reading<A> } | undefined {
    const stat = stateOf(path, this.#follow)
    const known = this.#known.get(path)
    if (known !== undefined && stat && isSameState(known.stat, stat)) return { stat, known }
    this.#known.delete(path)
    return stat === undefined ? undefined : { stat }
  }

  #keep(path: string, stat: BigIntStats | null, now: number, value: A): A {
    if (stat !== null && isSettled(stat, now)) this.#known.set(path, { stat, value })
    return value
  }
}
