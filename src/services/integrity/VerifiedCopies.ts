// Read-only copies of the canonical bytes under $KIWI_HOME/verified/<sha256>/, so that exactly what was verified runs.
import { Context, type Effect } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { FolderFile } from "../item/Item.ts"
import type { Verified } from "./Verifier.ts"

export class VerifiedCopies extends Context.Service<VerifiedCopies, {
  /**
   * The copy's folder and, for a tool with an entrypoint, the absolute path of that file in it. A missing copy is made.
   * A copy is hashed again whenever its stat differs from the last check; a copy that does not match is replaced.
   * `below`: another folder of $KIWI_HOME than `verified`, by its relative path.
   */
  readonly materialize: (
    verified: Verified,
    entrypoint: string | undefined,
    below?: string
  ) => Effect.Effect<{ readonly folder: string; readonly file: string | undefined }, WriteRefused>
  /** The canonical bytes of a file that was verified or signed here before. Undefined if there is no such copy. */
  readonly recall: (digest: string, fileName: string) => Effect.Effect<Uint8Array | undefined>
  /** The files of a folder that was verified or signed here before, by the digest of its list; sorted. */
  readonly recallFolder: (digest: string) => Effect.Effect<ReadonlyArray<FolderFile> | undefined>
}>()("kiwi/services/integrity/VerifiedCopies") {}
