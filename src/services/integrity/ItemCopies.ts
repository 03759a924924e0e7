// Copies an item between the tiers of a person: with its category and its signature, byte for byte what was verified.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { Item, ItemLocation } from "../item/Item.ts"
import type { ItemAmbiguous, ItemIdInvalid, ItemInvalid, ItemNotFound, ItemUnreadable } from "../item/ItemErrors.ts"
import type { ItemQuery } from "../item/ItemStore.ts"
import type { Verified, VerifyError } from "./Verifier.ts"

/** The item cannot be copied there. Nothing was written. */
export class CopyRefused extends Schema.TaggedError<CopyRefused>()("CopyRefused", {
  /** "project:tools/math/add.py" */
  item: Schema.String,
  to: Schema.Literals(["project", "user"]),
  /**
   * `unsigned`: it has no signature, so it cannot be believed there. `no-project`: there is no project. `version`: it
   * has another version than the one that was asked for. `newer`, `different`: there is a newer one, or one with that
   * id that is not an older version of it.
   */
  issue: Schema.Literals(["unsigned", "no-project", "version", "newer", "different"]),
  /** The versions that differ. */
  version: Schema.String,
  there: Schema.String
}) {
  override get message() {
    const what = `${this.item} ${this.version} was not copied to the ${this.to} tier`
    switch (this.issue) {
      case "unsigned":
        return `${what}: it has no signature of its own`
      case "no-project":
        return `${what}: there is no project here`
      case "version":
        return `${what}: you asked for ${this.there}`
      case "newer":
        return `${what}: there is ${this.there} already, which is newer`
      case "different":
        return `${what}: another item has that id there, with the version ${this.there}`
    }
  }
  get remediation() {
    switch (this.issue) {
      case "unsigned":
        return "Kiwi's own items are in every project already: use it as it is, or write your own under another id"
      case "no-project":
        return "kiwi init makes one; or name the project"
      case "version":
        return `Leave version out, or ask for ${this.version}`
      case "newer":
        return "Use the newer one"
      case "different":
        return "Compare the two: kiwi load, with --source. Raise the version of the one that is right, and sign it"
    }
  }
  get refusal() {
    return "denied" as const
  }
}

export interface PlannedCopy {
  readonly item: Item
  /** Verified as an item of the tier that it is copied to. */
  readonly verified: Verified
  readonly to: ItemLocation
  /** The older version that it replaces. */
  readonly replaces: string | undefined
  /** The same bytes, signed as well, are there already: nothing is written. */
  readonly same: boolean
}

export class ItemCopies extends Context.Service<ItemCopies, {
  /** What would be copied. Fails if the signature does not count in the other tier. */
  readonly plan: (
    query: ItemQuery,
    to: "project" | "user",
    version?: string
  ) => Effect.Effect<
    PlannedCopy,
    CopyRefused | VerifyError | ItemNotFound | ItemAmbiguous | ItemIdInvalid | ItemInvalid | ItemUnreadable
  >
  /** Writes exactly what was planned. A detached signature is written last: until then the copy is unsigned. */
  readonly perform: (planned: PlannedCopy) => Effect.Effect<void, WriteRefused>
}>()("kiwi/services/integrity/ItemCopies") {}
