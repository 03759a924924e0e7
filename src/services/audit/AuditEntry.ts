// The audit's entry format. Files of this form are evidence and outlive versions: extend, never change.
import { Option, Predicate, Result, Schema } from "effect"
import { Outcome } from "../call/callOutcome.ts"

const Hex64 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))

/** What the first entry, and the first head, follow. */
export const zeros = "0".repeat(64)

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
  /** Depth in the project's tree of entries: one more than that of the entry before, or of the parent. */
  n: Schema.Int,
  /** ISO 8601, UTC, milliseconds. */
  at: Schema.String,
  /** sha256, hex, of the bytes of the line before without its line end; for a file's first entry the parent's `head`. */
  prev: Hex64
}

/** First line of a file: where in the project's tree this session branches off. */
export const AuditOpened = Schema.Struct({
  ...Base,
  kind: Schema.Literal("opened"),
  project: Schema.String,
  session: Schema.String,
  kiwi: Schema.String,
  /** The entry that this session branches off from: hash of its line, its number and its file; zeros for the first. */
  parent: Schema.Struct({ head: Hex64, n: Schema.Int, file: Schema.optionalKey(Schema.String) }),
  /**
   * The last line of `audit-heads` when the session began, by hash and number. It stands for every head of every
   * session before, so that a branch which nothing grew from is missed as well.
   */
  heads: Schema.Struct({ head: Hex64, i: Schema.Int })
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
  /** As in the request. Absent: "run". */
  operation: Schema.optionalKey(Schema.String),
  subject: AuditSubject,
  outcome: Outcome,
  /** The rule or the person that allowed or denied it. */
  rule: Schema.optionalKey(Schema.String),
  isolation: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.Struct({ code: Schema.String, message: Schema.String })),
  duration_ms: Schema.Finite
})

/** What was looked up and shown: written once, before the answer is handed over. Never what an item says. */
export const AuditRead = Schema.Struct({
  ...Base,
  kind: Schema.Literal("read"),
  call: Schema.String,
  caller: AuditCaller,
  operation: Schema.Literals(["search", "load", "help"]),
  /** Words, an id or a topic, as it was asked for; after redaction. */
  query: Schema.String,
  filters: Schema.optionalKey(Schema.Json),
  /** In the order in which they were shown. */
  shown: Schema.Array(Schema.Struct({
    type: Schema.String,
    id: Schema.String,
    tier: Schema.String,
    state: Schema.String
  })),
  outcome: Outcome,
  rule: Schema.optionalKey(Schema.String),
  /** Its code alone: a message may quote the item. */
  error: Schema.optionalKey(Schema.Struct({ code: Schema.String })),
  duration_ms: Schema.Finite
})

/** A human act: signing, trusting, revoking. */
export const AuditAct = Schema.Struct({
  ...Base,
  kind: Schema.Literal("act"),
  act: Schema.String,
  by: Schema.String,
  /** What was seen of the person: the terminal, the client, the variable. Of what was refused: why nobody was asked. */
  seen: Schema.optionalKey(Schema.String),
  caller: AuditCaller,
  title: Schema.String,
  digest: Schema.String,
  /** `agreed`: written before it is done, as a request is. `refused`: no person could be asked. */
  outcome: Schema.Literals(["agreed", "done", "declined", "refused", "failed"])
})

/** Last line of a file. `recovered`: written by a later session, since this one died. */
export const AuditSealed = Schema.Struct({
  ...Base,
  kind: Schema.Literal("sealed"),
  how: Schema.Literals(["closed", "recovered"]),
  /**
   * What the dead session had left of a line that it did not finish: the bytes between the last whole entry, which
   * `prev` is about, and this line.
   */
  torn: Schema.optionalKey(Schema.Struct({ bytes: Schema.Int, sha256: Hex64 }))
})

export const AuditEntry = Schema.Union([
  AuditOpened,
  AuditRequest,
  AuditResult,
  AuditRead,
  AuditAct,
  AuditSealed
])
export type AuditEntry = typeof AuditEntry.Type

type Fields<A> = A extends unknown ? Omit<A, "v" | "n" | "at" | "prev"> : never
/** What a writer supplies; number, time and hash are the log's. */
export type AuditRecord = Fields<
  typeof AuditRequest.Type | typeof AuditResult.Type | typeof AuditRead.Type | typeof AuditAct.Type
>

/**
 * A line of `audit-heads`: how far a session's file has come. The list is a chain of its own, and its order is the
 * order in which things were recorded. Written with the keys in this order and nothing else.
 */
export const AuditHead = Schema.Struct({
  v: Schema.Literal(1),
  /** Number of the line. */
  i: Schema.Int,
  /** sha256, hex, of the line before. */
  prev: Hex64,
  /** `opened` is a session's first head, `closed` or `recovered` its last. */
  state: Schema.Literals(["opened", "running", "closed", "recovered"]),
  /** Below the project's `.ai/logs/audit`, or below Kiwi's own folder where there was no `.ai`. */
  place: Schema.Literals(["project", "home"]),
  file: Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}\/\d{8}T\d{9}Z-[0-9a-f]{16}\.jsonl$/)),
  n: Schema.Int,
  /** sha256, hex, of the line of entry `n`. */
  head: Hex64
})
export type AuditHead = typeof AuditHead.Type

const decodeHead = Schema.decodeUnknownOption(Schema.fromJsonString(AuditHead))

export const encodeHead = ({ file, head, i, n, place, prev, state }: Omit<AuditHead, "v">): string =>
  JSON.stringify({ v: 1, i, prev, state, place, file, n, head })

/** The head on a line, if it is one byte for byte. */
export const parseHead = (line: string): AuditHead | undefined => {
  const head = Option.getOrUndefined(decodeHead(line))
  return head !== undefined && encodeHead(head) === line ? head : undefined
}

/** What a line has to have to be a link of the chain, also in a version that knows more kinds. */
export interface AuditLink {
  readonly n: number
  readonly prev: string
  readonly kind: string
  /** Of a seal. */
  readonly how: unknown
  readonly torn: { readonly bytes: number; readonly sha256: string } | undefined
  /** Of a first entry. */
  readonly heads: { readonly head: string; readonly i: number } | undefined
}

const isHash = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{64}$/.test(value)

/** The object on a line. Not by a schema: millions of lines are looked at. */
export const parseObject = (line: string): { readonly [key: string]: unknown } | undefined =>
  Result.getOrUndefined(Result.filterOrFail(
    Result.try((): unknown => JSON.parse(line)),
    Predicate.isReadonlyObject,
    () => undefined
  ))

export const parseLink = (line: string): AuditLink | undefined => {
  const entry = parseObject(line)
  if (entry === undefined) return undefined
  const { heads, how, kind, n, prev, torn, v } = entry
  if (!Number.isSafeInteger(v) || typeof n !== "number" || !Number.isSafeInteger(n)) return undefined
  if (!isHash(prev) || typeof kind !== "string") return undefined
  return {
    n,
    prev,
    kind,
    how,
    torn: Predicate.isReadonlyObject(torn) && typeof torn["bytes"] === "number" && isHash(torn["sha256"])
      ? { bytes: torn["bytes"], sha256: torn["sha256"] }
      : undefined,
    heads: Predicate.isReadonlyObject(heads) && typeof heads["i"] === "number" && isHash(heads["head"])
      ? { head: heads["head"], i: heads["i"] }
      : undefined
  }
}
