// The audit's entry format. Files of this form are evidence and outlive versions: extend, never change.
import { Schema } from "effect"

const Hex64 = Schema.String

export const AuditCaller = Schema.Struct({
  surface: Schema.String,
  client: Schema.String,
  label: Schema.optionalKey(Schema.String),
  session: Schema.String
})

/** What an entry is about. */
export const AuditSubject = Schema.Struct({
  type: Schema.optionalKey(Schema.String),
  /** As it was asked for. */
  item: Schema.String,
  version: Schema.optionalKey(Schema.String),
  tier: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  chain: Schema.optionalKey(Schema.Array(Schema.String)),
  chain_digest: Schema.optionalKey(Schema.String)
})

const Base = {
  v: Schema.Literal(1),
  /** Number in the project's tree: one more than its parent's. */
  n: Schema.Int,
  /** ISO 8601, UTC, milliseconds. */
  at: Schema.String,
  /** sha256 hex of the bytes of the line before (without its line end); of the parent head for a file's first entry. */
  prev: Hex64
}

/** First line of a file: where in the project's tree this session branches off. */
export const AuditOpened = Schema.Struct({
  ...Base,
  kind: Schema.Literal("opened"),
  project: Schema.String,
  session: Schema.String,
  kiwi: Schema.String,
  /** Head and number of the entry that was newest when the session began; 64 zeros and 0 for the first. */
  parent: Schema.Struct({ head: Hex64, n: Schema.Int, file: Schema.optionalKey(Schema.String) })
})

/** Written before anything else happens for a call, also when it will be denied. */
export const AuditRequest = Schema.Struct({
  ...Base,
  kind: Schema.Literal("request"),
  call: Schema.String,
  caller: AuditCaller,
  operation: Schema.String,
  subject: AuditSubject,
  /** After redaction. */
  parameters: Schema.Json,
  dry_run: Schema.optionalKey(Schema.Boolean)
})

/** What came of a request. */
export const AuditResult = Schema.Struct({
  ...Base,
  kind: Schema.Literal("result"),
  call: Schema.String,
  subject: AuditSubject,
  /** `interrupted`: the caller went away or cancelled. */
  outcome: Schema.Literals(["success", "failure", "denied", "interrupted"]),
  /** The rule or the person that allowed or denied it. */
  rule: Schema.optionalKey(Schema.String),
  isolation: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.Struct({ code: Schema.String, message: Schema.String })),
  duration_ms: Schema.Finite
})

/** A human act: signing, trusting, revoking. */
export const AuditAct = Schema.Struct({
  ...Base,
  kind: Schema.Literal("act"),
  act: Schema.String,
  by: Schema.String,
  caller: AuditCaller,
  title: Schema.String,
  digest: Schema.String,
  /** `agreed`: written before it is done, as a request is. */
  outcome: Schema.Literals(["agreed", "done", "declined", "failed"])
})

/** Last line of a file. `recovered`: written at the next start after a crash. */
export const AuditSealed = Schema.Struct({
  ...Base,
  kind: Schema.Literal("sealed"),
  how: Schema.Literals(["closed", "recovered"])
})

export const AuditEntry = Schema.Union([AuditOpened, AuditRequest, AuditResult, AuditAct, AuditSealed])
export type AuditEntry = typeof AuditEntry.Type

type Fields<A> = A extends unknown ? Omit<A, "v" | "n" | "at" | "prev"> : never
/** What a writer supplies; number, time and hash are the log's. */
export type AuditRecord = Fields<
  typeof AuditRequest.Type | typeof AuditResult.Type | typeof AuditAct.Type
>
