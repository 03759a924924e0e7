// Which link of a chain an error is about.
import type { Schema } from "effect"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ChainReason } from "../../services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../services/proxy/ToolProxy.ts"
import type { Facts } from "./Step.ts"

export const isRecord = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** `link`: the one that really failed, where the error itself does not say. */
export const failedIn = ({ chain }: Facts<"chain">, link: ChainLink, reason: ChainReason): ToolChainError => {
  const inner: KiwiError = reason
  return new ToolChainError({
    chain: [...(inner.chain ?? chainIds(chain.links))],
    failedAt: inner.failedAt ?? {
      toolId: link.tool.location.id,
      configPath: showLocation(link.tool.location),
      validationErrors: inner.validationIssues ?? []
    },
    reason
  })
}

/** The segments of "/args/0", "args/0", "args[0]" and "env.NAME". */
const segmentsOf = (field: string): ReadonlyArray<string> => field.split(/[/.[\]"]+/).filter((part) => part !== "")

/** Whether the config has the place, or replaces all of something that the place is in. */
const sets = (config: Schema.JsonObject, segments: ReadonlyArray<string>): boolean => {
  let value: Schema.Json | undefined = config
  for (const segment of segments) {
    if (!isRecord(value)) return true
    if (!Object.hasOwn(value, segment)) return false
    value = value[segment]
  }
  return true
}

/** Who should have set what nobody did: a runtime is to be whole, for whatever is built on it. */
const completing = (links: ReadonlyArray<ChainLink>): ChainLink | undefined =>
  links.findLast(({ tool }) => tool.toolType === "runtime" && tool.location.tier !== "system") ?? links[0]

/**
 * The link whose own config set a place of what `asking` is given by itself and the links below it: the leaf-most,
 * since it wins. Default: the primitive, which is given everything.
 */
export const setterOf = (chain: Chain, field: string, asking: ChainLink = chain.primitive): ChainLink => {
  const links = chain.links.slice(0, chain.links.indexOf(asking) + 1)
  const segments = segmentsOf(field)
  const whole = (path: ReadonlyArray<string>) =>
    path.length === 0 ? undefined : links.find((link) => sets(link.tool.config, path))
  return whole(segments) ?? whole(segments.slice(0, 1)) ?? completing(links.slice(0, -1)) ?? chain.leaf
}

/** The link that the first issue of a config is about, and all the issues that are its own. */
export const setterOfIssues = <I extends { readonly field: string }>(
  chain: Chain,
  issues: ReadonlyArray<I>,
  asking?: ChainLink
) => {
  const link = setterOf(chain, issues[0]?.field ?? "", asking)
  return { link, own: issues.filter(({ field }) => setterOf(chain, field, asking) === link) }
}
