// Installed packages, as an installer reports them and a lock stores them, and their comparison.
import { Order, Schema } from "effect"

export const Ecosystem = Schema.Literals(["python", "node"])
export type Ecosystem = typeof Ecosystem.Type

/** Patterns, since warnings and errors quote these fields and anybody may have written a lock. */
const text = (pattern: RegExp, message: string) => Schema.String.check(Schema.isPattern(pattern, { message }))

/** One package as it was installed. */
export const InstalledPackage = Schema.Struct({
  /**
   * Python: normalised (`typing-extensions`). Node: with its scope. A Node package may be installed in two versions.
   */
  name: text(/^(?:@[A-Za-z0-9._~-]{1,100}\/)?[A-Za-z0-9._~-]{1,128}$/, "expected the name of a package"),
  version: text(/^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,127}$/, "expected a version"),
  /**
   * Hash of the artifact from the installer: Python `sha256:<hex>` of the wheel, Node the integrity of the tarball
   * (`sha512-<base64>`). Null if the installer reports none.
   */
  hash: Schema.NullOr(
    text(/^[a-z0-9]{1,16}[:-][A-Za-z0-9+/=]{1,128}(?: [a-z0-9]{1,16}-[A-Za-z0-9+/=]{1,128}){0,2}$/, "expected a digest")
  )
})
export type InstalledPackage = typeof InstalledPackage.Type

/** A complete environment. */
export interface InstalledSet {
  /** SHA-256, in hex, over what it was made for. It is the name of its folder in `$KIWI_HOME/envs`. */
  readonly digest: string
  readonly ecosystem: Ecosystem
  /** Absolute. */
  readonly folder: string
  /** Python: the environment's own interpreter, absolute. */
  readonly interpreter?: string
  /** Every package, including transitive ones, sorted by name and version. */
  readonly packages: ReadonlyArray<InstalledPackage>
}

const keyOf = ({ name, version }: InstalledPackage): string => `${name} ${version}`

const list = (packages: ReadonlyArray<InstalledPackage>): ReadonlyMap<string, InstalledPackage> =>
  new Map(packages.map((one) => [keyOf(one), one]))

/** In the order of an InstalledSet, without duplicates. */
export const sortPackages = (packages: ReadonlyArray<InstalledPackage>): ReadonlyArray<InstalledPackage> =>
  [...list(packages).values()].toSorted(Order.mapInput(Order.String, keyOf))

/** One line for each package that differs from its pin. A hash that either side does not have is not compared. */
export const differencesFrom = (
  pins: ReadonlyArray<InstalledPackage>,
  packages: ReadonlyArray<InstalledPackage>
): ReadonlyArray<string> => {
  const pinned = list(pins)
  const found = list(packages)
  return [
    ...[...pinned].flatMap(([key, pin]) => {
      const one = found.get(key)
      if (one === undefined) return [`${key} is locked but not installed`]
      return pin.hash !== null && one.hash !== null && pin.hash !== one.hash
        ? [`${key} has another hash: ${one.hash}, but ${pin.hash} is locked`]
        : []
    }),
    ...[...found.keys()].filter((key) => !pinned.has(key)).map((key) => `${key} is installed but not locked`)
  ]
}
