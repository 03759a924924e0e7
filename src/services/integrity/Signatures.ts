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

/** Something changed between what the person was shown and the signing. Nothing was signed. */
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

/** One act of signing is about more than a person can be asked about at once. Nothing was asked or signed. */
export class TooMuchToSign extends Schema.TaggedError<TooMuchToSign>()("TooMuchToSign", {
  /** The glob that names the items. */
  id: Schema.String,
  type: Schema.optional(ItemType),
  /** What there is too much of. */
  issue: Schema.Literals(["items", "bytes"]),
  /** Of that, in one act. */
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
   * `same`: these bytes are already signed by you. `older`: by you or who counts as you, and they are below the newest
   * that ran, which nobody has accepted yet: nothing is signed, a person says that this is meant. `unmarked`: they are
   * what was last signed here, and their signature is missing or not yours.
   */
  readonly change: "new" | "changed" | "same" | "older" | "unmarked"
  /** The newest version that has run, where this one is below it. */
  readonly goesBackFrom: string | undefined
  /**
   * Unified diff from the last bytes signed here, of what is `older` from the newest that ran; where nothing was signed
   * here, from what a teammate signed whose signature is as good as yours; all lines added when there is none. Never cut.
   */
  readonly diff: string
  /** Lines. */
  readonly added: number
  readonly removed: number
  /** Files of a folder whose content is no text: a person is shown their size and digest alone. */
  readonly unreadable: ReadonlyArray<string>
  /** Items of later tiers that this one hides. */
  readonly hides: ReadonlyArray<ItemLocation>
  /** Plain sentences: "runs as you with python3", "hides the user's tool add", "goes back from 1.2.0 to 1.0.0". */
  readonly effects: ReadonlyArray<string>
  /** Those of them that a person must not miss. */
  readonly warnings: ReadonlyArray<string>
}

export interface SigningPlan {
  readonly items: ReadonlyArray<PlannedSignature>
  /** Items of a glob that cannot be signed, with the reason. */
  readonly refused: ReadonlyArray<
    { readonly item: string; readonly error: ItemInvalid | ItemUnreadable | ItemAmbiguous }
  >
  /** What `changedOnly` has left out, since this person has signed it as it is. */
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
   * `tier`, an id is looked up in the project, then the user tier; a glob names the project's, or without one the
   * user's. `changedOnly` leaves out what somebody who counts has signed as it is. The system tier is never signed.
   * Where one of these is `older`, all that are `older` in its tier follow, so that a change of branch asks once.
   * A plan is about at most 1,000 items and 32 MiB. It fails as `KeyLocked` before anybody is asked, where the key needs
   * a passphrase that `answeredIn` cannot ask for.
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
   * Signs exactly what the plan showed, all or nothing up to a failing disk, and says what it has signed. What is
   * `older` keeps its signature and its file: that it may run is remembered.
   */
  readonly sign: (
    plan: SigningPlan,
    act: HumanAct
  ) => Effect.Effect<
    ReadonlyArray<SignedItem>,
    PlanStale | HumanRequired | KeyUnavailable | KeyLocked | WriteRefused | LockError
  >
}>()("kiwi/services/integrity/Signatures") {}
