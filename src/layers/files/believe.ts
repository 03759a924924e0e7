// Whether the content read from a file may be cached until the file's stat changes. A change within the clock tick of
// the previous one leaves a file's times the same, and some file systems count whole seconds.
import { Effect } from "effect"
import type { BigIntStats } from "node:fs"
import { lstatSync, statSync } from "node:fs"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"

/** Milliseconds after a change until the next one is certain to have another time. */
const settleTime = 2_000

/**
 * Whether any later change will be visible in the file's times. `changed`: its last change, as a stat or in
 * milliseconds.
 */
export const isSettled = (changed: BigIntStats | number, now: number): boolean =>
  now - (typeof changed === "number" ? changed : changedAt(changed)) > settleTime

/** When the file or its metadata last changed, in milliseconds. */
export const changedAt = ({ ctimeNs }: BigIntStats): number => Number(ctimeNs / 1_000_000n)

/** Undefined if there is no such file, null if it cannot be read. */
const stateOf = (path: string, follow: boolean): BigIntStats | undefined | null => {
  try {
    return (follow ? statSync : lstatSync)(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return null
  }
}

/** The stat of the file itself, without following links. Undefined if it is missing or cannot be read. */
export const statOf = (path: string): BigIntStats | undefined => stateOf(path, false) ?? undefined

/** The parts of a file's stat that change with its content, as text. */
export const stampOf = ({ ctimeNs, dev, ino, mode, mtimeNs, size }: BigIntStats): string =>
  `${dev}:${ino}:${mode}:${size}:${mtimeNs}:${ctimeNs}`

/** Whether two stats are of the same file in the same state. */
export const isSameState = (a: BigIntStats, b: BigIntStats): boolean =>
  a.ino === b.ino && a.ctimeNs === b.ctimeNs && a.mtimeNs === b.mtimeNs && a.size === b.size && a.dev === b.dev &&
  a.mode === b.mode && a.uid === b.uid

/** Whether the file is in the state in which it was read, and a change since would be seen. A link's target may change. */
export const isUnchanged = (known: BigIntStats | undefined, now: BigIntStats | undefined, readAt: number): boolean =>
  known === undefined || now === undefined
    ? known === now
    : isSameState(known, now) && isSettled(known, readAt) && !now.isSymbolicLink()

interface Reading<A> {
  readonly stat: BigIntStats
  readonly value: A
}

interface ReadingsOptions {
  /** The limit on the total size of all values, by `sizeOf`. Default: 1,000 files. */
  readonly most?: number
  readonly sizeOf?: (stat: BigIntStats) => number
  /** Whether to follow links and watch their targets. Default: no. */
  readonly follow?: boolean
}

/**
 * A cache of what was read from files, by path. A file is read again if its stat changed, or if its last change was too
 * shortly before the last read to make a later one visible. A failure of `read` is not cached.
 */
export class Readings<A> {
  readonly #known: BoundedMap<string, Reading<A>>
  readonly #follow: boolean

  constructor({ follow = false, most = 1_000, sizeOf = () => 1 }: ReadingsOptions = {}) {
    this.#known = new BoundedMap(most, ({ stat }) => sizeOf(stat))
    this.#follow = follow
  }

  /** Undefined if there is no such file. `now`: milliseconds, taken before the call. */
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

  /** What was last read from the file, without checking it again. */
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
