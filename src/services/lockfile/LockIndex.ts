// The index beside the lockfiles: when each was last found to hold. It repeats what the files say and is believed only
// where they confirm it, so whoever writes one gains nothing by it.
import { Option, Result, Schema } from "effect"
import { LockScope } from "./LockfileStore.ts"
import type { StoredLock } from "./LockfileStore.ts"
import { lockSuffix } from "./lockName.ts"

export const IndexEntry = Schema.Struct({
  /** Below the lockfiles folder. */
  path: Schema.String,
  chain_hash: Schema.String,
  /** The lockfile's `generated_at`. */
  created_at: Schema.String,
  /** As `created_at` until it was found to hold. */
  last_validated: Schema.String,
  scope: LockScope
})
export type IndexEntry = typeof IndexEntry.Type

/** Entries by their lockfile's path. */
export type LockIndex = ReadonlyMap<string, IndexEntry>

const Outline = Schema.fromJsonString(Schema.Struct({ version: Schema.Literal("1"), lockfiles: Schema.Unknown }))
const decodeOutline = Schema.decodeUnknownResult(Outline)
const decodeEntry = Schema.decodeUnknownOption(IndexEntry)

/** `<category>/<id>@<version>`, for variants with the hash: each lock has a key of its own. */
const keyOf = (path: string): string => path.slice(0, -lockSuffix.length)

/** Undefined for what is no index at all; entries that are none are left out. */
export const readIndex = (text: string): LockIndex | undefined => {
  const outline = decodeOutline(text)
  if (Result.isFailure(outline)) return undefined
  const { lockfiles } = outline.success
  if (typeof lockfiles !== "object" || lockfiles === null || Array.isArray(lockfiles)) return undefined
  const entries = new Map<string, IndexEntry>()
  for (const [key, value] of Object.entries(lockfiles)) {
    const entry = Option.getOrUndefined(decodeEntry(value))
    if (entry !== undefined && entry.path === `${key}${lockSuffix}`) entries.set(entry.path, entry)
  }
  return entries
}

/** Sorted, so that the same locks give the same text. */
export const printIndex = (index: LockIndex, updatedAt: string): string =>
  JSON.stringify(
    {
      version: "1",
      updated_at: updatedAt,
      lockfiles: Object.fromEntries(
        [...index.values()]
          .map((entry) => [keyOf(entry.path), entry] as const)
          .toSorted(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
      )
    },
    null,
    2
  )

const timeText = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** Milliseconds; undefined for what is no time, or leaves its zone open. */
export const instantOf = (text: string): number | undefined => {
  const milliseconds = timeText.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(milliseconds) ? undefined : milliseconds
}

/** The later of two times. */
export const later = (a: string | undefined, b: string | undefined): string | undefined => {
  if (a === undefined || b === undefined) return a ?? b
  return (instantOf(a) ?? -Infinity) < (instantOf(b) ?? -Infinity) ? b : a
}

/** When this very lock last held, as far as the index knows; undefined when it does not, or before it was made. */
export const heldSince = (index: LockIndex | undefined, lock: StoredLock): string | undefined => {
  const entry = index?.get(lock.path)
  const { chain_hash, generated_at } = lock.lockfile
  if (entry === undefined || entry.chain_hash !== chain_hash || entry.created_at !== generated_at) return undefined
  const [held, made] = [instantOf(entry.last_validated), instantOf(generated_at)]
  return held !== undefined && (made === undefined || held > made) ? entry.last_validated : undefined
}

export const indexEntry = (lock: StoredLock, lastHeld: string | undefined): IndexEntry => ({
  path: lock.path,
  chain_hash: lock.lockfile.chain_hash,
  created_at: lock.lockfile.generated_at,
  last_validated: lastHeld ?? lock.lockfile.generated_at,
  scope: lock.scope
})
