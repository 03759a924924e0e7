// Tokens that carry the grants of one thread: signed by Kiwi, for one project, one thread and one directive, and for a
// limited time. A child's token has no more than its parent's, and ends with it. Tokens stay inside of Kiwi: no model,
// child process, log or audit entry gets one, only its `jti`.
import { Context, type Duration, type Effect, type Redacted, Schema } from "effect"
import { GrantSet } from "./Grant.ts"
import type { Request } from "./Request.ts"

export type Token = Redacted.Redacted

const Jti = Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/))
const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
const Amount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

/** Whole amounts by name: `{ turns: 10, spend_micros: 500000 }`. What the names mean is up to those who spend. */
export const Amounts = Schema.Record(Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_]{0,39}$/)), Amount)
export type Amounts = typeof Amounts.Type

/** Most generations of tokens. */
export const maxDepth = 16

export const Claims = Schema.Struct({
  jti: Jti,
  iss: Schema.Literal("kiwi"),
  /** The thread. */
  sub: Name,
  /** Digest of the directive that the thread executes. */
  act: Name,
  /** The project, by its id. */
  aud: Name,
  caps: GrantSet,
  /** In seconds since 1970. */
  exp: Amount,
  /** `jti` of its ancestors, the nearest first. Empty for the first token. */
  parent: Schema.Array(Jti).check(Schema.isMaxLength(maxDepth)),
  /** The most that the thread and its descendants may spend. */
  budget: Schema.optionalKey(Amounts)
})
export type Claims = typeof Claims.Type

/** A thread calls without a token. It has no grants of its own that could stand in for it. */
export class TokenMissing extends Schema.TaggedError<TokenMissing>()("TokenMissing", {
  thread: Schema.String
}) {
  override get message() {
    return `The thread ${this.thread} calls without its capability token`
  }
  get remediation() {
    return "Start the thread again: it gets its token when it starts"
  }
  get refusal() {
    return "denied" as const
  }
}

const whys = {
  malformed: "it is not one that Kiwi made",
  key: "its key is not known here any more",
  signature: "its signature is not valid",
  audience: "it is for another project",
  expired: "it has expired",
  thread: "it belongs to another thread",
  directive: "it belongs to another directive",
  depth: `it has ${maxDepth} ancestors, and may have no more descendants`
} as const

export const TokenIssue = Schema.Literals([
  "malformed",
  "key",
  "signature",
  "audience",
  "expired",
  "thread",
  "directive",
  "depth"
])

/** A capability token does not count here. */
export class TokenInvalid extends Schema.TaggedError<TokenInvalid>()("TokenInvalid", {
  why: TokenIssue,
  /** Only if the signature is valid. */
  jti: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return `The capability token${this.jti === undefined ? "" : ` ${this.jti}`} does not count: ${whys[this.why]}`
  }
  get remediation() {
    return this.why === "depth"
      ? "Do the work in the thread itself"
      : "Start the thread again: it gets a new token when it starts"
  }
  get refusal() {
    return "denied" as const
  }
}

/** A capability token, or one that it comes from, was revoked. */
export class TokenRevoked extends Schema.TaggedError<TokenRevoked>()("TokenRevoked", {
  jti: Schema.String,
  /** The token itself, or its ancestor. */
  revoked: Schema.String
}) {
  override get message() {
    return this.jti === this.revoked
      ? `The capability token ${this.jti} was revoked`
      : `The capability token ${this.jti} comes from ${this.revoked}, which was revoked`
  }
  get remediation() {
    return "Ask the person who stopped it, and start the thread again"
  }
  get refusal() {
    return "denied" as const
  }
}

/** A child asks for more than its parent has. */
export class PermissionEscalation extends Schema.TaggedError<PermissionEscalation>()("PermissionEscalation", {
  /** The thread that asks. */
  thread: Schema.String,
  /** The tool that asks for it, for its own calls. */
  tool: Schema.optionalKey(Schema.String),
  /** The permissions that are too much: "fs.write(infra/**)". */
  exceeding: Schema.Array(Schema.String)
}) {
  override get message() {
    const who = this.tool === undefined ? `The thread ${this.thread}` : `The tool ${this.tool}, for its own calls,`
    return `${who} asks for more than its caller has: ${this.exceeding.join(", ")}`
  }
  get remediation() {
    if (this.tool !== undefined) {
      return "Call it from a directive with wider permissions, or do the work without this tool"
    }
    return `Remove them from the directive's <permissions>, mark them optional="true", or call it with wider permissions`
  }
  get refusal() {
    return "denied" as const
  }
}

/** A token was to be made with a capability that does not exist, or with a scope that is not one of its kind. */
export class CapabilityInvalid extends Schema.TaggedError<CapabilityInvalid>()("CapabilityInvalid", {
  issue: Schema.String
}) {
  override get message() {
    return `No capability token was made: ${this.issue}`
  }
  get remediation() {
    return "Write a capability that there is, with a scope of its kind: docs/capabilities.md"
  }
}

/** A thread would spend more than its own budget, or that of an ancestor. */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>()("BudgetExceeded", {
  /** The token whose budget it is. */
  jti: Schema.String,
  name: Schema.String,
  ceiling: Schema.Int,
  spent: Schema.Int,
  amount: Schema.Int
}) {
  override get message() {
    return `The budget for ${this.name} is ${this.ceiling}, and ${this.spent} of it is spent: ${this.amount} more is too much`
  }
  get remediation() {
    return "Start the thread with a higher limit, or let it do less"
  }
  get refusal() {
    return "denied" as const
  }
}

/** The keys of capability tokens, or the list of revoked ones, cannot be used: then no token counts. */
export class TokensUnavailable extends Schema.TaggedError<TokensUnavailable>()("TokensUnavailable", {
  detail: Schema.String,
  remedy: Schema.String
}) {
  override get message() {
    return `Capability tokens cannot be used: ${this.detail}`
  }
  get remediation() {
    return this.remedy
  }
}

export type TokenError = TokenInvalid | TokenRevoked | TokensUnavailable

/** Who shows a token. */
export interface Bearer {
  readonly thread: string
  /** Digest of its directive, if it is known. */
  readonly directive?: string | undefined
}

export interface NewToken {
  readonly thread: string
  readonly directive: string
  /** Default: one hour. At most a day. */
  readonly life?: Duration.Duration | undefined
  readonly budget?: Amounts | undefined
}

export class CapabilityTokens extends Context.Service<CapabilityTokens, {
  /** The first token of a tree of threads. `grants`: what the caller has and the directive asks for. */
  readonly mint: (options: NewToken & { readonly grants: GrantSet }) => Effect.Effect<
    Token,
    TokensUnavailable | CapabilityInvalid
  >
  /**
   * Checks signature, project, time, thread and revocation. The signature is checked once for each token and process.
   */
  readonly verify: (token: Token, bearer: Bearer) => Effect.Effect<Claims, TokenError>
  /**
   * A child's token: its request within the parent's grants. Time and budget are cut to the parent's. `parent` shows
   * the parent's token.
   */
  readonly attenuate: (
    token: Token,
    parent: Bearer,
    options: NewToken & { readonly request: Request }
  ) => Effect.Effect<Token, TokenError | PermissionEscalation | CapabilityInvalid>
  /** The token and all its descendants do not count any more, in any process and after a restart. */
  readonly revoke: (jti: string) => Effect.Effect<void, TokensUnavailable>
  /** Adds to what the token and all its ancestors have spent: to all of them or, if it is too much for one, to none. */
  readonly spend: (claims: Claims, amounts: Amounts) => Effect.Effect<void, BudgetExceeded | TokensUnavailable>
  /** What the token and its descendants have spent. */
  readonly spent: (jti: string) => Effect.Effect<Amounts, TokensUnavailable>
  /**
   * New tokens get a new key. Those of the keys before count until they expire, or with `forget` no longer, in other
   * processes within a minute. Returns the new key's id.
   */
  readonly rotate: (options?: { readonly forget?: boolean }) => Effect.Effect<string, TokensUnavailable>
}>()("kiwi/services/capability/CapabilityTokens") {}
