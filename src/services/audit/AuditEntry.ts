// The audit's entry format. Files of this form are evidence and outlive versions: extend, never change.
import { Option, Predicate, Result, Schema } from "effect"
import { Outcome } from "../call/callOutcome.ts"

const Hex64 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))

/** The `prev` of the first entry and of the first head. */
export const zeros = "0".repeat(64)

const AuditCaller = Schema.Struct({
  surface: Schema.String,
  client: Schema.String,
  label: Schema.optionalKey(Schema.String),
  profile: Schema.optionalKey(Schema.String),
  session: Schema.String
})

/** What an entry is about. */
export const AuditSubject = Schema.Struct({
  type: Schema.optionalKey(Schema.String),
  /** As it was requested. */
  item: Schema.String,
  version: Schema.optionalKey(Schema.String),
  tier: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  chain: Schema.optionalKey(Schema.Array(Schema.String)),
  chain_digest: Schema.optionalKey(Schema.String)
})

const Base = {
  v: Schema.Literal(1),
  /** Depth in the project's tree of entries: one more than the entry before it, or than the parent of the session. */
  n: Schema.Int,
  /** ISO 8601, UTC, milliseconds. */
  at: Schema.String,
  /**
   * SHA-256, in hex, of the bytes of the line before it, without the newline; in a file's first entry, the parent's
   * `head`.
   */
  prev: Hex64
}

/** First line of a file: where in the project's tree this session branches off. */
export const AuditOpened = Schema.Struct({
  ...Base,
  kind: Schema.Literal("opened"),
  project: Schema.String,
  session: Schema.String,
  kiwi: Schema.String,
  /**
   * The entry that this session branches off from: hash of its line, its number and its file. Zeros in a project's
   * first session.
   */
  parent: Schema.Struct({ head: Hex64, n: Schema.Int, file: Schema.optionalKey(Schema.String) }),
  /**
   * The last line of `audit-heads` when the session began, by hash and number. It covers every head of every earlier
   * session, so that a missing branch is noticed even if no later session branched off from it.
   */
  heads: Schema.Struct({ head: Hex64, i: Schema.Int }),
  /** The file that this one continues: the session closed it because of its size, or because the day ended. */
  continues: Schema.optionalKey(Schema.String)
})

/** On whose behalf a call is made, as far as that is known. */
const Behalf = {
  /** Id of the capability token. */
  jti: Schema.optionalKey(Schema.String),
  /** The directive that the thread executes. */
  directive: Schema.optionalKey(Schema.String),
  thread: Schema.optionalKey(Schema.String),
  /** The `call` in which this one was made. */
  parent: Schema.optionalKey(Schema.String)
}

/** Written before anything else happens in a call, also if the call is denied later. */
export const AuditRequest = Schema.Struct({
  ...Base,
  kind: Schema.Literal("request"),
  call: Schema.String,
  caller: AuditCaller,
  operation: Schema.String,
  ...Behalf,
  subject: AuditSubject,
  /** After redaction. */
  parameters: Schema.Json,
  dry_run: Schema.optionalKey(Schema.Boolean)
})

/** An access that a rule can name. */
export const AuditTouched = Schema.Union([
  Schema.TaggedStruct("Path", {
    capability: Schema.Literals(["fs.read", "fs.write", "fs.delete"]),
    path: Schema.String,
    below: Schema.optionalKey(Schema.Literal(true))
  }),
  Schema.TaggedStruct("Command", {
    capability: Schema.Literal("process.exec"),
    words: Schema.Array(Schema.String),
    text: Schema.String
  }),
  Schema.TaggedStruct("Host", {
    capability: Schema.Literal("net.http"),
    host: Schema.String,
    port: Schema.Int
  }),
  Schema.TaggedStruct("Secret", { capability: Schema.Literal("secret.use"), name: Schema.String })
])

/** What a person was asked about, or would have been. Names only, after redaction. */
export const AuditAsked = Schema.Struct({
  /** "fs.write(src/a.ts)" */
  access: Schema.String,
  /** The same, for rules. Absent if it is long, or a command that could not be taken apart. */
  touches: Schema.optionalKey(AuditTouched),
  /** The rule that asks. */
  rule: Schema.String,
  /** The remembered answer that settled it. Absent: it was a question of this call. */
  answer: Schema.optionalKey(Schema.String)
})

/** The request that a person was asked; if they have answered, what (`once`, `no`), and how they were reached. */
const AuditApproval = Schema.Struct({
  id: Schema.String,
  by: Schema.optionalKey(Schema.String),
  answer: Schema.optionalKey(Schema.String)
})

/** The outcome of a request. */
export const AuditResult = Schema.Struct({
  ...Base,
  kind: Schema.Literal("result"),
  call: Schema.String,
  /** As in the request. Absent: "run". */
  operation: Schema.optionalKey(Schema.String),
  ...Behalf,
  subject: AuditSubject,
  outcome: Outcome,
  /** The rule or the person that allowed or denied the request. */
  rule: Schema.optionalKey(Schema.String),
  /** What it cost. */
  cost: Schema.optionalKey(Schema.Struct({
    /** Millionths of a US dollar. */
    micro_usd: Schema.Int,
    input_tokens: Schema.optionalKey(Schema.Int),
    output_tokens: Schema.optionalKey(Schema.Int)
  })),
  approval: Schema.optionalKey(AuditApproval),
  asked: Schema.optionalKey(Schema.Array(AuditAsked)),
  isolation: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.Struct({
    code: Schema.String,
    message: Schema.String,
    /** If it was denied: the rule with which a person would allow it. */
    allow: Schema.optionalKey(Schema.String)
  })),
  duration_ms: Schema.Finite
})

/** What was looked up and shown: written once, before the answer is returned. Never contains an item's content. */
export const AuditRead = Schema.Struct({
  ...Base,
  kind: Schema.Literal("read"),
  call: Schema.String,
  caller: AuditCaller,
  operation: Schema.Literals(["search", "load", "output", "help"]),
  /** The words, the id of an item or an output, or the topic that was asked for, after redaction. */
  query: Schema.String,
  filters: Schema.optionalKey(Schema.Json),
  /** In the order shown. */
  shown: Schema.Array(Schema.Struct({
    type: Schema.String,
    id: Schema.String,
    tier: Schema.String,
    state: Schema.String
  })),
  outcome: Outcome,
  rule: Schema.optionalKey(Schema.String),
  approval: Schema.optionalKey(AuditApproval),
  /** Only the error's code: a message may quote the item. */
  error: Schema.optionalKey(Schema.Struct({ code: Schema.String })),
  duration_ms: Schema.Finite
})

/** A human act: signing, trusting, revoking. */
const AuditAct = Schema.Struct({
  ...Base,
  kind: Schema.Literal("act"),
  act: Schema.String,
  by: Schema.String,
  /**
   * What was seen of the person: the terminal, the client, the variable. If the act was refused: why nobody was asked.
   */
  seen: Schema.optionalKey(Schema.String),
  /** Which of several answers the person chose: `once`, `never`. The title says what it does. */
  answer: Schema.optionalKey(Schema.String),
  caller: AuditCaller,
  title: Schema.String,
  digest: Schema.String,
  /** `agreed`: written before the act is done, as a request is. `refused`: no person could be asked. */
  outcome: Schema.Literals(["agreed", "done", "declined", "refused", "failed"])
})

/** A file that was older than `audit.keep`. Written before the file is removed, after every line of it was verified. */
export const AuditExpired = Schema.Struct({
  ...Base,
  kind: Schema.Literal("expired"),
  file: Schema.String,
  /** How many entries it had. */
  entries: Schema.Int,
  /** Number and hash of its last entry. */
  last: Schema.Struct({ n: Schema.Int, head: Hex64 }),
  /** When it was sealed. */
  sealed_at: Schema.String
})

/** Last line of a file. `recovered`: a later session wrote it, because this one died. */
export const AuditSealed = Schema.Struct({
  ...Base,
  kind: Schema.Literal("sealed"),
  how: Schema.Literals(["closed", "recovered"]),
  /**
   * The unfinished line that the dead session left: the bytes between the last whole entry, which `prev` names, and
   * this line.
   */
  torn: Schema.optionalKey(Schema.Struct({ bytes: Schema.Int, sha256: Hex64 }))
})

export const AuditEntry = Schema.Union([
  AuditOpened,
  AuditRequest,
  AuditResult,
  AuditRead,
  AuditAct,
  AuditExpired,
  AuditSealed
])
export type AuditEntry = typeof AuditEntry.Type

type Fields<A> = A extends unknown ? Omit<A, "v" | "n" | "at" | "prev"> : never
/** The fields that a writer supplies. The log adds number, time and hash. */
export type AuditRecord = Fields<
  typeof AuditRequest.Type | typeof AuditResult.Type | typeof AuditRead.Type | typeof AuditAct.Type
>

/**
 * A line of `audit-heads`: how far a session's file has come. The list is a chain of its own, in the order of
 * recording. A line has exactly these keys, in this order.
 */
export const AuditHead = Schema.Struct({
  v: Schema.Literal(1),
  /** Number of the line. */
  i: Schema.Int,
  /** SHA-256, in hex, of the line before. */
  prev: Hex64,
  /** `opened` is a session's first head, `closed` or `recovered` its last. `expired`: its file may be gone. */
  state: Schema.Literals(["opened", "running", "closed", "recovered", "expired"]),
  /**
   * Whether the file is below the project's `.ai/logs/audit` or, if the project had no `.ai`, below Kiwi's own folder.
   */
  place: Schema.Literals(["project", "home"]),
  file: Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}\/\d{8}T\d{9}Z-[0-9a-f]{16}\.jsonl$/)),
  n: Schema.Int,
  /** SHA-256, in hex, of the line of entry `n`. */
  head: Hex64,
  /** The public key that signed the line: raw Ed25519, in base64url. Absent if no key could be used. */
  key: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[\w-]{43}$/))),
  /** The signature of `signedText`, in base64url. */
  sig: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[\w-]{85}[AQgw]$/)))
})
export type AuditHead = typeof AuditHead.Type

const decodeHead = Schema.decodeUnknownOption(Schema.fromJsonString(AuditHead))

type Head = Omit<AuditHead, "v">

const textOf = ({ file, head, i, key, n, place, prev, state }: Head, sig: string | undefined): string =>
  JSON.stringify({ v: 1, i, prev, state, place, file, n, head, key, sig })

/** The head's line. */
export const encodeHead = (head: Head): string => textOf(head, head.sig)

/** What is signed: the line without its signature. `project` is the project's id, or "" without a project. */
export const signedText = (project: string, head: Head): string =>
  `kiwi audit head ${project}\n${textOf(head, undefined)}`

/** The head on a line. Undefined unless the line is a head byte for byte. */
export const parseHead = (line: string): AuditHead | undefined => {
  const head = Option.getOrUndefined(decodeHead(line))
  const isWhole = head !== undefined && (head.key === undefined) === (head.sig === undefined)
  return isWhole && encodeHead(head) === line ? head : undefined
}

/** The fields that every entry has, including those of later versions with more kinds. */
export interface AuditLink {
  readonly n: number
  readonly prev: string
  readonly kind: string
  readonly at: unknown
  /** Only in a seal. */
  readonly how: unknown
  readonly torn: { readonly bytes: number; readonly sha256: string } | undefined
  /** Only in a first entry. */
  readonly heads: { readonly head: string; readonly i: number } | undefined
  readonly project: unknown
}

const isHash = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{64}$/.test(value)

/** The object on a line. No schema is used here, for speed: there can be millions of lines. */
export const parseObject = (line: string): { readonly [key: string]: unknown } | undefined =>
  Result.getOrUndefined(Result.filterOrFail(
    Result.try((): unknown => JSON.parse(line)),
    Predicate.isReadonlyObject,
    () => undefined
  ))

export const parseLink = (line: string): AuditLink | undefined => {
  const entry = parseObject(line)
  if (entry === undefined) return undefined
  const { at, heads, how, kind, n, prev, project, torn, v } = entry
  if (!Number.isSafeInteger(v) || typeof n !== "number" || !Number.isSafeInteger(n)) return undefined
  if (!isHash(prev) || typeof kind !== "string") return undefined
  return {
    n,
    prev,
    kind,
    at,
    how,
    torn: Predicate.isReadonlyObject(torn) && typeof torn["bytes"] === "number" && isHash(torn["sha256"])
      ? { bytes: torn["bytes"], sha256: torn["sha256"] }
      : undefined,
    heads: Predicate.isReadonlyObject(heads) && typeof heads["i"] === "number" && isHash(heads["head"])
      ? { head: heads["head"], i: heads["i"] }
      : undefined,
    project
  }
}
