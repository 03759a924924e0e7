// What Kiwi remembers of an item's past: the last digest signed here, the newest version that ran, what was accepted.
import { Context, type Effect } from "effect"
import type { ItemLocation } from "../item/Item.ts"
import type { WriteRefused } from "../workspace/SafeFiles.ts"
import type { GoesBack } from "./Verifier.ts"

export interface ItemPast {
  /** Digest of the last bytes that a person signed here. */
  readonly lastSigned: string | undefined
  /** The newest version that has run, and its digest. */
  readonly newest: { readonly version: string; readonly digest: string } | undefined
}

export class ItemHistory extends Context.Service<ItemHistory, {
  readonly past: (location: ItemLocation) => Effect.Effect<ItemPast>
  /** Fails when `version` is below the newest that ran and no person has signed these bytes here since. */
  readonly checkForward: (
    location: ItemLocation,
    version: string,
    digest: string
  ) => Effect.Effect<void, GoesBack>
  /** Remembers that these bytes ran. Writes only when they are newer than what is remembered. */
  readonly ran: (location: ItemLocation, version: string, digest: string) => Effect.Effect<void, WriteRefused>
  /** Remembers that a person signed these bytes here, and so accepts them even if they are older. */
  readonly signed: (location: ItemLocation, version: string, digest: string) => Effect.Effect<void, WriteRefused>
  /**
   * Whether a person signed these bytes here while the item was hiding the given others (each by tier and digest is
   * not needed: that it hides any is what was shown). Asked before the first run of an item that hides another.
   */
  readonly acceptedHiding: (location: ItemLocation, digest: string) => Effect.Effect<boolean>
}>()("kiwi/services/integrity/ItemHistory") {}
