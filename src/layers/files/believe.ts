// Whether what was read of a file may be remembered until its stat changes. A change within the clock tick of the last
// one leaves a file's times as they were, and some file systems count in whole seconds.
import type { BigIntStats } from "node:fs"
import { lstatSync } from "node:fs"

/** In milliseconds. */
const settleTime = 2_000

/** Whether any later change will show. `changed`: when the file last changed, by its ctime or in milliseconds. */
export const isSettled = (changed: BigIntStats | number, now: number): boolean =>
  now - (typeof changed === "number" ? changed : changedAt(changed)) > settleTime

/** When anything of a file last changed, in milliseconds. */
export const changedAt = ({ ctimeNs }: BigIntStats): number => Number(ctimeNs / 1_000_000n)

/** Of the file itself, links not followed; `undefined` where nothing is or nobody may look. */
export const statOf = (path: string): BigIntStats | undefined => {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Whether two looks saw the same file in the same state. */
export const isSameState = (a: BigIntStats, b: BigIntStats): boolean =>
  a.ino === b.ino && a.ctimeNs === b.ctimeNs && a.mtimeNs === b.mtimeNs && a.size === b.size && a.dev === b.dev &&
  a.mode === b.mode && a.uid === b.uid

/** What was read of a file, and the state that it was in. */
export interface Remembered<A> {
  readonly stat: BigIntStats
  readonly value: A
}
