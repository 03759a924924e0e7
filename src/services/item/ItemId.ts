// Ids and references. The pattern is strict ASCII, so that an id has only one spelling on every file system.
import { Option, Schema } from "effect"

export const ItemType = Schema.Literals(["directive", "tool", "knowledge"])
export type ItemType = typeof ItemType.Type

/** Where an item is, in lookup order. In the interface it is never called just "scope" or "source". */
export const Tier = Schema.Literals(["project", "user", "system"])
export type Tier = typeof Tier.Type
export const tiers: ReadonlyArray<Tier> = Tier.literals

const idPattern = /^[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*)*$/

const maxIdLength = 128

/** Dotted words: `filesystem.read`. At most 128 characters. */
export const ItemId = Schema.String.pipe(
  Schema.check(Schema.isPattern(idPattern), Schema.isMaxLength(maxIdLength)),
  Schema.brand("ItemId")
)
export type ItemId = typeof ItemId.Type
/** Called for every name in a folder and every link of every call, so it does not use the schema. */
export const isItemId = (text: unknown): text is ItemId =>
  typeof text === "string" && text.length <= maxIdLength && idPattern.test(text)

/** An id, optionally qualified by its category path: `a/b/id`. */
export interface ItemRef {
  readonly id: ItemId
  /** Undefined: any category. */
  readonly category: string | undefined
}

const categorySegment = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/

const areSegments = (segments: ReadonlyArray<string>): boolean =>
  segments.length <= 8 && segments.every((segment) => categorySegment.test(segment))

/** Whether a category path is valid: plain segments, no `.`/`..`, at most eight deep; "" is the root. */
export const isCategory = (text: string): boolean => text === "" || (text.length <= 256 && areSegments(text.split("/")))

/**
 * Parses `id` or `category/id`. `None` for anything else: `..`, NUL, backslashes, a leading `/`, control characters.
 */
export const parseItemRef = (text: string): Option.Option<ItemRef> => {
  const slash = text.lastIndexOf("/")
  const id = text.slice(slash + 1)
  const category = slash === -1 ? undefined : text.slice(0, slash)
  if (!isItemId(id) || category === "" || (category !== undefined && !isCategory(category))) return Option.none()
  return Option.some({ id, category })
}

export const printItemRef = (ref: ItemRef): string => ref.category === undefined ? ref.id : `${ref.category}/${ref.id}`
