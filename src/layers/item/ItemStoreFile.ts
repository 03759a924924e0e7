// Items on disk. Listings are cached and checked against the folders' times on every call; snapshots are cached by the
// identity of the file that was read.
import { Clock, Effect, Layer, Option, Result } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { Extractors } from "../../services/format/Extractors.ts"
import { showLocation, typeFolder } from "../../services/item/Item.ts"
import type { ItemLocation, ItemSnapshot } from "../../services/item/Item.ts"
import { ItemUnreadable } from "../../services/item/ItemErrors.ts"
import { ItemType, tiers } from "../../services/item/ItemId.ts"
import type { Tier } from "../../services/item/ItemId.ts"
import type { Entry } from "../../services/item/ItemSources.ts"
import { namedSources } from "../../services/item/ItemSources.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { isSettled } from "../files/believe.ts"
import * as Catalog from "./makeCatalog.ts"
import * as MakeItemStore from "./makeItemStore.ts"
import { currentIdentity, readItem } from "./readItem.ts"
import { watchTiers } from "./watchTiers.ts"

/** The limit of all cached snapshots, in bytes. */
const maxCached = 64 * 1024 * 1024

interface CachedSnapshot {
  readonly snapshot: ItemSnapshot
  readonly identity: string
}

const sizeOf = ({ snapshot }: CachedSnapshot): number =>
  snapshot.files.reduce((sum, f) => sum + f.bytes.length + 256, snapshot.bytes.length + 1024)

/** The real root of a tier. The project's must be inside the project; the user's may be a link. */
const findRoot = (tier: Tier, root: string, inside: string | undefined) => (): Catalog.FoundRoot => {
  const real = Catalog.realPathOf(root)
  if (real === undefined || Catalog.statOf(real)?.isDirectory() !== true) return Result.succeed(undefined)
  return inside === undefined || real.startsWith(`${inside}/`) ? Result.succeed(real) : Result.fail(
    new ItemUnreadable({
      item: `${tier}:`,
      issue: "escapes",
      detail: "the tier's folder is a link out of the project"
    })
  )
}

/** A link must lead to a regular file below the same type folder. */
const resolveLink = (location: ItemLocation): Result.Result<ItemLocation, ItemUnreadable> => {
  const item = showLocation(location)
  const real = Catalog.realPathOf(location.file)
  if (real === undefined) {
    return Result.fail(new ItemUnreadable({ item, issue: "vanished", detail: "it is a broken link" }))
  }
  if (!real.startsWith(`${location.root}/${typeFolder[location.type]}/`)) {
    return Result.fail(
      new ItemUnreadable({
        item,
        issue: "escapes",
        detail: `it is a link out of ${location.tier}:${typeFolder[location.type]}`
      })
    )
  }
  if (Catalog.statOf(real)?.isFile() !== true) {
    return Result.fail(
      new ItemUnreadable({ item, issue: "not-a-file", detail: "it is a link, but not to a file" })
    )
  }
  return Result.succeed({ ...location, file: real })
}

/** Makes a resolver, whose answer for a linked entry is the same object as long as the link leads to the same file. */
const makeResolve = (): MakeItemStore.Backend["resolve"] => {
  const linked = new WeakMap<Entry, ItemLocation>()
  return (entry) => {
    const { kind, location } = entry
    if (kind === "plain") return Result.succeed(location)
    if (kind === "link") {
      return Result.map(resolveLink(location), (found) => {
        const known = linked.get(entry)
        if (known?.file === found.file) return known
        linked.set(entry, found)
        return found
      })
    }
    return Result.fail(
      new ItemUnreadable({ item: showLocation(location), issue: "not-a-file", detail: "it is not a regular file" })
    )
  }
}

export const make = Effect.gen(function*() {
  const home = yield* KiwiHome
  const workspace = yield* Workspace
  const extractors = yield* Extractors
  const project = Option.getOrUndefined(workspace.project)

  const roots: Record<Tier, () => Catalog.FoundRoot> = {
    project: project === undefined ? () => Result.succeed(undefined) : findRoot("project", project.ai, project.root),
    user: findRoot("user", home.userSpace, undefined),
    system: findRoot("system", home.systemSpace, undefined)
  }
  const catalogs = new Map(
    tiers.flatMap((tier) =>
      ItemType.literals.map((type) =>
        [`${tier}:${type}`, Catalog.make({ tier, type, root: roots[tier], fixed: tier === "system" })] as const
      )
    )
  )

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const catalog of catalogs.values()) catalog.close()
    })
  )

  const listing = Effect.fnUntracedEager(function*(tier: Tier, type: ItemType, root?: Catalog.FoundRoot) {
    const further = tier === "system" || type === "directive"
      ? []
      : Array.from((yield* extractors.of(type, tier)).keys())
    return yield* catalogs.get(`${tier}:${type}`)!.listing(further, root)
  })

  const cache = new BoundedMap<string, CachedSnapshot>(maxCached, sizeOf)

  /** The system tier does not change during the process: what was read once is what its manifest was checked against. */
  const ofSystem = new WeakMap<ItemLocation, ItemSnapshot>()

  const readChecked = Effect.fnUntracedEager(function*(location: ItemLocation) {
    const key = `${location.type}:${location.file}:${location.path}`
    const known = cache.get(key)
    if (known !== undefined && (location.tier === "system" || currentIdentity(location) === known.identity)) {
      if (location.tier === "system") ofSystem.set(location, known.snapshot)
      return known.snapshot
    }
    cache.delete(key)
    const found = yield* Effect.fromResult(readItem(location))
    const now = yield* Clock.currentTimeMillis
    if (isSettled(found.changed, now)) cache.set(key, { snapshot: found.snapshot, identity: found.identity })
    return found.snapshot
  })

  const read: ItemStore["Service"]["read"] = (location) => {
    const known = ofSystem.get(location)
    return known === undefined ? readChecked(location) : Effect.succeed(known)
  }

  const { changedSince, changes } = watchTiers(
    (["project", "user"] as const).map((tier) => ({
      tier,
      root: () => Result.getOrUndefined(roots[tier]())
    }))
  )

  const store = MakeItemStore.make({
    listing: (tier, type) => listing(tier, type),
    listings: (tier) =>
      Effect.suspend(() => {
        const root = roots[tier]()
        return Effect.forEach(ItemType.literals, (type) => listing(tier, type, root))
      }),
    resolve: makeResolve(),
    read,
    rootOf: (tier) =>
      tier === "project"
        ? Option.map(workspace.project, (p) => p.ai)
        : Option.some(tier === "user" ? home.userSpace : home.systemSpace),
    changes,
    changedSince
  }, yield* namedSources)
  return ItemStore.of({
    ...store,
    problems: Effect.zipWith(store.problems, extractors.problems, (items, rules) => [...items, ...rules])
  })
})

export const layer = Layer.effect(ItemStore, make)
