// Where things are stored. A project's `.ai/` has what people write, and the audit. What Kiwi's decisions depend on is
// in $KIWI_HOME, outside every project, so that a repository cannot contain a decision.
import { Context, Schema } from "effect"

/** A variable for one of Kiwi's folders does not name a folder that Kiwi can use safely. */
export class HomeRefused extends Schema.TaggedError<HomeRefused>()("HomeRefused", {
  variable: Schema.Literals(["HOME", "KIWI_HOME", "USER_SPACE"]),
  issue: Schema.String
}) {
  override get message() {
    return `${this.variable} ${this.issue}`
  }
  get remediation() {
    return this.variable === "HOME"
      ? "Set HOME to the absolute path of your home folder"
      : `Set ${this.variable} to an absolute path or to one below your home folder (~/some/folder), or leave it out`
  }
}

/**
 * The folders of one process. All are absolute, and real paths as far as they exist; nothing is created here. Folders
 * under `home` are created with mode 0700 and files with 0600, by the first writer. ProjectTrust checks whether they
 * are safe to use (owner, modes, broken links).
 */
export class KiwiHome extends Context.Service<KiwiHome, {
  /** `$KIWI_HOME`, default `~/.kiwi`. */
  readonly home: string
  /** The user tier: `$USER_SPACE`, default `~/.ai`. May not exist. */
  readonly userSpace: string
  /** The system tier: the package's own `.ai`. */
  readonly systemSpace: string
  /** `$KIWI_HOME/verified`: read-only copies of verified items, by digest. */
  readonly verified: string
  /** The person's home folder, for messages and interpreters. */
  readonly userHome: string
}>()("kiwi/services/workspace/KiwiHome") {}
