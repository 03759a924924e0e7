// What can be wrong with an item, apart from trust.
import { Schema } from "effect"
import { openCall, searchCall } from "../error/calls.ts"
import type { ValidationIssue } from "../error/KiwiError.ts"
import { Underlying } from "../error/KiwiError.ts"
import { ItemType, Tier } from "./ItemId.ts"

/** No item has this id in the tiers and project that were searched. */
export class ItemNotFound extends Schema.TaggedError<ItemNotFound>()("ItemNotFound", {
  /** The requested id. Code that prints it escapes it. */
  id: Schema.String,
  type: Schema.optional(ItemType),
  tier: Schema.optional(Tier),
  /** Up to three similar ids. */
  near: Schema.Array(Schema.String),
  /** Why a file or folder of that name is not the item: a sentence. */
  lacks: Schema.optional(Schema.String),
  /** No project is open, so the item may be in the project that was meant. */
  projectless: Schema.optional(Schema.Boolean)
}) {
  override get message() {
    const where = this.tier === undefined ? "" : ` in the ${this.tier} tier`
    return `There is no ${this.type ?? "item"} "${this.id}"${where}${
      this.projectless === true ? ", and no project" : ""
    }`
  }
  get remediation() {
    if (this.lacks !== undefined) return this.lacks
    if (this.near.length > 0) return `Did you mean ${this.near.map((n) => `"${n}"`).join(", ")}?`
    if (this.projectless === true) {
      return openCall
    }
    return /[*?]/.test(this.id)
      ? "kiwi doctor names the files that are not items"
      : searchCall(this.id)
  }
}

/** The id names more than one item. */
export class ItemAmbiguous extends Schema.TaggedError<ItemAmbiguous>()("ItemAmbiguous", {
  id: Schema.String,
  /** Locations as `tier:folder/path`. */
  candidates: Schema.Array(Schema.String)
}) {
  override get message() {
    return `"${this.id}" is the id of more than one item: ${this.candidates.join(", ")}`
  }
  get remediation() {
    return "Name one by its category path (category/id) or its item_type, or rename one of the files"
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return this.candidates.map((value) => ({ field: "id", error: "is the id of more than one item", value }))
  }
  get brief() {
    return "ambiguous"
  }
}

/** The text cannot be an item's id. */
export class ItemIdInvalid extends Schema.TaggedError<ItemIdInvalid>()("ItemIdInvalid", { id: Schema.String }) {
  override get message() {
    return `"${this.id}" cannot be the id of an item`
  }
  get remediation() {
    return "Write dotted words of a-z, 0-9, _ and -, like filesystem.read, optionally after its category: files/filesystem.read"
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return [{ field: "id", error: "cannot be the id of an item", value: this.id }]
  }
}

/** The item's text does not have the form of its type. Line and column are 1-based; 0 if there is none. */
export class ItemInvalid extends Schema.TaggedError<ItemInvalid>()("ItemInvalid", {
  /** `tier:folder/path`. */
  item: Schema.String,
  line: Schema.Int,
  column: Schema.Int,
  /** What is wrong. */
  issue: Schema.String,
  /** The offending line or value, cut to 200 characters; "" if there is none. */
  found: Schema.String,
  /** How to write it instead. */
  hint: Schema.String,
  /** Whether the same text may be accepted later: the machine had no time to read it. */
  retryable: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    const at = this.line === 0 ? "" : `:${this.line}:${this.column}`
    return `${this.item}${at}: ${this.issue}${this.found === "" ? "" : `, found: ${this.found}`}`
  }
  get remediation() {
    return this.hint
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return [{ field: "", error: this.issue, ...(this.found === "" ? {} : { value: this.found }) }]
  }
}

/** The same without the file's words: the content of a restricted project's files is not repeated. */
export const withoutWords = (error: ItemInvalid): ItemInvalid =>
  new ItemInvalid({
    item: error.item,
    line: error.line,
    column: error.column,
    issue: "this is not valid; it is not quoted, since nobody trusts the project",
    found: "",
    hint: "Look at the file itself, or trust the project first: kiwi trust project"
  })

/** The same without the item's words, for one of a named source: others wrote it, and nobody has signed it. */
export const withoutWordsOf = (error: ItemInvalid, source: string): ItemInvalid =>
  new ItemInvalid({
    item: error.item,
    line: error.line,
    column: error.column,
    issue: "this is not valid; it is not quoted, since others wrote it",
    found: "",
    hint: `Correct it where the source "${source}" has it from`
  })

/** The item's file cannot be read: no permission, a link out of the tree, too large, or not a regular file. */
export class ItemUnreadable extends Schema.TaggedError<ItemUnreadable>()("ItemUnreadable", {
  item: Schema.String,
  /** `source`: a named source failed, did not answer, or returned something other than what it listed. */
  issue: Schema.Literals(["escapes", "too-large", "not-a-file", "permission", "vanished", "io", "source"]),
  detail: Schema.String
}) {
  override get message() {
    return `${this.item} could not be read: ${this.detail}`
  }
  get remediation(): string {
    switch (this.issue) {
      case "escapes":
        return "Replace the link by the file itself: an item must lie inside its tier's folder"
      case "too-large":
        return "Make it smaller than 1 MiB: keep data in a file of its own and let the tool read it"
      case "permission":
        return "Make the file readable for you (chmod u+r)"
      case "not-a-file":
      case "vanished":
      case "io":
        return "Check the file and try again"
      case "source":
        return "Try again; if it fails again, check the program or server that provides these items"
    }
  }
  /** A missing file was probably being replaced. */
  get retryable() {
    return this.issue === "vanished" || this.issue === "source"
  }
  get brief() {
    return "unreadable"
  }
}

/** The item comes from a named source, and nobody has approved its current content. */
export class ItemUnapproved extends Schema.TaggedError<ItemUnapproved>()("ItemUnapproved", {
  item: Schema.String,
  /** Whether an earlier content was approved. */
  changed: Schema.Boolean,
  /** How a person approves it, from its source. */
  remedy: Schema.String
}) {
  override get message() {
    return this.changed ? `${this.item} has changed since it was approved` : `Nobody has approved ${this.item}`
  }
  get remediation() {
    return this.remedy
  }
  get refusal() {
    return this.changed ? "tampered" as const : "untrusted" as const
  }
}

/** A system item of an embedding program is invalid (its path or its size) or cannot be written. */
export class SystemItemRefused extends Schema.TaggedError<SystemItemRefused>()("SystemItemRefused", {
  /** As the program named it: "tools/acme/greet.yaml". */
  item: Schema.String,
  issue: Schema.String,
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    return `${this.item} cannot be a system item: ${this.issue}`
  }
  get remediation() {
    return this.cause === undefined
      ? "Name items by a path of their own below tools, directives or knowledge: { \"tools/acme/greet.yaml\": text }"
      : "Free some disk space and make $KIWI_HOME writable for the program"
  }
}
