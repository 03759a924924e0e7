// What Kiwi remembers of an item's past: the last digest signed here, the newest version that ran, what was accepted.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { ItemLocation } from "../item/Item.ts"
import type { Agreed, ItemPast } from "./ItemPast.ts"
import type { GoesBack } from "./Verifier.ts"

/** What Kiwi remembers of an item cannot be read, so nobody can say whether it goes back to what was replaced. */
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
  /** Nothing, where it is damaged: for showing. */
  readonly past: (location: ItemLocation) => Effect.Effect<ItemPast>
  /**
   * Fails when `version` is below the newest that ran, and no person was shown so of these bytes and said yes. One stat.
   */
  readonly checkForward: (
    location: ItemLocation,
    version: string,
    digest: string
  ) => Effect.Effect<void, GoesBack | HistoryDamaged>
  /** Remembers that these bytes, signed by that key, ran. Writes only where they are newer or others than what is remembered. */
  readonly ran: (
    location: ItemLocation,
    version: string,
    digest: string,
    keyId?: string
  ) => Effect.Effect<void, WriteRefused>
  /**
   * Remembers what a person was shown of these bytes and said yes to, whether they signed them now or before. Each
   * item is its own file: where one cannot be written, the others are.
   */
  readonly signed: (
    answers: ReadonlyArray<Agreed & { readonly location: ItemLocation }>
  ) => Effect.Effect<void, WriteRefused>
  /** Whether a person was shown that these bytes hide another item, when they last said yes to them. */
  readonly acceptedHiding: (location: ItemLocation, digest: string) => Effect.Effect<boolean>
}>()("kiwi/services/integrity/ItemHistory") {}
