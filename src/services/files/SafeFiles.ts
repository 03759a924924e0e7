// Reads and writes files without following links, leaving partial files or leaking content: no symlink in the root or
// in any component below it, atomic replacement, private modes.
import { Context, type Effect, type Result, Schema } from "effect"
import { isKiwiError, Underlying } from "../error/KiwiError.ts"

/** A write that was refused or failed. `path` is relative to the root it was asked for. */
export class WriteRefused extends Schema.TaggedError<WriteRefused>()("WriteRefused", {
  path: Schema.String,
  issue: Schema.Literals(["symlink", "outside", "read-only", "no-space", "exists", "not-a-directory", "changed", "io"]),
  detail: Schema.String,
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    return `Could not write ${this.path}: ${this.detail}`
  }
  get remediation(): string {
    switch (this.issue) {
      case "symlink":
      case "outside":
        return `Kiwi does not write through links: remove the link in ${this.path} and try again`
      case "read-only":
        return `Make ${this.path} writable for you, or choose another folder`
      case "no-space":
        return "Free some disk space and try again"
      case "exists":
        return `Move ${this.path} away first`
      case "changed":
        return `Read ${this.path} again, and repeat the change on what it has now`
      case "not-a-directory":
      case "io":
        return isKiwiError(this.cause) && this.cause.remediation !== undefined
          ? this.cause.remediation
          : `Check ${this.path} and the disk that it is on; \`kiwi doctor\` checks the usual causes`
    }
  }
  get retryable() {
    return isKiwiError(this.cause) && this.cause.retryable === true
  }
}

/** A read that was refused or failed. `path` is relative to the root it was asked for. */
export class ReadRefused extends Schema.TaggedError<ReadRefused>()("ReadRefused", {
  path: Schema.String,
  issue: Schema.Literals(["symlink", "outside", "too-large", "not-a-file", "foreign", "permission", "io"]),
  detail: Schema.String
}) {
  override get message() {
    return `Could not read ${this.path}: ${this.detail}`
  }
  get remediation(): string {
    switch (this.issue) {
      case "symlink":
      case "outside":
        return `Kiwi does not read this through links: put the file itself at ${this.path}`
      case "too-large":
        return `Make ${this.path} smaller`
      case "foreign":
        return `If you did not write ${this.path}, delete it; else make it yours alone (chown, chmod go-w)`
      case "permission":
        return `Make ${this.path} readable for you (chmod u+r)`
      case "not-a-file":
      case "io":
        return `Check ${this.path} and the disk that it is on; \`kiwi doctor\` checks the usual causes`
    }
  }
}

export interface ReadOptions {
  readonly maxBytes: number
  /** Refuse as `foreign` a file that another user owns or can write. For files that Kiwi's decisions depend on. */
  readonly own?: boolean
}

/** What the system knows of a file, a folder or a link itself. */
export interface FileStat {
  readonly kind: "file" | "folder" | "link" | "other"
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly modified: number
  /** Permission bits. */
  readonly mode: number
  /** Number of names that the file has: hard links. */
  readonly names: number
  /** Differs once the file was replaced or written. */
  readonly version: string
}

/** Where a path leads. */
export interface RealPath {
  /** With `/` between names: relative to the root if it is inside ("." for the root), otherwise absolute. */
  readonly path: string
  /** Undefined if there is nothing yet: `path` is then the real path of an existing folder, and names below it. */
  readonly stat: FileStat | undefined
}

export interface FileRange {
  readonly bytes: Uint8Array
  /** Of the open file. */
  readonly stat: FileStat
}

export interface FolderEntry {
  readonly name: string
  readonly kind: FileStat["kind"]
}

/** A file by its path below a root, and its new content. */
export interface FileWrite {
  readonly path: string
  readonly data: Uint8Array | string
}

export class SafeFiles extends Context.Service<SafeFiles, {
  /**
   * Replaces `root/path` atomically (temporary file beside it, fsync, rename) and creates missing folders. Fails if
   * `root` or any component below it is a symlink, or if the path leaves the root. Without `mode`, an existing file
   * keeps its mode; a new one gets 0600 below `$KIWI_HOME`, else 0644. Executable bits are always kept. `exclusive`
   * fails as `exists` if the file exists; of several concurrent ones exactly one succeeds. `version`: fails as
   * `changed` unless the file still has it.
   */
  readonly write: (
    root: string,
    path: string,
    data: Uint8Array | string,
    options?: { readonly mode?: number; readonly exclusive?: boolean; readonly version?: string }
  ) => Effect.Effect<void, WriteRefused>
  /**
   * As `write`, for many files: one answer for each, in their order; a failure of one does not stop the others. Each
   * file is replaced atomically. The disk is flushed once for each folder and some dozen files.
   */
  readonly writeAll: (
    root: string,
    writes: ReadonlyArray<FileWrite>,
    options?: { readonly mode?: number }
  ) => Effect.Effect<ReadonlyArray<Result.Result<void, WriteRefused>>>
  /** Creates `root/path` and its parents as folders, with the same rules. */
  readonly makeDirectory: (
    root: string,
    path: string,
    options?: { readonly mode?: number }
  ) => Effect.Effect<void, WriteRefused>
  /** Removes a file, a link (never its target) or a folder with everything in it. A missing path is fine. */
  readonly remove: (root: string, path: string) => Effect.Effect<void, WriteRefused>
  /** Removes an empty folder and returns whether the folder no longer exists. Never removes content. */
  readonly removeEmpty: (root: string, path: string) => Effect.Effect<boolean, WriteRefused>
  /** The bytes of a regular file, by the same rules. Undefined if it does not exist. Never blocks on a pipe. */
  readonly read: (
    root: string,
    path: string,
    options: ReadOptions
  ) => Effect.Effect<Uint8Array | undefined, ReadRefused>
  /**
   * Where a path leads by the system's own rules: links are followed, and `..` after a link is the parent of its
   * target. `path` is absolute or relative to `root`. `last: "kept"`: if the last name is a link, the link itself. A
   * link to nothing is refused.
   */
  readonly realPath: (
    root: string,
    path: string,
    options?: { readonly last?: "followed" | "kept" }
  ) => Effect.Effect<RealPath, ReadRefused>
  /** Part of a regular file, by the rules of `read`. Files of the system's own, as in /proc, are refused. */
  readonly readRange: (
    root: string,
    path: string,
    range: { readonly offset: number; readonly length: number }
  ) => Effect.Effect<FileRange | undefined, ReadRefused>
  /** By the rules of `read`. A link is described itself. "." is the root. */
  readonly stat: (root: string, path: string) => Effect.Effect<FileStat | undefined, ReadRefused>
  /** A folder's entries, at most `limit`, in the order of their names. "." is the root. */
  readonly list: (
    root: string,
    path: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<FolderEntry> | undefined, ReadRefused>
  /**
   * Renames a file, a link or a folder, and creates missing folders. Fails as `exists` if `to` exists, unless
   * `replace` is set and both are files.
   */
  readonly move: (
    root: string,
    from: string,
    to: string,
    options?: { readonly replace?: boolean }
  ) => Effect.Effect<void, WriteRefused>
}>()("kiwi/services/files/SafeFiles") {}
