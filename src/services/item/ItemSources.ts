// Where items come from. The files of the tiers are one source. Other sources have names: their items are in a tier
// beside its files, are identified by a digest of their canonical content, and may be gone at the next call. Such an
// item has no signature, so its source decides whether it is trusted.
import { Context, Effect, Option, type Stream } from "effect"
import type { ItemLocation, ItemSnapshot } from "./Item.ts"
import type { ItemInvalid, ItemUnapproved, ItemUnreadable } from "./ItemErrors.ts"
import type { ItemType, Tier } from "./ItemId.ts"

/** An item in a listing, before it is known whether it can be read. */
export interface Entry {
  readonly location: ItemLocation
  /** `link` and `special` are checked at every lookup. */
  readonly kind: "plain" | "link" | "special"
}

/** A source's items of one type in one tier. */
export interface Listing {
  readonly byId: ReadonlyMap<string, ReadonlyArray<Entry>>
  readonly problems: ReadonlyArray<ItemInvalid | ItemUnreadable>
}

export interface ItemSource {
  /** Current at the time of the call. The same object as before only if nothing in it has changed. */
  readonly listing: (tier: Tier, type: ItemType) => Effect.Effect<Listing>
  /** The content of a listed item. If its location has a `source`: content with that digest, or a failure. */
  readonly read: (location: ItemLocation) => Effect.Effect<ItemSnapshot, ItemInvalid | ItemUnreadable>
  /** Tiers whose listing may have changed. */
  readonly changes: Stream.Stream<ReadonlyArray<Tier>>
}

/**
 * The locations that it lists include its name. `layers/item/ItemSourcesContent.ts` makes one that fulfils this
 * contract.
 */
export interface NamedSource extends ItemSource {
  /** Characters a-z, 0-9 and `-`. */
  readonly name: string
  /** The only tier in which it lists anything. */
  readonly tier: Tier
  /** Fails unless this content may be used. */
  readonly believe: (snapshot: ItemSnapshot) => Effect.Effect<void, ItemUnapproved>
}

/** The named sources of a project, by name. */
export class ItemSources extends Context.Service<ItemSources, {
  readonly named: ReadonlyMap<string, NamedSource>
}>()("kiwi/services/item/ItemSources") {}

export const sourcesOf = (sources: ReadonlyArray<NamedSource>): ItemSources["Service"] =>
  ItemSources.of({ named: new Map(sources.map((source) => [source.name, source])) })

/** Those of this project; none if nobody provides any. */
export const namedSources = Effect.map(Effect.serviceOption(ItemSources), Option.getOrElse(() => sourcesOf([])))
