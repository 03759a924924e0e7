// The input and output of ToolProxy. Transcripts and clients keep these structures: extend them, never change them.
import { Schema } from "effect"
import { Caller } from "../call/Caller.ts"
import { CallWarning } from "../call/CallWarning.ts"
import { Tier } from "../item/ItemId.ts"
import { LockMode } from "../lockfile/LockMode.ts"

export const ToolCall = Schema.Struct({
  /** Unique for this call, and used in the audit. */
  callId: Schema.String,
  caller: Caller,
  /** `id` or `category/id`. */
  item: Schema.String,
  /** The thread that calls. It needs its capability token. */
  thread: Schema.optionalKey(Schema.String),
  /** Never leaves Kiwi: neither the audit nor a child process gets it. */
  token: Schema.optionalKey(Schema.Redacted(Schema.String, { label: "capability token", disallowJsonEncode: true })),
  /** The calls whose tools made this one, the first of them first. Absent: no tool made it. */
  within: Schema.optionalKey(Schema.Array(Schema.Struct({ call: Schema.String, tool: Schema.String }))),
  tier: Schema.optionalKey(Tier),
  parameters: Schema.Record(Schema.String, Schema.Json),
  dryRun: Schema.Boolean,
  /** Applies if it is stricter than the setting `lockfile.mode`. */
  lockfileMode: Schema.optionalKey(LockMode)
})
export type ToolCall = typeof ToolCall.Type

/** Captured output too long to return whole: `text` is its head and tail, and `uri` reads the rest in ranges. */
export const OutputReference = Schema.Struct({
  uri: Schema.String,
  bytes: Schema.Int,
  /** True if it is not text. */
  binary: Schema.optionalKey(Schema.Literal(true))
})

export const CallMetadata = Schema.Struct({
  call_id: Schema.String,
  /** Whole milliseconds of the primitive only. */
  duration_ms: Schema.Finite,
  tool: Schema.Struct({ id: Schema.String, version: Schema.String, tier: Tier, digest: Schema.String }),
  chain: Schema.Array(Schema.String),
  chain_digest: Schema.String,
  isolation: Schema.String,
  exit_code: Schema.optionalKey(Schema.Int),
  status_code: Schema.optionalKey(Schema.Int),
  attempts: Schema.optionalKey(Schema.Int),
  /** Of an HTTP response: headers that every tool shows, and those that the tool names. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** The end of stderr, if any: at most 4 KiB. */
  stderr: Schema.optionalKey(Schema.String),
  output: Schema.optionalKey(OutputReference)
})
export type CallMetadata = typeof CallMetadata.Type

/** What a dry run would do. Secrets are shown as `‹NAME›`. */
export const CallPlan = Schema.Struct({
  primitive: Schema.String,
  /** subprocess: the argv. */
  argv: Schema.optionalKey(Schema.Array(Schema.String)),
  /** http_client: method and url. */
  request: Schema.optionalKey(Schema.Struct({ method: Schema.String, url: Schema.String })),
  /** Names of the child's variables. */
  environment: Schema.Array(Schema.String)
})
export type CallPlan = typeof CallPlan.Type

export const ToolResult = Schema.Struct({
  status: Schema.Literals(["success", "validation_passed"]),
  /** The tool's data; for a dry run the plan. */
  data: Schema.Json,
  metadata: CallMetadata,
  warnings: Schema.Array(CallWarning)
})
export type ToolResult = typeof ToolResult.Type
