// Where things are kept. `.ai/` of a project holds what people write, and evidence; what Kiwi decides by lives in
// $KIWI_HOME, outside every project, so that no repository can bring a decision with it.
import { Context, Schema } from "effect"

/** A variable that says where Kiwi keeps things names no folder that Kiwi could be sure of. */
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
 * The folders of one process. All absolute, and real as far as they exist; nothing is created here. Folders under
 * `home` are created 0700, files 0600, by whoever first writes there. Whether they may be believed (owner, modes, a
 * link that leads nowhere) is ProjectTrust's to say.
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
