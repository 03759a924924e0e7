// The state of one call: what its steps have found out so far. Steps run in order, so what an earlier one sets is
// there for a later one.
import type { Effect } from "effect"
import type { Schema } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import type { ResolvedChain } from "../../services/chain/ChainResolver.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import type { ResolvedEnv } from "../../services/env/EnvResolver.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import type { LockMode } from "../../services/lockfile/LockMode.ts"
import type { Isolation, PrimitiveResult } from "../../services/primitive/Primitive.ts"
import type { CallWarning, ToolCall, ToolResult } from "../../services/proxy/ToolCall.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
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
  /** What is so once it has passed. Such a step is part of `trace`: needs no parameters, causes and writes nothing. */
  readonly says?: string
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
