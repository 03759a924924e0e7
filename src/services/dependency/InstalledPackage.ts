// What is installed, as an installer tells it and as a lock keeps it.
import { Schema } from "effect"

export const Ecosystem = Schema.Literals(["python", "node"])
export type Ecosystem = typeof Ecosystem.Type

/** One package as it was installed. */
export const InstalledPackage = Schema.Struct({
  /** Python: normalised (`typing-extensions`). Node: with its scope. A Node package may be there in two versions. */
  name: Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(256)),
  version: Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(256)),
  /**
   * Of the artifact, as the installer tells it: Python `sha256:<hex>` of the wheel, Node the integrity of the tarball
   * (`sha512-<base64>`); null where the installer has none.
   */
  hash: Schema.NullOr(Schema.String.check(Schema.isMaxLength(512)))
})
export type InstalledPackage = typeof InstalledPackage.Type

/** An environment that is complete. */
export interface InstalledSet {
  /** sha256 hex over what it was made for: its folder's name in `$KIWI_HOME/envs`. */
  readonly digest: string
  readonly ecosystem: Ecosystem
  /** Absolute. */
  readonly folder: string
  /** Python: the environment's own interpreter, absolute. */
  readonly interpreter?: string
  /** Sorted by name and version; every package, those that others need too. */
  readonly packages: ReadonlyArray<InstalledPackage>
}
