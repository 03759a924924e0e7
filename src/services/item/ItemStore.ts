// Finds items in the three tiers and reads them. It neither verifies nor parses.
import { Context, type Effect, type Option, type Stream } from "effect"
import type { ItemLocation, ItemSnapshot } from "./Item.ts"
import type { ItemAmbiguous, ItemIdInvalid, ItemInvalid, ItemNotFound, ItemUnreadable } from "./ItemErrors.ts"
import type { ItemType, Tier } from "./ItemId.ts"
import type { Listing } from "./ItemSources.ts"

export interface ItemQuery {
  /** `id` or `category/id`, as the caller wrote it. */
  readonly id: string
  /** Default: the one type that has it; `ItemAmbiguous` if several do. */
  readonly type?: ItemType | undefined
  /** Default: project, then user, then system. */
  readonly tier?: Tier | undefined
}

export interface FoundItem {
  readonly location: ItemLocation
  /** Items of the same type and id in lower tiers that this one hides. */
  readonly hides: ReadonlyArray<ItemLocation>
}

type Find = (
  query: ItemQuery
) => Effect.Effect<FoundItem, ItemNotFound | ItemAmbiguous | ItemIdInvalid | ItemUnreadable>

/** Folders in which files may have changed, and a mark to ask from the next time. */
export interface ChangedFolders {
  readonly mark: number | undefined
  /** Their real paths. Undefined where that is not known: every file may have changed. */
  readonly folders: ReadonlySet<string> | undefined
}

export class ItemStore extends Context.Service<ItemStore, {
  /**
   * The item that a query names. A protected system item takes precedence over any shadow of it: the shadow is found
   * only by naming its tier. The listing is never stale: a file added or removed is seen by the next call.
   */
  readonly find: Find
  /**
   * The same for many related queries: the folders are read once, with the first query. Do not keep it: later changes
   * are not seen.
   */
  readonly atOnce: Effect.Effect<{ readonly find: Find }>
  /** Every item's location, project tier first. Files whose names are not ids are skipped (see `problems`). */
  readonly list: (
    filter?: { readonly type?: ItemType | undefined; readonly tier?: Tier | undefined }
  ) => Effect.Effect<ReadonlyArray<ItemLocation>>
  /** What the tier's folders and other sources list. Each is the same object as before only if nothing in it has changed. */
  readonly listings: (tier: Tier) => Effect.Effect<ReadonlyArray<Listing>>
  /** Files below the type folders that cannot be items, with the reason. For `doctor` and `explain`. */
  readonly problems: Effect.Effect<ReadonlyArray<ItemInvalid | ItemUnreadable | ItemAmbiguous>>
  /**
   * Canonical bytes, digest and signature claim. At most 1 MiB a file (a folder: 1 MiB of text, 16 MiB in all,
   * 1,000 files). Cached by (device, inode, size, mtime ns, ctime ns), never within two seconds of the ctime.
   */
  readonly read: (location: ItemLocation) => Effect.Effect<ItemSnapshot, ItemInvalid | ItemUnreadable>
  /** The folder in which a new item of this tier would be found. `None` for the project tier without a project. */
  readonly rootOf: (tier: Tier) => Option.Option<string>
  /**
   * Emits after changes in a tier's folders that can hold items (debounced to within a second), while there is a
   * subscriber, and once all of them are watched: what changed before may not have been seen.
   */
  readonly changes: Stream.Stream<ReadonlyArray<Tier>>
  /**
   * What has changed below a tier since `mark`, at once: `changes` collects for a while first. Known only while somebody
   * listens to `changes` and every folder is watched. A change of this machine is there when its write has returned on
   * Linux; elsewhere it may take as long as the system takes to tell it.
   */
  readonly changedSince: (tier: Tier, mark: number | undefined) => Effect.Effect<ChangedFolders>
}>()("kiwi/services/item/ItemStore") {}
