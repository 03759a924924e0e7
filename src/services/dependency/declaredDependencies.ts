// What a chain declares, from the bytes that were verified: DEPENDENCIES, a PEP 723 block, or a package.json. One
// environment serves a chain, since one interpreter runs it: links add to it, leaf first, in one ecosystem.
import type { Ecosystem } from "./InstalledPackage.ts"

/** The requirements of a chain. */
export interface Declared {
  readonly ecosystem: Ecosystem
  /** Links that declare something, leaf first. */
  readonly links: ReadonlyArray<string>
  /** As they are written, without repeats, leaf first: `requests>=2`, `left-pad@^1`. */
  readonly requirements: ReadonlyArray<string>
  /** `requires-python` of each link that has one. */
  readonly requiresPython: ReadonlyArray<string>
  /** Text of the leaf's package-lock.json, where it has one. */
  readonly packageLock: string | undefined
  /** `overrides` of its package.json, as JSON. */
  readonly overrides: string | undefined
}
