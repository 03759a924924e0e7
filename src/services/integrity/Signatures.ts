// Signing: first a plan that a person can read, then exactly that plan.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { KeyLocked, KeyUnavailable } from "../identity/Identity.ts"
import type { Item, ItemLocation, ItemSnapshot } from "../item/Item.ts"
import type { ItemAmbiguous, ItemIdInvalid, ItemInvalid, ItemNotFound, ItemUnreadable } from "../item/ItemErrors.ts"
import { ItemType } from "../item/ItemId.ts"
import type { Tier } from "../item/ItemId.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "../trust/HumanAct.ts"
import type { LockError } from "../workspace/ProcessLock.ts"

/** Something changed after the person was shown it. Nothing was signed. */
export class PlanStale extends Schema.TaggedError<PlanStale>()("PlanStale", { item: Schema.String }) {
  override get message() {
    return `${this.item} has changed since it was shown; nothing was signed`
  }
  get remediation() {
    return "Ask to sign again, and look at the new diff"
  }
  get retryable() {
    return true
  }
}

/** A signing act covers more than a person can be asked about at once. Nothing was asked or signed. */
export class TooMuchToSign extends Schema.TaggedError<TooMuchToSign>()("TooMuchToSign", {
  /** The glob that names the items. */
  id: Schema.String,
  type: Schema.optional(ItemType),
  /** Which limit is exceeded. */
  issue: Schema.Literals(["items", "bytes"]),
  /** The limit for one act. */
  most: Schema.Int
}) {
  override get message() {
    return this.issue === "items"
      ? `"${this.id}" names more than ${this.most} items, and one act of signing is about at most so many`
      : `What "${this.id}" names is larger than ${this.most} bytes together, and one act of signing is about at most so many`
  }
  get remediation() {
    return `Name fewer items at a time, such as those of one category: kiwi sign ${this.type ?? "tool"} 'CATEGORY/*'`
  }
}

export interface PlannedSignature {
  readonly location: ItemLocation
  readonly snapshot: ItemSnapshot
  readonly item: Item
  /**
   * `same`: these bytes are already signed by you. `older`: signed by you or by somebody trusted as you, but below the
   * newest that ran, which nobody has accepted yet: nothing is signed; the person confirms that going back is intended.
   * `unmarked`: the bytes were last signed here, but their signature is missing or not yours.
   */
  readonly change: "new" | "changed" | "same" | "older" | "unmarked"
  /** The newest version that has run, if this one is below it. */
  readonly goesBackFrom: string | undefined
  /**
   * A unified diff from the last bytes signed here; for `older`, from the newest that ran; if nothing was signed here,
   * from a teammate's version whose signature counts as yours; if there is none, all lines are added. Never cut.
   */
  readonly diff: string
  /** Number of lines. */
  readonly added: number
  readonly removed: number
  /** Files of a folder that are not text: a person is shown only their size and digest. */
  readonly unreadable: ReadonlyArray<string>
  /** Items of lower tiers that this one hides. */
  readonly hides: ReadonlyArray<ItemLocation>
  /** Plain sentences: "runs as you with python3", "hides the user's tool add", "goes back from 1.2.0 to 1.0.0". */
  readonly effects: ReadonlyArray<string>
  /** Those of the effects that a person must not miss. */
  readonly warnings: ReadonlyArray<string>
}

export interface SigningPlan {
  readonly items: ReadonlyArray<PlannedSignature>
  /** Items matched by a glob that cannot be signed, with the reason. */
  readonly refused: ReadonlyArray<
    { readonly item: string; readonly error: ItemInvalid | ItemUnreadable | ItemAmbiguous }
  >
  /** Items that `changedOnly` left out, since this person has signed these bytes. */
  readonly signed: ReadonlyArray<ItemLocation>
  readonly request: HumanRequest
}

export interface SignedItem {
  readonly location: ItemLocation
  readonly version: string
  readonly digest: string
  readonly keyId: string
  readonly time: string
}

export class Signatures extends Context.Service<Signatures, {
  /**
   * `id` may be a glob (`*`, `?`, `**`): over `category/id` if it has a slash, else over ids in any category. Without
   * `tier`, an id is looked up in the project, then in the user tier; a glob matches the project's items or, without a
   * project, the user's. `changedOnly` leaves out items whose bytes a trusted signer has signed. The system tier is
   * never signed. If a matched item is `older`, all `older` items of its tier are included, so that switching a branch
   * asks once. A plan covers at most 1,000 items and 32 MiB. Fails as `KeyLocked` before anybody is asked if the key
   * needs a passphrase that `answeredIn` cannot ask for.
   */
  readonly plan: (query: {
    readonly id: string
    readonly type?: ItemType | undefined
    readonly tier?: Exclude<Tier, "system"> | undefined
    readonly category?: string | undefined
    readonly changedOnly?: boolean | undefined
    /** Where the person answers, if no passphrase can be typed there: an agent's client, or a program. */
    readonly answeredIn?: "client" | "program" | undefined
  }) => Effect.Effect<
    SigningPlan,
    ItemNotFound | ItemAmbiguous | ItemIdInvalid | ItemInvalid | ItemUnreadable | KeyLocked | TooMuchToSign
  >
  /**
   * Signs exactly what the plan showed, all of it or nothing (unless the disk fails), and returns what it signed. An
   * `older` item keeps its signature and file: only that it may run is recorded.
   */
  readonly sign: (
    plan: SigningPlan,
    act: HumanAct
  ) => Effect.Effect<
    ReadonlyArray<SignedItem>,
    PlanStale | HumanRequired | KeyUnavailable | KeyLocked | WriteRefused | LockError
  >
}>()("kiwi/services/integrity/Signatures") {}
