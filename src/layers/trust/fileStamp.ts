// Whether a file is still the one that was read, by its times and identity.
import type { BigIntStats } from "node:fs"
import { lstatSync } from "node:fs"

/** A change within the clock tick of the last one leaves a file's times as they were. */
const settled = 2_000

/** `undefined` for what is not there or cannot be looked at. */
export const stamp = (path: string): BigIntStats | undefined => {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

export const sameStamp = (a: BigIntStats, b: BigIntStats): boolean =>
  a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs &&
  a.mode === b.mode && a.uid === b.uid

export const isSettled = (stat: BigIntStats, now: number): boolean => now - Number(stat.ctimeNs / 1_000_000n) > settled

export interface Remembered<A> {
  readonly stat: BigIntStats
  readonly value: A
}
