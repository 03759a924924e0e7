// The index beside the lockfiles: when each lock was last found to hold. It repeats what the lockfiles say and counts only
// where they agree with it, so nobody gains anything by forging one.
import { Option, Order, Result, Schema } from "effect"
import { LockScope } from "./LockfileStore.ts"
import type { StoredLock } from "./LockfileStore.ts"
import { lockSuffix } from "./lockName.ts"

export const IndexEntry = Schema.Struct({
  /** Below the lockfiles folder. */
  path: Schema.String,
  chain_hash: Schema.String,
  /** The lockfile's `generated_at`. */
  created_at: Schema.String,
  /** As `created_at` until the lock was found to hold. */
  last_validated: Schema.String,
  scope: LockScope
})
export type IndexEntry = typeof IndexEntry.Type

/** Entries by the path of their lockfile. */
export type LockIndex = ReadonlyMap<string, IndexEntry>

const Outline = Schema.fromJsonString(Schema.Struct({ version: Schema.Literal("1"), lockfiles: Schema.Unknown }))
const decodeOutline = Schema.decodeUnknownResult(Outline)
const decodeEntry = Schema.decodeUnknownOption(IndexEntry)

/** Undefined if the text is not an index. Invalid entries are skipped. */
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

const byPath = Order.mapInput(Order.String, ([path]: readonly [string, IndexEntry]) => path)

/** Sorted, so that the same locks give the same text. An entry's key is its path without the suffix. */
export const printIndex = (index: LockIndex, updatedAt: string): string =>
  JSON.stringify(
    {
      version: "1",
      updated_at: updatedAt,
      lockfiles: Object.fromEntries(
        [...index].map(([path, entry]) => [path.slice(0, -lockSuffix.length), entry] as const).toSorted(byPath)
      )
    },
    null,
    2
  )

const timeText = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** In milliseconds; undefined if the text is not a time with a time zone. */
export const instantOf = (text: string): number | undefined => {
  const milliseconds = timeText.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(milliseconds) ? undefined : milliseconds
}

/** The later of two times. */
export const later = (a: string | undefined, b: string | undefined): string | undefined => {
  if (a === undefined || b === undefined) return a ?? b
  return (instantOf(a) ?? -Infinity) < (instantOf(b) ?? -Infinity) ? b : a
}

/** When this lock last held; undefined if the entry is about another lock, or names no time after it was made. */
export const validatedAt = (entry: IndexEntry | undefined, { lockfile }: StoredLock): string | undefined => {
  const { chain_hash, generated_at } = lockfile
  if (entry === undefined || entry.chain_hash !== chain_hash || entry.created_at !== generated_at) return undefined
  const [validated, made] = [instantOf(entry.last_validated), instantOf(generated_at)]
  return validated !== undefined && (made === undefined || validated > made) ? entry.last_validated : undefined
}

export const indexEntry = ({ lockfile, path, scope }: StoredLock, lastValidated: string | undefined): IndexEntry => ({
  path,
  chain_hash: lockfile.chain_hash,
  created_at: lockfile.generated_at,
  last_validated: lastValidated ?? lockfile.generated_at,
  scope
})
