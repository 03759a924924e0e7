// Resolves chains from the item store. A parent link is looked up from its child's own tier downwards – project, user,
// system – and never upwards: a cloned project must not become the executor of your own tools or of the system's. Every
// answer lists the folders once and reads each link again, which is cheap if nothing has changed. Only what is computed
// from the links is cached.
import { Effect, Layer, Option, Result } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import {
  type Chain,
  chainIds,
  type ChainLink,
  isDeeperThan,
  makeChain,
  maxConfigDepth
} from "../../services/chain/Chain.ts"
import {
  ChainCycle,
  type ChainError,
  ChainLinkBroken,
  ChainLinkMissing,
  ChainMalformed,
  type ChainQuery,
  ChainResolver,
  ChainTooDeep,
  ChainVersionMismatch,
  type ResolvedChain,
  type ResolveError
} from "../../services/chain/ChainResolver.ts"
import { ItemParser } from "../../services/format/ItemParser.ts"
import { type ItemLocation, type ItemSnapshot, showLocation, type Tool } from "../../services/item/Item.ts"
import {
  type ItemAmbiguous,
  type ItemIdInvalid,
  ItemInvalid,
  type ItemNotFound,
  type ItemUnreadable
} from "../../services/item/ItemErrors.ts"
import type { Tier } from "../../services/item/ItemId.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import type { FoundItem } from "../../services/item/ItemStore.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { isInRange } from "../../services/item/VersionRange.ts"
import { sha256 } from "../identity/sha256.ts"

const maxLinks = 10
/** The limit of cached chains; the oldest is evicted first. */
const maxRemembered = 10_000

/** The number of answers of a batch after which other fibers may run. */
const between = 256

/** How one answer, or one batch of answers, finds and loads items. */
interface ItemAccess {
  readonly find: ItemStore["Service"]["find"]
  readonly load: (location: ItemLocation) => Effect.Effect<ChainLink, ItemInvalid | ItemUnreadable>
}

type Links = [ChainLink, ...Array<ChainLink>]

/** Whether an item that was read again is the same, with the same signature claim. */
const isSame = (a: ItemSnapshot, b: ItemSnapshot) =>
  a === b ||
  (a.digest === b.digest && a.location.file === b.location.file && a.executable === b.executable &&
    JSON.stringify(a.claim) === JSON.stringify(b.claim))

/** What is wrong with a link, by itself or as the end of the links before it. Undefined if nothing is. */
const defectOf = (links: Links, link: ChainLink): string | undefined => {
  const { config, executorId, location, toolType } = link.tool
  if (isDeeperThan(config, maxConfigDepth)) return `its config is nested more than ${maxConfigDepth} levels deep`
  if (toolType !== "primitive") {
    return executorId === undefined ? "it is not a primitive and names no executor (executor_id)" : undefined
  }
  if (executorId !== undefined) return "a primitive names no executor"
  if (location.tier !== "system") return `a primitive of the ${location.tier} tier is not used`
  if (location.id !== "builtin") return undefined
  const foreign = links.filter((l) => l.tool.location.tier !== "system")
  const naming = foreign.find(({ tool }) => Object.hasOwn(tool.config, "handler"))
  if (naming !== undefined) {
    return `only system items may name a builtin, and ${showLocation(naming.tool.location)} is not one`
  }
  // A system runtime declares in child_schemas which tools its handler runs.
  const runtime = links.at(-2)?.tool
  return foreign[0] === undefined || (runtime?.toolType === "runtime" && runtime.location.tier === "system")
    ? undefined
    : `only system items may run on builtin, and ${showLocation(foreign[0].tool.location)} is none`
}

export const make = Effect.gen(function*() {
  const store = yield* ItemStore
  const parser = yield* ItemParser
  const remembered = new BoundedMap<string, ResolvedChain>(maxRemembered)

  const load = Effect.fnUntracedEager(function*(location: ItemLocation) {
    const snapshot = yield* store.read(location)
    const tool = yield* parser.parse(snapshot)
    // The tier decides here. So the location is the one that was read, not one that a parser may have cached for its
    // bytes.
    if (tool._tag === "tool") {
      return { snapshot, tool: tool.location === location ? tool : { ...tool, location: snapshot.location } }
    }
    return yield* new ItemInvalid({
      item: showLocation(location),
      line: 0,
      column: 0,
      issue: `it is a ${tool._tag}, and only tools can be in a chain`,
      found: "",
      hint: "Move the file into the tools folder, or name another item"
    })
  })

  /** Loads each item once, however many chains contain it. */
  const loadOnce = (): ItemAccess["load"] => {
    const loaded = new Map<string, Effect.Effect<ChainLink, ItemInvalid | ItemUnreadable>>()
    return (location) =>
      loaded.get(location.file) ?? Effect.onExit(load(location), (exit) =>
        Effect.sync(() => {
          loaded.set(location.file, exit)
        }))
  }

  const findIn = (items: ItemAccess, id: string, tier: Tier) =>
    items.find({ id, type: "tool", tier }).pipe(
      Effect.mapEager((found) => Option.some(found.location)),
      Effect.catchEager((error) => error._tag === "ItemNotFound" ? Effect.succeedNone : Effect.fail(error))
    )

  /** Finds a child's executor. Fails with similar names if there is none. */
  const findParent = Effect.fnUntracedEager(function*(items: ItemAccess, id: string, childTier: Tier) {
    if (childTier === "project") return yield* Effect.mapEager(items.find({ id, type: "tool" }), (f) => f.location)
    const system = yield* findIn(items, id, "system")
    if (childTier === "user") {
      // A protected system item takes precedence over the user's, as in every lookup.
      const isProtected = Option.isSome(system) && !(yield* items.load(system.value)).tool.overridable
      const user = isProtected ? Option.none() : yield* findIn(items, id, "user")
      if (Option.isSome(user)) return user.value
    }
    if (Option.isSome(system)) return system.value
    return yield* Effect.mapEager(items.find({ id, type: "tool", tier: "system" }), (f) => f.location)
  })

  const parentOf = Effect.fnUntracedEager(function*(items: ItemAccess, links: Links, child: ChainLink, id: string) {
    const of = child.tool.location
    const broken =
      (link: string, at: ItemLocation) => (e: ItemAmbiguous | ItemIdInvalid | ItemInvalid | ItemUnreadable) =>
        new ChainLinkBroken({
          chain: chainIds(links),
          link,
          configPath: showLocation(at),
          detail: e.message,
          hint: e.remediation,
          cause: e
        })
    const location = yield* findParent(items, id, of.tier).pipe(
      Effect.mapErrorEager((e: ItemNotFound | ItemAmbiguous | ItemIdInvalid | ItemInvalid | ItemUnreadable) =>
        e._tag === "ItemNotFound"
          ? new ChainLinkMissing({ chain: chainIds(links), missing: id, near: e.near, configPath: showLocation(of) })
          : broken(of.id, of)(e)
      )
    )
    const further = () => ({ chain: [...chainIds(links), id], configPath: showLocation(of) })
    if (links.some((l) => l.tool.location.file === location.file)) return yield* new ChainCycle(further())
    if (links.length === maxLinks) return yield* new ChainTooDeep(further())
    return yield* Effect.mapErrorEager(items.load(location), broken(id, location))
  })

  /** Appends the executors of a leaf to `links`. Links found before a failure stay in it. */
  const appendExecutors = Effect.fnUntracedEager(
    function*(items: ItemAccess, links: Links): Effect.fn.Return<void, ChainError> {
      let link = links[0]
      while (true) {
        const issue = defectOf(links, link)
        if (issue !== undefined) {
          return yield* new ChainMalformed({
            chain: chainIds(links),
            link: link.tool.location.id,
            configPath: showLocation(link.tool.location),
            issue
          })
        }
        const { executorId, executorRange, location }: Tool = link.tool
        if (executorId === undefined) return
        const parent: ChainLink = yield* parentOf(items, links, link, executorId)
        links.push(parent)
        if (executorRange !== undefined && !isInRange(parent.tool.version, executorRange)) {
          return yield* new ChainVersionMismatch({
            chain: chainIds(links),
            link: location.id,
            configPath: showLocation(location),
            executor: executorId,
            range: executorRange,
            found: showLocation(parent.tool.location),
            version: parent.tool.version
          })
        }
        link = parent
      }
    }
  )

  const remember = (key: string, answer: ResolvedChain) => {
    remembered.set(key, answer)
    return answer
  }

  const answer = Effect.fnUntracedEager(function*(items: ItemAccess, query: ChainQuery, given?: FoundItem) {
    const found = given !== undefined && isNamed(given, query) ? given : yield* items.find({ ...query, type: "tool" })
    const links: Links = [yield* items.load(found.location)]
    yield* appendExecutors(items, links)
    const key = found.location.file
    const before = remembered.get(key)
    if (before !== undefined && isUnchanged(before.chain, links)) {
      return sameFiles(before.hides, found.hides)
        ? before
        : remember(key, { chain: before.chain, hides: found.hides })
    }
    return remember(key, { chain: makeChain(links, sha256), hides: found.hides })
  })

  return ChainResolver.of({
    resolve: Effect.fnUntraced(function*(query, found) {
      return yield* answer({ find: (yield* store.atOnce).find, load }, query, found)
    }),
    partial: Effect.fnUntraced(function*(query) {
      const items: ItemAccess = { find: (yield* store.atOnce).find, load }
      const found = yield* items.find({ ...query, type: "tool" })
      const links: Links = [yield* load(found.location)]
      const walked = yield* Effect.result(appendExecutors(items, links))
      return { links, hides: found.hides, stopped: Result.isFailure(walked) ? walked.failure : undefined }
    }),
    resolveBatch: Effect.fnUntraced(function*(queries) {
      const items: ItemAccess = { find: (yield* store.atOnce).find, load: loadOnce() }
      const answers = new Map<string, Result.Result<ResolvedChain, ResolveError>>()
      const all: Array<Result.Result<ResolvedChain, ResolveError>> = []
      for (const [index, query] of queries.entries()) {
        const key = `${query.tier ?? ""}:${query.id}`
        const found = answers.get(key) ?? (yield* Effect.result(answer(items, query)))
        answers.set(key, found)
        all.push(found)
        if (index % between === between - 1) yield* Effect.yieldNow
      }
      return all
    })
  })
})

const isNamed = ({ location }: FoundItem, { id, tier }: ChainQuery): boolean =>
  location.type === "tool" && (id === location.id || id === qualifiedId(location)) &&
  (tier === undefined || tier === location.tier)

const isUnchanged = (chain: Chain, links: Links) =>
  chain.links.length === links.length &&
  chain.links.every((l, i) => {
    const now = links[i]
    return now !== undefined && isSame(l.snapshot, now.snapshot)
  })

const sameFiles = (a: ReadonlyArray<ItemLocation>, b: ReadonlyArray<ItemLocation>) =>
  a.length === b.length && a.every((l, i) => l.file === b[i]?.file)

export const layer = Layer.effect(ChainResolver, make)
