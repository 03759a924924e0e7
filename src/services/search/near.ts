// Finds ids similar to a mistyped one.
import { editDistance } from "../error/editDistance.ts"

/** The allowed edit distance for an id of this length: 1 up to five characters, 2 up to ten, then 3. */
export const tolerance = (id: string): number => id.length <= 5 ? 1 : id.length <= 10 ? 2 : 3

const separators = /[._-]/g

/** Up to three, nearest first. `candidates`: in lookup order. */
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
      : editDistance(wanted, candidate, limit)
    if (far <= limit) found.set(candidate, far)
  }
  return [...found].toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).slice(0, 3).map(([candidate]) => candidate)
}
