// Where items come from. The files of the tiers are one source. The others have names: their items stand in a tier
// beside its files, are identified by a digest of their canonical content, and may be gone at the next call. No
// signature is about such an item, so its source says itself whether it may be believed.
import { Context, Effect, Option, type Stream } from "effect"
import type { ItemLocation, ItemSnapshot } from "./Item.ts"
import type { ItemInvalid, ItemUnapproved, ItemUnreadable } from "./ItemErrors.ts"
import type { ItemType, Tier } from "./ItemId.ts"

/** A name that is an item's, before anybody looked whether it can be read. */
export interface Entry {
  readonly location: ItemLocation
  /** `link` and `special` are looked at again each time that they are asked for. */
  readonly kind: "plain" | "link" | "special"
}

/** What a source has in one tier of one type. */
export interface Listing {
  readonly byId: ReadonlyMap<string, ReadonlyArray<Entry>>
  readonly problems: ReadonlyArray<ItemInvalid | ItemUnreadable>
}

export interface ItemSource {
  /** Current at the time of the call. */
  readonly listing: (tier: Tier, type: ItemType) => Effect.Effect<Listing>
  /** The content of a listed item. With a `source` in its location, content of that digest or a failure. */
  readonly read: (location: ItemLocation) => Effect.Effect<ItemSnapshot, ItemInvalid | ItemUnreadable>
  /** Tiers whose listing may have changed. */
  readonly changes: Stream.Stream<ReadonlyArray<Tier>>
}

/** The locations that it lists carry its name. `layers/item/ItemSourcesContent.ts` makes one that keeps to this contract. */
export interface NamedSource extends ItemSource {
  /** Of a-z, 0-9 and `-`. */
  readonly name: string
  /** The only tier in which it lists anything. */
  readonly tier: Tier
  /** Fails unless the content may be used as it is. */
  readonly believe: (snapshot: ItemSnapshot) => Effect.Effect<void, ItemUnapproved>
}

/** The named sources of a project, by name. */
export class ItemSources extends Context.Service<ItemSources, {
  readonly named: ReadonlyMap<string, NamedSource>
}>()("kiwi/services/item/ItemSources") {}

export const sourcesOf = (sources: ReadonlyArray<NamedSource>): ItemSources["Service"] =>
  ItemSources.of({ named: new Map(sources.map((source) => [source.name, source])) })

/** Those of this project; none where nobody brings any. */
export const namedSources = Effect.map(Effect.serviceOption(ItemSources), Option.getOrElse(() => sourcesOf([])))
