// Running a tool from a program that embeds Kiwi: one call, a typed result, a closed union of errors.
import { Effect, Schema } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import { newCallId } from "../services/call/callId.ts"
import type { Tier } from "../services/item/ItemId.ts"
import type { LockMode } from "../services/lockfile/LockMode.ts"
import type { ToolResult } from "../services/proxy/ToolCall.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { defined } from "../services/schema/defined.ts"

/** The tool's answer does not match the caller's schema. */
export class ResultUnexpected extends Schema.TaggedError<ResultUnexpected>()("ResultUnexpected", {
  tool: Schema.String,
  issue: Schema.String
}) {
  override get message() {
    return `The answer of ${this.tool} does not match the expected schema: ${this.issue}`
  }
  get remediation() {
    return "Compare the given schema with what the tool prints"
  }
}

export interface RunOptions {
  readonly tier?: Tier | undefined
  readonly dryRun?: boolean | undefined
  /** Used if it is stricter than the setting `lockfile.mode`. */
  readonly lockfileMode?: LockMode | undefined
  /** The caller's name in policy and audit. Default: "embedder". */
  readonly client?: string | undefined
  /** The profile whose items and rules hold. Default: none. */
  readonly profile?: string | undefined
  /** Groups calls in the audit. Default: each call has a session of its own. */
  readonly session?: string | undefined
}

/** The caller for an embedding program, for policy and audit. */
export const embedder = (client: string | undefined, session: string, profile?: string): Caller => ({
  surface: "embed",
  client: client ?? "embedder",
  ...(profile === undefined ? {} : { profile }),
  session
})

/** Runs a tool; the whole result with its metadata. */
export const runTool = Effect.fn("runTool")(function*(
  tool: string,
  parameters: Schema.JsonObject = {},
  options: RunOptions = {}
) {
  const proxy = yield* ToolProxy
  const callId = yield* newCallId
  return yield* proxy.call(defined({
    callId,
    caller: embedder(options.client, options.session ?? callId, options.profile),
    item: tool,
    tier: options.tier,
    parameters,
    dryRun: options.dryRun ?? false,
    lockfileMode: options.lockfileMode
  }))
})

/** Runs a tool and decodes its answer. */
export const runToolAs = <A, I, RD>(schema: Schema.Codec<A, I, RD>) =>
  Effect.fn("runToolAs")(function*(tool: string, parameters: Schema.JsonObject = {}, options: RunOptions = {}) {
    const result: ToolResult = yield* runTool(tool, parameters, options)
    return yield* Schema.decodeUnknownEffect(schema)(result.data).pipe(
      Effect.mapError((error) => new ResultUnexpected({ tool, issue: error.message }))
    )
  })
