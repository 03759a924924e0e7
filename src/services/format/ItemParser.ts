// From canonical bytes to an item. Nothing is ever evaluated: metadata is read from syntax trees and data formats.
import { Context, type Effect } from "effect"
import type { Item, ItemSnapshot } from "../item/Item.ts"
import type { ItemInvalid } from "../item/ItemErrors.ts"

export class ItemParser extends Context.Service<ItemParser, {
  /** Parses a snapshot. Cached by (type, path, digest) for the life of the process. */
  readonly parse: (snapshot: ItemSnapshot) => Effect.Effect<Item, ItemInvalid>
  /** Stricter checks for signing: version present and not 0.0.0, `bash -n`, endpoint and auth of API tools. */
  readonly check: (snapshot: ItemSnapshot) => Effect.Effect<Item, ItemInvalid>
}>()("kiwi/services/format/ItemParser") {}
