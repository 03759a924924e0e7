// Writing to disk so that nothing is torn, followed or leaked: no symlink in any component below the root that the
// caller owns, atomic replacement, private modes.
import { Context, type Effect, Schema } from "effect"

/** A write that was refused or failed. `path` is relative to the root it was asked for. */
export class WriteRefused extends Schema.TaggedError<WriteRefused>()("WriteRefused", {
  path: Schema.String,
  issue: Schema.Literals(["symlink", "outside", "read-only", "no-space", "exists", "not-a-directory", "io"]),
  detail: Schema.String
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
      case "not-a-directory":
      case "io":
        return `Check ${this.path} and the disk that it is on; \`kiwi doctor\` looks at the usual causes`
    }
  }
}

export class SafeFiles extends Context.Service<SafeFiles, {
  /**
   * Replaces `root/path` atomically (temporary file beside it, fsync, rename), creating folders on the way. Fails if
   * any component below `root` is a symlink or leaves it. `mode` defaults to 0600 below `$KIWI_HOME`, else 0644;
   * an existing file's executable bits are kept.
   */
  readonly write: (
    root: string,
    path: string,
    data: Uint8Array | string,
    options?: { readonly mode?: number; readonly exclusive?: boolean }
  ) => Effect.Effect<void, WriteRefused>
  /** Creates `root/path` and its parents as folders, with the same rules. */
  readonly makeDirectory: (
    root: string,
    path: string,
    options?: { readonly mode?: number }
  ) => Effect.Effect<void, WriteRefused>
  readonly remove: (root: string, path: string) => Effect.Effect<void, WriteRefused>
}>()("kiwi/services/workspace/SafeFiles") {}
