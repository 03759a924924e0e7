// What is verified is what runs: a read-only copy of the canonical bytes under $KIWI_HOME/verified/<sha256>/.
import { Context, type Effect } from "effect"
import type { WriteRefused } from "../workspace/SafeFiles.ts"
import type { Verified } from "./Verifier.ts"

export class VerifiedCopies extends Context.Service<VerifiedCopies, {
  /**
   * The copy's folder and, for a tool with an entrypoint, that file in it (absolute). Made when it is missing, and
   * hashed again whenever its stat differs from the one of the last check; a copy that does not match is made anew.
   */
  readonly materialize: (
    verified: Verified,
    entrypoint: string | undefined
  ) => Effect.Effect<{ readonly folder: string; readonly file: string | undefined }, WriteRefused>
  /** The canonical bytes of a digest that was once verified or signed here; `undefined` if there is no copy. */
  readonly recall: (digest: string, fileName: string) => Effect.Effect<Uint8Array | undefined>
}>()("kiwi/services/integrity/VerifiedCopies") {}
