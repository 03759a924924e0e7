// The one shape in which a failure reaches a caller (MCP, CLI, embedding). Every failure is a Schema.TaggedError;
// its code is derived from its tag, so a code can neither be forgotten nor disagree with the class.
import { Schema } from "effect"
import { defined } from "../schema/defined.ts"

/** One thing that is wrong in a value: where (a JSON-pointer-like path, "" for the whole), what, and the value. */
export interface ValidationIssue {
  readonly field: string
  readonly error: string
  readonly value?: Schema.Json | undefined
}

/** How a rule or trust refuses an item. */
export type Refusal = "unsigned" | "untrusted" | "tampered" | "restricted" | "denied"

/** What every error class of Kiwi offers besides its own fields. */
export interface KiwiError {
  readonly _tag: string
  /** What happened, and to what. One sentence or a few lines; no secrets, no absolute paths outside the project. */
  readonly message: string
  /** What to do next: a command where there is one. */
  readonly remediation?: string | undefined
  /** Whether the same call can succeed later without anybody changing anything. Default: false. */
  readonly retryable?: boolean | undefined
  /** A rule or trust refuses: the audit records `denied`, and search shows this state. Absent: a failure. */
  readonly refusal?: Refusal | undefined
  /** A person is being asked, and the same call comes again with the answer: the audit records `asked`. */
  readonly asked?: boolean | undefined
  /** Name of the rule that refuses; written to the audit. */
  readonly rule?: string | undefined
  /** The state that search shows of an item that fails so, and that nothing refuses. Default: `invalid`. */
  readonly itemState?: "missing_command" | undefined
  /** What is wrong in a word or two, for a table: "not locked". Default: the state. */
  readonly brief?: string | undefined
  /** Id of the link of a chain that somebody has to change. */
  readonly link?: string | undefined
  /** The place in a chain's config that somebody has to change, where it is in no one link by itself: "/args/0". */
  readonly field?: string | undefined
  /** Ids of the chain's links, leaf first, where it happened inside a chain. */
  readonly chain?: ReadonlyArray<string> | undefined
  readonly failedAt?: FailedAt | undefined
  /** What is wrong in which field, of an error about values. */
  readonly validationIssues?: ReadonlyArray<ValidationIssue> | undefined
  /**
   * The failure under this one, where it says more than this one's message does: which file, whether to try again.
   * Anything but a KiwiError is shown as code `UNKNOWN`.
   */
  readonly cause?: unknown
  /** For a wrapper (ToolChainError, BuiltinFailed): the error whose code, remediation and retryable count. Else anything. */
  readonly reason?: unknown
}

/** The link of a chain that really failed. */
export interface FailedAt {
  readonly toolId: string
  /** The link's file, relative to its tier ("project:tools/math/add.py"). */
  readonly configPath: string
  readonly validationErrors: ReadonlyArray<ValidationIssue>
}

/** The failure under another, and the one under that. */
export interface ErrorCause {
  readonly code: string
  readonly message: string
  readonly cause?: ErrorCause
}

/** The wire form of an error: the value of the `error` key of a result. */
export interface ErrorObject {
  readonly code: string
  readonly message: string
  readonly chain?: ReadonlyArray<string>
  readonly failed_at?: {
    readonly tool_id: string
    readonly config_path: string
    readonly validation_errors: ReadonlyArray<ValidationIssue>
  }
  readonly cause?: ErrorCause
  readonly retryable: boolean
  readonly remediation?: string
}

/** `ItemNotFound` → `ITEM_NOT_FOUND`. */
export const codeOf = (error: { readonly _tag: string }): string =>
  error._tag.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toUpperCase()

export const isKiwiError = (u: unknown): u is KiwiError =>
  typeof u === "object" && u !== null && "_tag" in u && typeof u._tag === "string" && "message" in u &&
  typeof u.message === "string"

/** The `cause` of an error class. Whoever wraps an error and has to say what is under it keeps it here, whole. */
export const Underlying = Schema.declare(isKiwiError)

/** The `failedAt` of an error class that is told the link, and does not compute it. */
export const FailedLink = Schema.declare((u): u is FailedAt => typeof u === "object" && u !== null && "toolId" in u)

/** Wrappers around wrappers, at most; an error of a program's own may be its own reason. */
const maxReasons = 4

/** The error that a wrapper is about, or the error itself. */
export const innermost = (error: KiwiError, depth: number = maxReasons): KiwiError =>
  depth > 0 && isKiwiError(error.reason) ? innermost(error.reason, depth - 1) : error

/** The state of an item that fails so: what search, load and explain show. `invalid`: it or its chain is not well formed. */
export const stateOf = (error: KiwiError): Refusal | "missing_command" | "invalid" => {
  const { itemState, refusal } = innermost(error)
  return refusal ?? itemState ?? "invalid"
}

/** Causes below this many are left out: a caller acts on the first few, and a chain may close on itself. */
const maxCauses = 4

const causeOf = (error: KiwiError, depth: number): { readonly cause?: ErrorCause } => {
  const { cause } = error
  if (cause === undefined || cause === null || depth === 0) return {}
  if (!isKiwiError(cause)) return { cause: { code: "UNKNOWN", message: "an unexpected failure below this one" } }
  const under = innermost(cause)
  return { cause: { code: codeOf(under), message: cause.message, ...causeOf(under, depth - 1) } }
}

export const toErrorObject = (error: KiwiError): ErrorObject => {
  const inner = innermost(error)
  const failedAt = error.failedAt ?? inner.failedAt
  const chain = error.chain ?? inner.chain
  const remediation = error.remediation ?? inner.remediation
  return defined({
    code: codeOf(inner),
    message: error.message,
    chain,
    failed_at: failedAt && {
      tool_id: failedAt.toolId,
      config_path: failedAt.configPath,
      validation_errors: failedAt.validationErrors
    },
    ...causeOf(inner, maxCauses),
    retryable: error.retryable ?? inner.retryable ?? false,
    remediation
  })
}
