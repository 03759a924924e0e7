// The project's audit: append-only files of hash-chained entries, one file for each session. Together they form one
// tree.
import { Context, type Effect, type Redacted, Schema } from "effect"
import { isKiwiError, Underlying } from "../error/KiwiError.ts"
import type { AuditEntry, AuditRecord } from "./AuditEntry.ts"

/** The audit cannot be written. Nothing runs then, since every effect must be recorded. */
export class AuditUnavailable extends Schema.TaggedError<AuditUnavailable>()("AuditUnavailable", {
  detail: Schema.String,
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    return `The audit could not be written, so nothing was done: ${this.detail}`
  }
  get remediation() {
    return isKiwiError(this.cause) && this.cause.remediation !== undefined
      ? this.cause.remediation
      : "Make .ai/logs/audit a writable folder of the project, without links, and free some disk space"
  }
  get retryable() {
    return isKiwiError(this.cause) && this.cause.retryable === true
  }
}

/** A problem that `verify` found. `file` is relative to `.ai/logs/audit`, or `audit-heads` for the list of heads. */
export interface AuditProblem {
  readonly file: string
  readonly line: number
  readonly problem: "changed" | "removed" | "inserted" | "reordered" | "missing-file" | "cut-tail" | "unreadable"
  readonly detail: string
}

export interface AuditReport {
  readonly files: number
  readonly entries: number
  /** Files without a `sealed` entry: their sessions are running, or died and are not recovered yet. */
  readonly open: ReadonlyArray<string>
  readonly problems: ReadonlyArray<AuditProblem>
}

export class AuditLog extends Context.Service<AuditLog, {
  /** Appends one entry and passes it to the operating system before it returns. Synchronous, about 10 µs. */
  readonly append: (
    record: AuditRecord,
    /** Values to redact (if at least 8 characters long), besides those that the keys identify. */
    secrets?: ReadonlyArray<Redacted.Redacted<string>>
  ) => Effect.Effect<void, AuditUnavailable>
  /**
   * The newest `limit` (100) entries that match, newest last. Skips entries that cannot be decoded (`verify` reports
   * them) and files that this Kiwi did not write.
   */
  readonly read: (filter?: {
    readonly limit?: number
    readonly call?: string
    readonly item?: string
    readonly outcome?: string
  }) => Effect.Effect<ReadonlyArray<AuditEntry>>
  /** Seals what a crashed session left, then compares every file with the list of heads. */
  readonly verify: Effect.Effect<AuditReport>
  /** Hash and number of the newest line of `audit-heads`, to keep elsewhere: they cover all sessions so far. */
  readonly anchor: Effect.Effect<{ readonly head: string; readonly n: number }>
}>()("kiwi/services/audit/AuditLog") {}
