// Parses canonical bytes to an item. Nothing is evaluated: metadata is read from syntax trees and data formats.
import { Context, type Effect } from "effect"
import type { Item, ItemSnapshot } from "../item/Item.ts"
import type { ItemInvalid } from "../item/ItemErrors.ts"

export class ItemParser extends Context.Service<ItemParser, {
  /** Parses a snapshot. Cached by (type, path, digest) for the life of the process. */
  readonly parse: (snapshot: ItemSnapshot) => Effect.Effect<Item, ItemInvalid>
  /**
   * Stricter checks for signing: of version, code, config and arguments. The tool then lists what it is `unsure` of.
   */
  readonly check: (snapshot: ItemSnapshot) => Effect.Effect<Item, ItemInvalid>
}>()("kiwi/services/format/ItemParser") {}
