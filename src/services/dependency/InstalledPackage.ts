// What is installed, as an installer tells it and as a lock keeps it, and whether the two are one.
import { Order, Schema } from "effect"

export const Ecosystem = Schema.Literals(["python", "node"])
export type Ecosystem = typeof Ecosystem.Type

/** Quoted in warnings and errors, and a lock may have been written by anybody. */
const text = (pattern: RegExp, message: string) => Schema.String.check(Schema.isPattern(pattern, { message }))

/** One package as it was installed. */
export const InstalledPackage = Schema.Struct({
  /** Python: normalised (`typing-extensions`). Node: with its scope. A Node package may be there in two versions. */
  name: text(/^(?:@[A-Za-z0-9._~-]{1,100}\/)?[A-Za-z0-9._~-]{1,128}$/, "expected the name of a package"),
  version: text(/^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,127}$/, "expected a version"),
  /**
   * Of the artifact, as the installer tells it: Python `sha256:<hex>` of the wheel, Node the integrity of the tarball
   * (`sha512-<base64>`); null where the installer has none.
   */
  hash: Schema.NullOr(
    text(/^[a-z0-9]{1,16}[:-][A-Za-z0-9+/=]{1,128}(?: [a-z0-9]{1,16}-[A-Za-z0-9+/=]{1,128}){0,2}$/, "expected a digest")
  )
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

const keyOf = ({ name, version }: InstalledPackage): string => `${name} ${version}`

const list = (packages: ReadonlyArray<InstalledPackage>): ReadonlyMap<string, InstalledPackage> =>
  new Map(packages.map((one) => [keyOf(one), one]))

/** Sorted as an InstalledSet has them. Without repeats. */
export const sortPackages = (packages: ReadonlyArray<InstalledPackage>): ReadonlyArray<InstalledPackage> =>
  [...list(packages).values()].toSorted(Order.mapInput(Order.String, keyOf))

/** One line for each package that is not as it is pinned; a hash that either side does not know says nothing. */
export const differencesFrom = (
  pins: ReadonlyArray<InstalledPackage>,
  packages: ReadonlyArray<InstalledPackage>
): ReadonlyArray<string> => {
  const pinned = list(pins)
  const found = list(packages)
  return [
    ...[...pinned].flatMap(([key, pin]) => {
      const one = found.get(key)
      if (one === undefined) return [`${key} is locked and not there`]
      return pin.hash !== null && one.hash !== null && pin.hash !== one.hash
        ? [`${key} has another hash: ${one.hash}, and ${pin.hash} is locked`]
        : []
    }),
    ...[...found.keys()].filter((key) => !pinned.has(key)).map((key) => `${key} is there and not locked`)
  ]
}
