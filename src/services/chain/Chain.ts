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
  /** SHA-256, in hex, over the ordered (tier, path, version, digest) of the links. */
  readonly digest: string
  /**
   * The links' configs merged from primitive to leaf: the leaf takes precedence, objects merge deep, lists are
   * replaced. Templates are not rendered yet.
   */
  readonly config: Schema.JsonObject
  /** `ENV_CONFIG` of the first link that has one, leaf first. */
  readonly envConfig: Schema.JsonObject | undefined
  /** What the links require, in one list each, without duplicates. */
  readonly requires: Tool["requires"]
}

/** Ids of the links, leaf first. */
export const chainIds = (links: ReadonlyArray<ChainLink>): ReadonlyArray<string> => links.map((l) => l.tool.location.id)

/**
 * Values of `over` take precedence. Objects merge deep; everything else, lists included, is replaced. A key such as
 * `__proto__` is plain data.
 */
export const mergeConfig = (under: Schema.JsonObject, over: Schema.JsonObject): Schema.JsonObject => {
  const merged = new Map(Object.entries(under))
  for (const [key, value] of Object.entries(over)) {
    const before = merged.get(key)
    merged.set(key, isJsonObject(before) && isJsonObject(value) ? mergeConfig(before, value) : value)
  }
  return Object.fromEntries(merged)
}

/** The deepest config that is accepted: a deeper one could overflow the stack when it is merged or printed. */
export const maxConfigDepth = 64

/** Whether a value is nested deeper than `limit`. Does not walk deeper than that. */
export const isDeeperThan = (value: Schema.Json, limit: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  return limit === 0 || Object.values(value).some((v) => isDeeperThan(v, limit - 1))
}

/** The input of a chain's digest: its links in order, each by tier, path, version and digest. */
const chainIdentity = (links: ReadonlyArray<ChainLink>): string =>
  JSON.stringify(
    links.map(({ snapshot, tool }) => [tool.location.tier, tool.location.path, tool.version, snapshot.digest])
  )

/** Makes a chain of valid links that end at a primitive. `sha256` returns hex. */
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
