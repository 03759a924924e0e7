// Up to three ids that somebody may have meant. Edit distance with transpositions, cut off early, so that a hundred
// thousand ids cost milliseconds.

/** Optimal string alignment distance, or `limit + 1` as soon as it is above `limit`. */
export const editDistance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let before: Array<number> = []
  let above = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a.charCodeAt(i - 1) === b.charCodeAt(j - 1)
      let cost = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (same ? 0 : 1))
      if (
        i > 1 && j > 1 && a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1)
      ) cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
      if (cost < least) least = cost
    }
    if (least > limit) return limit + 1
    before = above
    above = row
  }
  return Math.min(above[b.length]!, limit + 1)
}

/** The nearest first; none that differs in more than a third of its characters. */
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
