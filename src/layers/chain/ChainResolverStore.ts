// Chains from the item store. A parent link is looked up from its child's own tier downwards – project, user, system –
// and never upwards: a cloned project must not become the executor of your own or the system's tools. Every answer
// looks at the folders once and at each link again, which is cheap when nothing has changed; only what is computed from
// the links is remembered.
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
/** Chains that are remembered at once. */
const maxRemembered = 10_000

/** Answers of a batch between two chances for other fibers. */
const between = 256

/** What one answer, or one batch of them, sees of the tiers. */
interface Look {
  readonly find: ItemStore["Service"]["find"]
  readonly load: (location: ItemLocation) => Effect.Effect<ChainLink, ItemInvalid | ItemUnreadable>
}

type Links = [ChainLink, ...Array<ChainLink>]

/** Read again, is this still the same item, with the same claim to be signed? */
const isSame = (a: ItemSnapshot, b: ItemSnapshot) =>
  a === b ||
  (a.digest === b.digest && a.location.file === b.location.file && a.executable === b.executable &&
    JSON.stringify(a.claim) === JSON.stringify(b.claim))

/** What is wrong with a link in itself and as the end of the links before it. */
const defectOf = (links: Links, link: ChainLink): string | undefined => {
  const { config, executorId, location, toolType } = link.tool
  if (isDeeperThan(config, maxConfigDepth)) return `its config is nested more than ${maxConfigDepth} levels deep`
  if (toolType !== "primitive") {
    return executorId === undefined ? "it is no primitive and names no executor (executor_id)" : undefined
  }
  if (executorId !== undefined) return "a primitive names no executor"
  if (location.tier !== "system") return `a primitive of the ${location.tier} tier counts for nothing`
  if (location.id !== "builtin") return undefined
  const foreign = links.filter((l) => l.tool.location.tier !== "system")
  const naming = foreign.find(({ tool }) => Object.hasOwn(tool.config, "handler"))
  if (naming !== undefined) {
    return `only system items may name a builtin, and ${showLocation(naming.tool.location)} is none`
  }
  // A runtime of the system says by its child_schemas which tools its handler runs.
  const runtime = links.at(-2)?.tool
  return foreign[0] === undefined || (runtime?.toolType === "runtime" && runtime.location.tier === "system")
    ? undefined
    : `only system items may run on builtin, and ${showLocation(foreign[0].tool.location)} is none`
}

export const make = Effect.gen(function*() {
  const store = yield* ItemStore
  const parser = yield* ItemParser
  const remembered = new BoundedMap<string, ResolvedChain>(maxRemembered)

  const load = Effect.fnUntraced(function*(location: ItemLocation) {
    const snapshot = yield* store.read(location)
    const tool = yield* parser.parse(snapshot)
    // Tiers decide here, so the place is the one that was read, not one that a parser may have remembered for its bytes.
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

  /** Each item is read once, however many chains it is in. */
  const loadOnce = (): Look["load"] => {
    const loaded = new Map<string, Effect.Effect<ChainLink, ItemInvalid | ItemUnreadable>>()
    return (location) =>
      loaded.get(location.file) ?? Effect.onExit(load(location), (exit) =>
        Effect.sync(() => {
          loaded.set(location.file, exit)
        }))
  }

  const findIn = (look: Look, id: string, tier: Tier) =>
    look.find({ id, type: "tool", tier }).pipe(
      Effect.map((found) => Option.some(found.location)),
      Effect.catchTag("ItemNotFound", () => Effect.succeedNone)
    )

  /** The parent link of a child, or the error that says that there is none, with near names. */
  const findParent = Effect.fnUntraced(function*(look: Look, id: string, childTier: Tier) {
    if (childTier === "project") return yield* Effect.map(look.find({ id, type: "tool" }), (f) => f.location)
    const system = yield* findIn(look, id, "system")
    if (childTier === "user") {
      // A protected system item wins over the user's, as it does in every lookup.
      const isProtected = Option.isSome(system) && !(yield* look.load(system.value)).tool.overridable
      const user = isProtected ? Option.none() : yield* findIn(look, id, "user")
      if (Option.isSome(user)) return user.value
    }
    if (Option.isSome(system)) return system.value
    return yield* Effect.map(look.find({ id, type: "tool", tier: "system" }), (f) => f.location)
  })

  const parentOf = Effect.fnUntraced(function*(look: Look, links: Links, child: ChainLink, id: string) {
    const childPath = showLocation(child.tool.location)
    const chain = chainIds(links)
    const broken =
      (link: string, configPath: string) => (e: ItemAmbiguous | ItemIdInvalid | ItemInvalid | ItemUnreadable) =>
        new ChainLinkBroken({ chain, link, configPath, detail: e.message, hint: e.remediation, cause: e })
    const location = yield* findParent(look, id, child.tool.location.tier).pipe(
      Effect.mapError((e: ItemNotFound | ItemAmbiguous | ItemIdInvalid | ItemInvalid | ItemUnreadable) =>
        e._tag === "ItemNotFound"
          ? new ChainLinkMissing({ chain, missing: id, near: e.near, configPath: childPath })
          : broken(child.tool.location.id, childPath)(e)
      )
    )
    if (links.some((l) => l.tool.location.file === location.file)) {
      return yield* new ChainCycle({ chain: [...chain, id], configPath: childPath })
    }
    if (links.length === maxLinks) return yield* new ChainTooDeep({ chain: [...chain, id], configPath: childPath })
    return yield* Effect.mapError(look.load(location), broken(id, showLocation(location)))
  })

  /** Adds to a leaf what it is built on. What was found before a failure stays. */
  const walk = Effect.fnUntraced(function*(look: Look, links: Links): Effect.fn.Return<void, ChainError> {
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
      const parent: ChainLink = yield* parentOf(look, links, link, executorId)
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
  })

  const remember = (key: string, answer: ResolvedChain) => {
    remembered.set(key, answer)
    return answer
  }

  const answer = Effect.fnUntraced(function*(look: Look, query: ChainQuery, given?: FoundItem) {
    const found = given !== undefined && isNamed(given, query) ? given : yield* look.find({ ...query, type: "tool" })
    const links: Links = [yield* look.load(found.location)]
    yield* walk(look, links)
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
      const look: Look = { find: (yield* store.atOnce).find, load }
      const found = yield* look.find({ ...query, type: "tool" })
      const links: Links = [yield* load(found.location)]
      const walked = yield* Effect.result(walk(look, links))
      return { links, hides: found.hides, stopped: Result.isFailure(walked) ? walked.failure : undefined }
    }),
    resolveBatch: Effect.fnUntraced(function*(queries) {
      const look: Look = { find: (yield* store.atOnce).find, load: loadOnce() }
      const answers = new Map<string, Result.Result<ResolvedChain, ResolveError>>()
      const all: Array<Result.Result<ResolvedChain, ResolveError>> = []
      for (const [index, query] of queries.entries()) {
        const key = `${query.tier ?? ""}:${query.id}`
        const found = answers.get(key) ?? (yield* Effect.result(answer(look, query)))
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
