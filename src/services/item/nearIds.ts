// Up to three similar ids, for "did you mean".
import { editDistance } from "../error/editDistance.ts"

/** Nearest first, without ids that differ in more than a third of their characters. */
export const nearIds = (wanted: string, ids: Iterable<string>): ReadonlyArray<string> => {
  if (wanted.length > 128) return []
  const limit = Math.min(3, Math.max(1, Math.floor(wanted.length / 3)))
  const hits = new Map<string, number>()
  for (const id of ids) {
    if (id === wanted || hits.has(id)) continue
    const distance = editDistance(wanted, id, limit)
    if (distance <= limit) hits.set(id, distance)
  }
  return Array.from(hits)
    .toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
    .slice(0, 3)
    .map(([id]) => id)
}
