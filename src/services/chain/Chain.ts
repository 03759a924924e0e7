// A resolved chain: tool → its executor → … → a primitive, leaf first.
import type { Schema } from "effect"
import type { ItemSnapshot, Tool } from "../item/Item.ts"
import { isJsonObject } from "../schema/json.ts"

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

/** `over` wins; objects deep, everything else (lists too) replaced. Keys are own data whatever they are called. */
export const mergeConfig = (under: Schema.JsonObject, over: Schema.JsonObject): Schema.JsonObject => {
  const merged = new Map(Object.entries(under))
  for (const [key, value] of Object.entries(over)) {
    const before = merged.get(key)
    merged.set(key, isJsonObject(before) && isJsonObject(value) ? mergeConfig(before, value) : value)
  }
  return Object.fromEntries(merged)
}

/** Deeper than this, a config is refused: it could not be merged or written without end. */
export const maxConfigDepth = 64

/** Whether a value is nested deeper than `limit`. Looks no further than that. */
export const isDeeperThan = (value: Schema.Json, limit: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  return limit === 0 || Object.values(value).some((v) => isDeeperThan(v, limit - 1))
}

/** What a chain's digest is over: its links in order, each by tier, path, version and digest. */
const chainIdentity = (links: ReadonlyArray<ChainLink>): string =>
  JSON.stringify(
    links.map(({ snapshot, tool }) => [tool.location.tier, tool.location.path, tool.version, snapshot.digest])
  )

/** The chain of links that are in order and end at a primitive. `sha256` gives hex. */
export const makeChain = (
  links: readonly [ChainLink, ...ReadonlyArray<ChainLink>],
  sha256: (text: string) => string
): Chain => ({
  links,
  leaf: links[0],
  primitive: links.at(-1) ?? links[0],
  digest: sha256(chainIdentity(links)),
  config: links.toReversed().reduce<Schema.JsonObject>((config, link) => mergeConfig(config, link.tool.config), {}),
  envConfig: links.find((l) => l.tool.envConfig !== undefined)?.tool.envConfig,
  requires: {
    commands: union(links, (t) => t.requires.commands),
    environment: union(links, (t) => t.requires.environment),
    capabilities: union(links, (t) => t.requires.capabilities)
  }
})

const union = (links: ReadonlyArray<ChainLink>, of: (tool: Tool) => ReadonlyArray<string>) => [
  ...new Set(links.flatMap((l) => of(l.tool)))
]
