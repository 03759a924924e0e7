// Near ids: what somebody may have meant who mistyped one.

/** Damerau-Levenshtein distance (neighbours swapped count once), or `limit + 1` as soon as it must be more. */
export const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let before: Array<number> = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
      least = Math.min(least, cost)
    }
    if (least > limit) return limit + 1
    before = previous
    previous = row
  }
  return previous[b.length]!
}

/** How many slips an id of this length may have: 1 up to five characters, 2 up to ten, then 3. */
export const tolerance = (id: string): number => id.length <= 5 ? 1 : id.length <= 10 ? 2 : 3

const separators = /[._-]/g

/** Up to three, nearest first. `candidates` in lookup order. */
export const nearest = (id: string, candidates: Iterable<string>): ReadonlyArray<string> => {
  const wanted = id.slice(id.lastIndexOf("/") + 1).toLowerCase().slice(0, 128)
  const limit = tolerance(wanted)
  const bare = wanted.replace(separators, "")
  const found = new Map<string, number>()
  for (const candidate of candidates) {
    if (found.has(candidate) || candidate === wanted) continue
    const far = candidate.replace(separators, "") === bare
      ? 0
      : bare.length > 3 && candidate.startsWith(wanted)
      ? 1
      : distance(wanted, candidate, limit)
    if (far <= limit) found.set(candidate, far)
  }
  return [...found].toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).slice(0, 3).map(([candidate]) => candidate)
}
