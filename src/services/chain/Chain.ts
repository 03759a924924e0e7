// A resolved chain: tool → its executor → … → a primitive, leaf first.
import type { Schema } from "effect"
import type { ItemSnapshot, Tool } from "../item/Item.ts"

export interface ChainLink {
  readonly tool: Tool
  readonly snapshot: ItemSnapshot
}

export interface Chain {
  /** Leaf first; the last one is the primitive. Never empty. */
  readonly links: ReadonlyArray<ChainLink>
  readonly leaf: ChainLink
  readonly primitive: ChainLink
  /** sha256 hex over the ordered (tier, path, version, digest) of the links. */
  readonly digest: string
  /** Config merged primitive → leaf: the leaf wins, objects deep, lists replaced. Not yet templated. */
  readonly config: Schema.JsonObject
  /** `ENV_CONFIG` of the first link that has one, leaf first. */
  readonly envConfig: Schema.JsonObject | undefined
  /** What every link requires, in one list each, without repeats. */
  readonly requires: Tool["requires"]
}

/** Ids of the links, leaf first. */
export const chainIds = (links: ReadonlyArray<ChainLink>): ReadonlyArray<string> => links.map((l) => l.tool.location.id)
