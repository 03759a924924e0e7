// What Kiwi records of an item's past: the last digest signed here, the newest version that ran, what was accepted.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { ItemLocation } from "../item/Item.ts"
import type { Agreed, ItemPast } from "./ItemPast.ts"
import type { GoesBack } from "./Verifier.ts"

/** The record of an item's past cannot be read, so it is not known whether the item goes back to an older version. */
export class HistoryDamaged extends Schema.TaggedError<HistoryDamaged>()("HistoryDamaged", {
  item: Schema.String,
  /** The file, relative to `$KIWI_HOME`. */
  path: Schema.String,
  command: Schema.String
}) {
  override get message() {
    return `What Kiwi remembers of ${this.item} cannot be read: $KIWI_HOME/${this.path} is damaged`
  }
  get remediation() {
    return `Look at the item; if it is the one that you mean, sign it again, and its history begins anew: ${this.command}`
  }
  get refusal() {
    return "denied" as const
  }
}

export class ItemHistory extends Context.Service<ItemHistory, {
  /** Empty if the record is damaged. For showing only. */
  readonly past: (location: ItemLocation) => Effect.Effect<ItemPast>
  /**
   * Fails if `version` is below the newest that ran, unless a person was told that about these bytes and accepted them.
   * One stat.
   */
  readonly checkForward: (
    location: ItemLocation,
    version: string,
    digest: string
  ) => Effect.Effect<void, GoesBack | HistoryDamaged>
  /**
   * Records that these bytes, signed by that key, ran. Writes only if the version is newer or the bytes differ from the
   * record.
   */
  readonly ran: (
    location: ItemLocation,
    version: string,
    digest: string,
    keyId?: string
  ) => Effect.Effect<void, WriteRefused>
  /**
   * Records what a person was told about these bytes when they accepted them, whether they signed them now or before.
   * Each item has its own file: a failure to write one does not affect the others.
   */
  readonly signed: (
    answers: ReadonlyArray<Agreed & { readonly location: ItemLocation }>
  ) => Effect.Effect<void, WriteRefused>
  /** Whether a person who last accepted these bytes was told that they hide another item. */
  readonly acceptedHiding: (location: ItemLocation, digest: string) => Effect.Effect<boolean>
}>()("kiwi/services/integrity/ItemHistory") {}
