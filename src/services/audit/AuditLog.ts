// The project's audit: append-only files of hash-chained entries, one file for each session. Together they form one
// tree.
import { Context, type Effect, type Redacted, Schema, type Stream } from "effect"
import { isKiwiError, Underlying } from "../error/KiwiError.ts"
import type { AuditAnchor } from "./AuditAnchor.ts"
import type { AuditEntry, AuditRecord } from "./AuditEntry.ts"
import type { EntryFilter } from "./EntryFilter.ts"

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
  /** 0 for the whole file. */
  readonly line: number
  /** Number of the entry or head, if it is known. */
  readonly entry?: number
  readonly problem:
    | "changed"
    | "removed"
    | "inserted"
    | "reordered"
    | "missing-file"
    | "cut-tail"
    | "unreadable"
    /** A head without a signature: no key could be used, or somebody else wrote it. */
    | "unsigned"
    /** A head signed by a key that is not this installation's. */
    | "foreign-key"
    /** A head whose signature is not its own. */
    | "wrong-signature"
  readonly detail: string
}

export interface AuditReport {
  readonly files: number
  readonly entries: number
  /** Files without a `sealed` entry: their sessions are running, or died and are not recovered yet. */
  readonly open: ReadonlyArray<string>
  /** How many files their own session sealed. */
  readonly sealed: number
  /** How many files were sealed by another session, because theirs had died. */
  readonly recovered: number
  /** How many files were removed because they were older than `audit.keep`. Only their heads remain. */
  readonly expired: number
  /** Ids of the keys that signed the heads, in order of first use. */
  readonly keys: ReadonlyArray<string>
  readonly problems: ReadonlyArray<AuditProblem>
}

export interface StoredEntry {
  readonly entry: AuditEntry
  /** The entry's line as it is in the file, without its end: its SHA-256 is the `prev` of the next line. */
  readonly line: string
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
  readonly read: (filter?: EntryFilter & { readonly limit?: number }) => Effect.Effect<ReadonlyArray<AuditEntry>>
  /** All entries that match, one session after the other, the oldest session first. Needs little memory. */
  readonly stream: (filter?: EntryFilter) => Stream.Stream<StoredEntry>
  /** The newest `limit` (0) entries that match, then those that any session appends from now on. Never ends. */
  readonly follow: (filter?: EntryFilter & { readonly limit?: number }) => Stream.Stream<StoredEntry>
  /** Seals what a crashed session left, then compares every file with the list of heads. */
  readonly verify: Effect.Effect<AuditReport>
  /** As `verify`. It also compares the list of heads with an anchor that was kept elsewhere. */
  readonly verifyAgainst: (anchor: AuditAnchor) => Effect.Effect<AuditReport>
  /** Hash and number of the newest line of `audit-heads`, to keep elsewhere: they cover all sessions so far. */
  readonly anchor: Effect.Effect<AuditAnchor>
  /**
   * Removes sealed files that are older than `audit.keep` and whose every line is verified. Returns which. A session does
   * this by itself a minute after it has begun a file.
   */
  readonly prune: Effect.Effect<ReadonlyArray<string>, AuditUnavailable>
}>()("kiwi/services/audit/AuditLog") {}
