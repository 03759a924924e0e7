// The one form in which a failure reaches a caller (MCP, CLI, embedding). Every failure is a Schema.TaggedError. Its
// code is derived from its tag, so a code cannot be missing or differ from the class.
import { Schema } from "effect"
import { defined } from "../schema/defined.ts"

/** One issue of a value: where (a JSON-pointer-like path, "" for the whole), what, and the value there. */
export interface ValidationIssue {
  readonly field: string
  readonly error: string
  readonly value?: Schema.Json | undefined
}

/** Why a rule or missing trust refuses an item. */
export type Refusal = "unsigned" | "untrusted" | "tampered" | "restricted" | "denied"

/** The properties of every Kiwi error class, besides its own fields. */
export interface KiwiError {
  readonly _tag: string
  /** What happened, and to what. One sentence or a few lines; no secrets, no absolute paths outside the project. */
  readonly message: string
  /** What to do next; a command if there is one. */
  readonly remediation?: string | undefined
  /** Whether the same call can succeed later although nobody changes anything. Default: false. */
  readonly retryable?: boolean | undefined
  /**
   * Set if a rule or missing trust refuses: the audit records `denied`, and search shows this state. Absent: a failure.
   */
  readonly refusal?: Refusal | undefined
  /** A person is being asked, and the same call will be repeated with the answer: the audit records `asked`. */
  readonly asked?: boolean | undefined
  /** Id of the request that a person was asked, for the audit. */
  readonly approval?: string | undefined
  /** What the person answered to that request, for the audit. */
  readonly answer?: string | undefined
  /** Name of the rule that refuses, for the audit. */
  readonly rule?: string | undefined
  /** The rule with which a person would allow what was refused, for the audit. */
  readonly allow?: string | undefined
  /** The state that search shows for an item with this error, unless it is refused. Default: `invalid`. */
  readonly itemState?: "missing_command" | undefined
  /** The problem in a word or two, for a table: "not locked". Default: the state. */
  readonly brief?: string | undefined
  /** Id of the link of a chain that must be changed. */
  readonly link?: string | undefined
  /** The place in a chain's merged config that must be changed, if it is not in a single link: "/args/0". */
  readonly field?: string | undefined
  /** Ids of the chain's links, leaf first, if the error occurred inside a chain. */
  readonly chain?: ReadonlyArray<string> | undefined
  readonly failedAt?: FailedAt | undefined
  /** The issues by field, of an error about values. */
  readonly validationIssues?: ReadonlyArray<ValidationIssue> | undefined
  /**
   * The underlying failure, if it adds to this message: which file, whether to retry. A cause that is not a KiwiError
   * is shown as code `UNKNOWN`.
   */
  readonly cause?: unknown
  /**
   * In a wrapper (ToolChainError, BuiltinFailed): the error that determines code, remediation and retryable. Otherwise
   * any value.
   */
  readonly reason?: unknown
}

/** The link of a chain that failed. */
export interface FailedAt {
  readonly toolId: string
  /** The link's file, relative to its tier ("project:tools/math/add.py"). */
  readonly configPath: string
  readonly validationErrors: ReadonlyArray<ValidationIssue>
}

/** The failure under another, and its own cause. */
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

/** The `cause` of an error class: the underlying error, complete. */
export const Underlying = Schema.declare(isKiwiError)

/** The `failedAt` of an error class that is given the link and does not compute it. */
export const FailedLink = Schema.declare((u): u is FailedAt => typeof u === "object" && u !== null && "toolId" in u)

/** The limit of nested wrappers: a program's own error may be its own reason. */
const maxReasons = 4

/** The error inside a wrapper, or the error itself. */
export const innermost = (error: KiwiError, depth: number = maxReasons): KiwiError =>
  depth > 0 && isKiwiError(error.reason) ? innermost(error.reason, depth - 1) : error

/** The state of an item with this error, in search, load and explain. `invalid`: it or its chain is not well formed. */
export const stateOf = (error: KiwiError): Refusal | "missing_command" | "invalid" => {
  const { itemState, refusal } = innermost(error)
  return refusal ?? itemState ?? "invalid"
}

/** The limit of nested causes: a caller acts on the first few, and causes may form a cycle. */
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
