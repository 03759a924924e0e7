// Whether what an installer would bring, or has brought, is what a lock names.
import type { InstalledPackage } from "./InstalledPackage.ts"

const keyOf = ({ name, version }: InstalledPackage): string => `${name} ${version}`

const list = (packages: ReadonlyArray<InstalledPackage>): ReadonlyMap<string, InstalledPackage> =>
  new Map(packages.map((one) => [keyOf(one), one]))

/** Sorted as an InstalledSet has them. Without repeats. */
export const sortPackages = (packages: ReadonlyArray<InstalledPackage>): ReadonlyArray<InstalledPackage> =>
  [...list(packages).values()].toSorted((a, b) => keyOf(a) < keyOf(b) ? -1 : 1)

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
