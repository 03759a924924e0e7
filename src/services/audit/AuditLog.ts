// The project's audit: append-only files of hash-chained entries, one file a session, together one tree.
import { Context, type Effect, type Redacted, Schema } from "effect"
import { isKiwiError, Underlying } from "../error/KiwiError.ts"
import type { AuditEntry, AuditRecord } from "./AuditEntry.ts"

/** The audit cannot be written, so nothing runs: there is no effect without a record. */
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

/** One thing that `verify` found. `file` is relative to `.ai/logs/audit`, or `audit-heads` for the list of heads. */
export interface AuditProblem {
  readonly file: string
  readonly line: number
  readonly problem: "changed" | "removed" | "inserted" | "reordered" | "missing-file" | "cut-tail" | "unreadable"
  readonly detail: string
}

export interface AuditReport {
  readonly files: number
  readonly entries: number
  /** Files without a `sealed` entry: sessions that run, or that died and were not recovered yet. */
  readonly open: ReadonlyArray<string>
  readonly problems: ReadonlyArray<AuditProblem>
}

export class AuditLog extends Context.Service<AuditLog, {
  /** Appends one entry and hands it to the operating system before it returns. Synchronous, about 10 µs. */
  readonly append: (
    record: AuditRecord,
    /** Values that must not appear (≥ 8 characters count), besides what the keys already say. */
    secrets?: ReadonlyArray<Redacted.Redacted<string>>
  ) => Effect.Effect<void, AuditUnavailable>
  /**
   * The newest `limit` (100) entries that match, newest last. What cannot be decoded is left out (`verify` names it),
   * and so are files that this Kiwi did not write.
   */
  readonly read: (filter?: {
    readonly limit?: number
    readonly call?: string
    readonly item?: string
    readonly outcome?: string
  }) => Effect.Effect<ReadonlyArray<AuditEntry>>
  /** Compares every file with the list of heads. Seals what a crashed session left first. */
  readonly verify: Effect.Effect<AuditReport>
  /** Hash and number of the newest line of `audit-heads`, to keep elsewhere: it stands for all sessions up to now. */
  readonly anchor: Effect.Effect<{ readonly head: string; readonly n: number }>
}>()("kiwi/services/audit/AuditLog") {}
