// Full-text search over items: one FTS5 index per tier in $KIWI_HOME, kept current from file changes.
import { Context, type Effect, Schema } from "effect"
import { isKiwiError, Underlying } from "../error/KiwiError.ts"
import type { ItemId, ItemType, Tier } from "../item/ItemId.ts"

export interface SearchQuery {
  readonly query: string
  readonly type?: ItemType | undefined
  readonly tier?: Tier | undefined
  /** This category or one below it. */
  readonly category?: string | undefined
  /** All of them are required. */
  readonly tags?: ReadonlyArray<string> | undefined
  /** 1 to `mostHits`, default 10. A caller is shown at most 100. */
  readonly limit?: number | undefined
}

/** For a reader that leaves some of them out. */
export const mostHits = 1_000

/** A hit only points to an item: the caller reads what may be shown of it from the file itself. */
export interface IndexHit {
  readonly type: ItemType
  readonly id: ItemId
  readonly tier: Tier
  readonly category: string
  /** Relative to the tier's type folder, as in ItemLocation. */
  readonly path: string
  /** Higher is better; comparable only within one answer. */
  readonly score: number
}

/** Nothing can be searched: the index on disk cannot be opened, written or replaced. */
export class IndexUnavailable extends Schema.TaggedError<IndexUnavailable>()("IndexUnavailable", {
  detail: Schema.String,
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    return `The search index could not be opened: ${this.detail}`
  }
  get remediation() {
    return "Free some disk space and make $KIWI_HOME writable; `kiwi doctor` rebuilds a damaged index"
  }
  get retryable() {
    return isKiwiError(this.cause) && this.cause.retryable === true
  }
}

export class ItemIndex extends Context.Service<ItemIndex, {
  /** Best first: exact names, then BM25. Empty if nothing matches. Takes in changes on disk first. */
  readonly search: (query: SearchQuery) => Effect.Effect<ReadonlyArray<IndexHit>, IndexUnavailable>
  /** Up to three ids similar to a mistyped one. */
  readonly near: (id: string, type?: ItemType) => Effect.Effect<ReadonlyArray<string>>
  /** Brings the index up to date; reports how many items were looked at. Long runs report through `onProgress`. */
  readonly refresh: (
    onProgress?: (done: number, total: number) => Effect.Effect<void>
  ) => Effect.Effect<{ readonly items: number; readonly changed: number }, IndexUnavailable>
}>()("kiwi/services/search/ItemIndex") {}
