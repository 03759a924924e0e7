// The one shape in which a failure reaches a caller (MCP, CLI, embedding). Every failure is a Schema.TaggedError;
// its code is derived from its tag, so a code can neither be forgotten nor disagree with the class.
import type { Schema } from "effect"

/** One thing that is wrong in a value: where (a JSON-pointer-like path, "" for the whole), what, and the value. */
export interface ValidationIssue {
  readonly field: string
  readonly error: string
  readonly value?: Schema.Json | undefined
}

/** What every error class of Kiwi offers besides its own fields. */
export interface KiwiError {
  readonly _tag: string
  /** What happened, and to what. One sentence or a few lines; no secrets, no absolute paths outside the project. */
  readonly message: string
  /** What to do next: a command where there is one. */
  readonly remediation?: string | undefined
  /** Whether the same call can succeed later without anybody changing anything. Default: false. */
  readonly retryable?: boolean | undefined
  /** Ids of the chain's links, leaf first, where it happened inside a chain. */
  readonly chain?: ReadonlyArray<string> | undefined
  readonly failedAt?: FailedAt | undefined
  /** The failure under this one. Anything but a KiwiError is shown as code `UNKNOWN`. */
  readonly cause?: unknown
  /** For a wrapper (ToolChainError): the error whose code, remediation and retryable count. Else anything. */
  readonly reason?: unknown
}

/** The link of a chain that really failed. */
export interface FailedAt {
  readonly toolId: string
  /** The link's file, relative to its tier ("project:tools/math/add.py"). */
  readonly configPath: string
  readonly validationErrors: ReadonlyArray<ValidationIssue>
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
  readonly cause?: { readonly code: string; readonly message: string }
  readonly retryable: boolean
  readonly remediation?: string
}

/** `ItemNotFound` → `ITEM_NOT_FOUND`. */
export const codeOf = (error: { readonly _tag: string }): string =>
  error._tag.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toUpperCase()

const isTagged = (u: unknown): u is KiwiError =>
  typeof u === "object" && u !== null && "_tag" in u && typeof u._tag === "string" && "message" in u &&
  typeof u.message === "string"

/** The error that a wrapper is about, or the error itself. */
export const innermost = (error: KiwiError): KiwiError => isTagged(error.reason) ? error.reason : error

export const toErrorObject = (error: KiwiError): ErrorObject => {
  const inner = innermost(error)
  const cause = inner.cause
  const failedAt = error.failedAt ?? inner.failedAt
  const chain = error.chain ?? inner.chain
  const remediation = error.remediation ?? inner.remediation
  return {
    code: codeOf(inner),
    message: error.message,
    ...(chain === undefined ? {} : { chain }),
    ...(failedAt === undefined ? {} : {
      failed_at: {
        tool_id: failedAt.toolId,
        config_path: failedAt.configPath,
        validation_errors: failedAt.validationErrors
      }
    }),
    ...(cause === undefined || cause === null ? {} : {
      cause: isTagged(cause)
        ? { code: codeOf(cause), message: cause.message }
        : { code: "UNKNOWN", message: "an unexpected failure below this one" }
    }),
    retryable: error.retryable ?? inner.retryable ?? false,
    ...(remediation === undefined ? {} : { remediation })
  }
}
