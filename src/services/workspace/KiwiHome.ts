// Where things are kept. `.ai/` of a project holds what people write, and evidence; what Kiwi decides by lives in
// $KIWI_HOME, outside every project, so that no repository can bring a decision with it.
import { Context } from "effect"

/** The folders of one process. All absolute real paths; folders under `home` are created 0700, files 0600. */
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
