// Which link of a chain must be changed. An error names a link by its id, a place in the config, or what is missing.
// Any other error is about the tool itself.
import type { Schema } from "effect"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ChainReason } from "../../services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../services/proxy/ToolProxy.ts"
import { isJsonObject } from "../../services/schema/json.ts"
import * as Template from "../../services/template/Template.ts"

/** The segments of "/args/0", "args/0", "args[0]" and "env.NAME". */
const segmentsOf = (field: string): ReadonlyArray<string> => field.split(/[/.[\]"]+/).filter((part) => part !== "")

/** Whether the config sets the place, or replaces something that contains it. */
const sets = (config: Schema.JsonObject, segments: ReadonlyArray<string>): boolean => {
  let value: Schema.Json | undefined = config
  for (const segment of segments) {
    if (!isJsonObject(value)) return true
    if (!Object.hasOwn(value, segment)) return false
    value = value[segment]
  }
  return true
}

/**
 * The link that should have set a missing value: the runtime, which must be complete for every tool that runs on it.
 */
const completing = (links: ReadonlyArray<ChainLink>): ChainLink | undefined =>
  links.findLast(({ tool }) => tool.toolType === "runtime" && tool.location.tier !== "system") ?? links[0]

/**
 * The link whose own config set a place in the config of `asking`, which merges its own and those of the links below
 * it. If several did, the leaf-most, since it takes precedence. Default: the primitive, whose config merges all.
 */
export const setterOf = (chain: Chain, field: string, asking: ChainLink = chain.primitive): ChainLink => {
  const links = chain.links.slice(0, chain.links.indexOf(asking) + 1)
  const segments = segmentsOf(field)
  const whole = (path: ReadonlyArray<string>) =>
    path.length === 0 ? undefined : links.find((link) => sets(link.tool.config, path))
  return whole(segments) ?? whole(segments.slice(0, 1)) ?? completing(links.slice(0, -1)) ?? chain.leaf
}

const declaring = (chain: Chain): ChainLink | undefined => chain.links.find(({ tool }) => tool.envConfig !== undefined)

/**
 * The link that allows a variable: it requires it, or names it in its config; otherwise the one with the ENV_CONFIG.
 */
export const linkNaming = (chain: Chain, variables: ReadonlyArray<string>): ChainLink =>
  chain.links.find(({ tool }) => {
    const named = Template.compile(tool.config, []).variables
    return variables.some((name) => tool.requires.environment.includes(name) || named.has(name))
  }) ?? declaring(chain) ?? chain.leaf

const linkOf = (chain: Chain, reason: ChainReason): ChainLink => {
  if (reason._tag === "RequirementsMissing") {
    if (reason.interpreter !== "") return declaring(chain) ?? chain.leaf
    return chain.links.find(({ tool }) => tool.requires.commands.some((name) => reason.commands.includes(name))) ??
      linkNaming(chain, reason.variables)
  }
  const { field, link }: KiwiError = reason
  return link === undefined
    ? field === undefined ? chain.leaf : setterOf(chain, field)
    : chain.links.find(({ tool }) => tool.location.id === link) ?? chain.leaf
}

/** `link`: the one that was being checked, if only the step knows it. */
export const blame = (chain: Chain, reason: ChainReason, link: ChainLink = linkOf(chain, reason)): ToolChainError => {
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
