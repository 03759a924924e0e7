// What can be wrong with an item before any question of trust.
import { Schema } from "effect"
import { openCall, searchCall } from "../error/calls.ts"
import type { ValidationIssue } from "../error/KiwiError.ts"
import { Underlying } from "../error/KiwiError.ts"
import { ItemType, Tier } from "./ItemId.ts"

/** No item has this id in the tiers and the project that were looked in. */
export class ItemNotFound extends Schema.TaggedError<ItemNotFound>()("ItemNotFound", {
  /** What was asked for, escaped by whoever prints it. */
  id: Schema.String,
  type: Schema.optional(ItemType),
  tier: Schema.optional(Tier),
  /** Up to three near ids. */
  near: Schema.Array(Schema.String),
  /** What a file or a folder of that name lacks to be the item: a sentence. */
  lacks: Schema.optional(Schema.String),
  /** No project is open, so the item may well be in the one that was meant. */
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
      ? "kiwi doctor names the files that are no items"
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

/** What was given as an id can be the id of no item. */
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

/** The item's text is not what its type needs. Line and column count from 1; 0 where there is none. */
export class ItemInvalid extends Schema.TaggedError<ItemInvalid>()("ItemInvalid", {
  /** `tier:folder/path`. */
  item: Schema.String,
  line: Schema.Int,
  column: Schema.Int,
  /** What is wrong. */
  issue: Schema.String,
  /** The offending line or value, cut to 200 characters; "" where there is none. */
  found: Schema.String,
  /** How to write it instead. */
  hint: Schema.String,
  /** Whether the same text may do later: the machine had no time to read it. */
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

/** The same without a word of the file: what a restricted project's files say is not repeated. */
export const withoutWords = (error: ItemInvalid): ItemInvalid =>
  new ItemInvalid({
    item: error.item,
    line: error.line,
    column: error.column,
    issue: "this is not what it has to be; it is not quoted, since nobody trusts the project",
    found: "",
    hint: "Look at the file itself, or trust the project first: kiwi trust project"
  })

/** The same without a word of the item, for one of a named source: others wrote it, and nobody has signed it. */
export const withoutWordsOf = (error: ItemInvalid, source: string): ItemInvalid =>
  new ItemInvalid({
    item: error.item,
    line: error.line,
    column: error.column,
    issue: "this is not what it has to be; it is not quoted, since others wrote it",
    found: "",
    hint: `Correct it where the source "${source}" has it from`
  })

/** The item's file cannot be read: permissions, a link out of the tree, a file that is too large or is no regular file. */
export class ItemUnreadable extends Schema.TaggedError<ItemUnreadable>()("ItemUnreadable", {
  item: Schema.String,
  /** `source`: a named source failed, did not answer, or answered something else than it had listed. */
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
        return "Try again; if it stays so, look at the program or server that brings these items"
    }
  }
  /** A file that is gone was being replaced. */
  get retryable() {
    return this.issue === "vanished" || this.issue === "source"
  }
  get brief() {
    return "unreadable"
  }
}

/** The item comes from a named source, and nobody has approved its content as it is now. */
export class ItemUnapproved extends Schema.TaggedError<ItemUnapproved>()("ItemUnapproved", {
  item: Schema.String,
  /** Whether other content of it was approved before. */
  changed: Schema.Boolean,
  /** How a person approves it, as its source says. */
  remedy: Schema.String
}) {
  override get message() {
    return this.changed ? `${this.item} is not what was approved: it has changed` : `Nobody has approved ${this.item}`
  }
  get remediation() {
    return this.remedy
  }
  get refusal() {
    return this.changed ? "tampered" as const : "untrusted" as const
  }
}

/** A system item of an embedding program cannot be one: its path, its size, or no room to write it. */
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
