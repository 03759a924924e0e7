// What is verified is what runs: a read-only copy of the canonical bytes under $KIWI_HOME/verified/<sha256>/.
import { Context, type Effect } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { FolderFile } from "../item/Item.ts"
import type { Verified } from "./Verifier.ts"

export class VerifiedCopies extends Context.Service<VerifiedCopies, {
  /**
   * The copy's folder and, for a tool with an entrypoint, that file in it (absolute). Made when it is missing, and
   * hashed again whenever its stat differs from the one of the last check; a copy that does not match is made anew.
   * `below` names another folder of $KIWI_HOME for it than `verified`, by its path there.
   */
  readonly materialize: (
    verified: Verified,
    entrypoint: string | undefined,
    below?: string
  ) => Effect.Effect<{ readonly folder: string; readonly file: string | undefined }, WriteRefused>
  /** The canonical bytes of a file that was once verified or signed here; `undefined` if there is no such copy. */
  readonly recall: (digest: string, fileName: string) => Effect.Effect<Uint8Array | undefined>
  /** The files of a folder that was once verified or signed here, by the digest of its list; sorted. */
  readonly recallFolder: (digest: string) => Effect.Effect<ReadonlyArray<FolderFile> | undefined>
}>()("kiwi/services/integrity/VerifiedCopies") {}
