// The state of one call: what its steps have found out so far. Steps run in order, so what an earlier one sets is
// there for a later one.
import type { Effect } from "effect"
import type { Schema } from "effect"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import type { ResolvedChain } from "../../services/chain/ChainResolver.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import type { ResolvedEnv } from "../../services/env/EnvResolver.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { LockMode } from "../../services/lockfile/LockMode.ts"
import type { Isolation, PrimitiveResult } from "../../services/primitive/Primitive.ts"
import type { CallWarning, ToolCall, ToolResult } from "../../services/proxy/ToolCall.ts"
import type { ChainReason, ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../services/proxy/ToolProxy.ts"
import type { Secrets } from "./secrets.ts"

export interface Run {
  readonly call: ToolCall
  readonly startedAt: number
  resolved: ResolvedChain | undefined
  verified: ReadonlyArray<Verified>
  rule: string | undefined
  isolation: Isolation | undefined
  /** What a lock means for this call. */
  readonly lockMode: LockMode
  toolFile: string | undefined
  env: ResolvedEnv | undefined
  /** The packages that the chain runs with, where it declares any. */
  dependencies: InstalledSet | undefined
  parameters: Schema.JsonObject
  config: Schema.JsonObject
  /** A dry run's config as it may be shown. */
  shownConfig: Schema.JsonObject | undefined
  /** Names of the parameters that the config placed itself. */
  placed: ReadonlySet<string>
  /** Values that Kiwi put into the call and that must not come back out. */
  secrets: Secrets
  primitive: PrimitiveResult | undefined
  result: ToolResult | undefined
  warnings: ReadonlyArray<CallWarning>
}

export interface Step {
  readonly name: string
  /** Part of `trace`: needs no parameters, causes nothing, writes nothing. */
  readonly traced: boolean
  readonly run: (run: Run) => Effect.Effect<void, ToolCallError>
}

export const begin = (call: ToolCall, lockMode: LockMode, startedAt: number): Run => ({
  call,
  startedAt,
  resolved: undefined,
  verified: [],
  rule: undefined,
  isolation: undefined,
  lockMode,
  toolFile: undefined,
  env: undefined,
  dependencies: undefined,
  parameters: call.parameters,
  config: {},
  shownConfig: undefined,
  placed: new Set(),
  secrets: [],
  primitive: undefined,
  result: undefined,
  warnings: []
})

export const chainOf = (run: Run): Chain => {
  if (run.resolved === undefined) throw new Error("the chain is resolved before it is used")
  return run.resolved.chain
}

export const isRecord = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether what is only doubtful stops the call, as the lock mode `strict` wants it. */
export const isStrict = (run: Run): boolean => run.lockMode === "strict"

/** `link`: the one that really failed, where the error itself does not say. */
export const failedIn = (run: Run, link: ChainLink, reason: ChainReason): ToolChainError => {
  const inner: KiwiError = reason
  return new ToolChainError({
    chain: [...(inner.chain ?? chainIds(chainOf(run).links))],
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
