// Named sources of items that programs or servers list. A source's answers are not trusted: ids are checked, an item's
// content must have the digest that was listed, and no caller waits longer than a moment.
import { Cause, Effect, Exit, Fiber, Layer, Option, Result, Stream } from "effect"
import type { Scope } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { codeOf, isKiwiError } from "../../services/error/KiwiError.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { showLocation, typeFolder } from "../../services/item/Item.ts"
import type { ItemLocation, ItemSnapshot } from "../../services/item/Item.ts"
import { ItemInvalid, ItemUnapproved, ItemUnreadable } from "../../services/item/ItemErrors.ts"
import { ItemType, parseItemRef } from "../../services/item/ItemId.ts"
import type { Tier } from "../../services/item/ItemId.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import type { Entry, Listing, NamedSource } from "../../services/item/ItemSources.ts"
import { ItemSources, sourcesOf } from "../../services/item/ItemSources.ts"
import { fileSnapshot } from "./makeSnapshot.ts"

/** An item as its source lists it. */
export interface ContentItem {
  readonly type: ItemType
  /** `id` or `category/id`: "github/create_issue". */
  readonly id: string
  /** SHA-256, in hex, of its canonical content. */
  readonly digest: string
}

export interface Content {
  readonly name: string
  readonly tier: Tier
  /** All current items, at most 10,000. Returning the same array again means that nothing has changed. */
  readonly list: Effect.Effect<ReadonlyArray<ContentItem>, KiwiError>
  /** Canonical content, at most 1 MiB: YAML for a tool, otherwise Markdown. Undefined: the item is gone. */
  readonly read: (item: ContentItem) => Effect.Effect<string | Uint8Array | undefined, KiwiError>
  readonly believe: NamedSource["believe"]
  /** Emits after `list` changed. */
  readonly changes: Stream.Stream<unknown>
}

const maxItems = 10_000
const maxContent = 1024 * 1024

/** The limit of cached content for one source, in bytes. */
const keptBytes = 64 * maxContent

/** The time limit for a source's answer. */
const maxWait = "2 seconds"

const extension: Readonly<Record<ItemType, string>> = { directive: ".md", tool: ".yaml", knowledge: ".md" }

const nothing: Listing = { byId: new Map(), problems: [] }

/** Why there is no answer, in Kiwi's words: a source's own message is not repeated. */
interface Unanswered<E> {
  readonly detail: string
  readonly error?: E
}

const unanswered = <E>(cause: Cause.Cause<E>): Unanswered<E> => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return error === undefined
    ? { detail: "it failed unexpectedly" }
    : { detail: isKiwiError(error) ? `it failed (${codeOf(error)})` : "it failed", error }
}

/** Asks a source in a fiber of the scope. While an answer is overdue, no caller waits for another. */
const makeAsk = Effect.gen(function*() {
  const scope = yield* Effect.scope
  let owed = 0
  return Effect.fnUntraced(function*<A, E>(question: Effect.Effect<A, E>): Effect.fn.Return<A, Unanswered<E>> {
    const late: Unanswered<E> = { detail: `it did not answer within ${maxWait}` }
    if (owed > 0) return yield* Effect.fail(late)
    const asking = yield* Effect.forkIn(question, scope, { startImmediately: true })
    const owe = () => {
      owed++
      asking.addObserver(() => {
        owed--
      })
    }
    const exit = asking.pollUnsafe() ?? Option.getOrUndefined(
      yield* Effect.timeoutOption(Fiber.await(asking), maxWait).pipe(Effect.onInterrupt(() => Effect.sync(owe)))
    )
    if (exit === undefined) {
      owe()
      return yield* Effect.fail(late)
    }
    return Exit.isSuccess(exit) ? exit.value : yield* Effect.fail(unanswered(exit.cause))
  })
})

export const make = Effect.fnUntraced(function*(content: Content): Effect.fn.Return<NamedSource, never, Scope.Scope> {
  const { name, tier } = content
  const ask = yield* makeAsk
  const snapshots = new BoundedMap<string, ItemSnapshot>(keptBytes, ({ bytes }) => bytes.length)
  let lastItems: ReadonlyArray<ContentItem> | undefined
  let lastListings: ReadonlyMap<ItemType, Listing> = new Map()

  const unreadable = (item: string, detail: string) => new ItemUnreadable({ item, issue: "source", detail })

  const locate = ({ digest, id, type }: ContentItem): ItemLocation | undefined => {
    const ref = typeof id === "string" ? Option.getOrUndefined(parseItemRef(id)) : undefined
    if (ref === undefined || !ItemType.literals.includes(type) || !/^[0-9a-f]{64}$/.test(digest)) return undefined
    // A file's path has no colon, so what is cached by path is never a file's.
    const path = `${name}:${id}${extension[type]}`
    return {
      type,
      tier,
      id: ref.id,
      category: ref.category ?? "",
      path,
      file: `${name}:${typeFolder[type]}/${path}`,
      root: `${name}:`,
      kind: "file",
      source: { name, digest }
    }
  }

  /** Indexes items by type and id. Of duplicates, the first counts. */
  const arrange = (items: ReadonlyArray<ContentItem>): ReadonlyMap<ItemType, Listing> => {
    if (items === lastItems) return lastListings
    const known = new Map<string, ItemLocation>()
    for (const item of items.slice(0, maxItems)) {
      const location = locate(item)
      if (location !== undefined && !known.has(location.file)) known.set(location.file, location)
    }
    for (const { digest, location: { file } } of snapshots.values()) {
      if (known.get(file)?.source?.digest !== digest) snapshots.delete(file)
    }
    const left = items.length - known.size
    const problem = new ItemInvalid({
      item: `${tier}:${name}`,
      line: 0,
      column: 0,
      issue: `${left} entries of this source cannot be items, or conflict with others`,
      found: "",
      hint: "Each needs an id of its own, of words of a-z, 0-9, _ and -, and a digest; there may be 10,000"
    })
    lastListings = new Map(ItemType.literals.map((type) => {
      const entries = [...known.values()].filter((location) => location.type === type)
        .map((location): Entry => ({ location, kind: "plain" }))
      const problems = left > 0 && type === "tool" ? [problem] : []
      return [type, { byId: Map.groupBy(entries, (entry) => entry.location.id), problems }]
    }))
    lastItems = items
    return lastListings
  }

  const listed = ask(Effect.map(content.list, arrange)).pipe(
    Effect.catch(({ detail }) => {
      const problems = [unreadable(`${tier}:${name}`, detail)]
      return Effect.succeed(new Map<ItemType, Listing>([["tool", { byId: new Map(), problems }]]))
    })
  )

  const listing: NamedSource["listing"] = (asked, type) =>
    asked === tier ? Effect.map(listed, (byType) => byType.get(type) ?? nothing) : Effect.succeed(nothing)

  const snapshotOf = (location: ItemLocation, given: string | Uint8Array | undefined) => {
    const item = showLocation(location)
    if (given === undefined) {
      return Result.fail(new ItemUnreadable({ item, issue: "vanished", detail: "it no longer exists" }))
    }
    const bytes = typeof given === "string" ? new TextEncoder().encode(given) : given
    if (bytes.length > maxContent) {
      return Result.fail(new ItemUnreadable({ item, issue: "too-large", detail: `it has ${bytes.length} bytes` }))
    }
    return Result.flatMap(
      fileSnapshot(location, { bytes, executable: false, detached: undefined }),
      (snapshot) =>
        snapshot.digest === location.source?.digest
          ? Result.succeed(snapshot)
          : Result.fail(unreadable(item, "its content differs from what was listed"))
    )
  }

  const read: NamedSource["read"] = Effect.fnUntraced(function*(location) {
    const known = snapshots.get(location.file)
    const digest = location.source?.digest ?? ""
    if (known !== undefined && known.digest === digest) return known
    const given = yield* ask(
      Effect.suspend(() => content.read({ type: location.type, id: qualifiedId(location), digest }))
    ).pipe(Effect.mapError(({ detail }) => unreadable(showLocation(location), detail)))
    const snapshot = yield* Effect.fromResult(snapshotOf(location, given))
    snapshots.set(location.file, snapshot)
    return snapshot
  })

  const believe: NamedSource["believe"] = (snapshot) =>
    Effect.mapError(
      ask(Effect.suspend(() => content.believe(snapshot))),
      ({ error }) =>
        error ?? new ItemUnapproved({
          item: showLocation(snapshot.location),
          changed: false,
          remedy: "Try again: its source could not be asked whether it is approved"
        })
    )

  return {
    name,
    tier,
    listing,
    read,
    believe,
    changes: content.changes.pipe(Stream.map(() => [tier]), Stream.catchCause(() => Stream.empty))
  }
})

export const layerWith = (contents: ReadonlyArray<Content>) =>
  Layer.effect(ItemSources, Effect.map(Effect.forEach(contents, make), sourcesOf))

/** No named sources: files only. */
export const layer = layerWith([])
