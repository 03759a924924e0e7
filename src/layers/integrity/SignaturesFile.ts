// Signing on disk. A plan is bound to bytes by its request's digest; whoever performs it reads every file again and
// signs only what is still the same. Signing accepts bytes; it does not trust a project, so that what a person signs
// in a restricted one still does not run.
import { DateTime, Effect, Layer, Option, Result } from "effect"
import { relative } from "node:path"
import { ItemParser } from "../../services/format/ItemParser.ts"
import { Identity, KeyLocked } from "../../services/identity/Identity.ts"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import { PlanStale, Signatures } from "../../services/integrity/Signatures.ts"
import type { PlannedSignature, SignedItem, SigningPlan } from "../../services/integrity/Signatures.ts"
import * as Plan from "../../services/integrity/SigningPlan.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { ItemLocation, ItemSnapshot, SignatureClaim } from "../../services/item/Item.ts"
import { ItemIdInvalid, ItemInvalid, ItemNotFound } from "../../services/item/ItemErrors.ts"
import { isCategory, parseItemRef, tiers } from "../../services/item/ItemId.ts"
import type { ItemType, Tier } from "../../services/item/ItemId.ts"
import { compileGlob, isGlob } from "../../services/item/ItemPath.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import {
  commentSyntax,
  normalize,
  printClaim,
  signedMessage,
  splitSignature,
  withSignature
} from "../../services/item/SignatureLine.ts"
import type { HumanAct, HumanRequest } from "../../services/trust/HumanAct.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { SafeFiles } from "../../services/workspace/SafeFiles.ts"
import { sha256 } from "../identity/sha256.ts"

/** An item of the largest size, with its signature line. */
const largestFile = 1_050_000

type Query = Parameters<Signatures["Service"]["plan"]>[0]

const fileName = (location: ItemLocation): string => location.path.slice(location.path.lastIndexOf("/") + 1)

const digestOfPlan = (items: ReadonlyArray<PlannedSignature>): string =>
  sha256(JSON.stringify([
    "kiwi-sign-plan-1",
    ...items.map(({ hides, location, snapshot }) => [
      location.tier,
      location.root,
      location.type,
      location.id,
      location.path,
      location.kind,
      snapshot.digest,
      hides.map(showLocation)
    ])
  ]))

const describeItem = ({ change, diff, effects, item, location, snapshot }: PlannedSignature): string =>
  [
    `${location.type} ${location.id} ${item.version}  (${showLocation(location)}, ${change})`,
    `sha256 ${snapshot.digest}`,
    ...effects.map((effect) => `- ${effect}`),
    ...(diff === "" ? ["No difference to what was last signed here."] : ["", diff.replace(/\n$/, "")])
  ].join("\n")

const quote = (id: string): string => isGlob(id) ? `'${id}'` : id

/** With its category, where that is given apart from it. */
const idOf = ({ category, id }: Query): string =>
  category === undefined || category === "" || id.includes("/") ? id : `${category}/${id}`

const requestFor = (query: Query, items: ReadonlyArray<PlannedSignature>): HumanRequest => {
  const [first] = items
  const types = [...new Set(items.map(({ location }) => location.type))]
  const tiersOf = [...new Set(items.map(({ location }) => location.tier))].join(", ")
  const what = items.length === 1 && first !== undefined
    ? `${first.location.type} ${first.location.id} ${first.item.version}`
    : `${items.length} items`
  const digest = digestOfPlan(items)
  const tier = query.tier === undefined ? "" : ` --tier ${query.tier}`
  return {
    kind: "sign",
    title: items.length === 0 ? "Sign nothing" : `Sign ${what} (${tiersOf})`,
    verdict: Plan.verdictOf(
      items.map(({ location, snapshot, ...judged }) => ({ ...judged, id: location.id, digest: snapshot.digest })),
      digest
    ),
    details: items.map(describeItem).join("\n\n"),
    unreadable: items.flatMap(({ unreadable }) => unreadable),
    digest,
    command: types.map((type) => `kiwi sign ${type} ${quote(idOf(query))}${tier}`).join(" && ")
  }
}

const sameFiles = (a: ItemSnapshot, b: ItemSnapshot): boolean =>
  a.files.length === b.files.length && a.files.every((file, index) => {
    const other = b.files[index]
    return other !== undefined && file.path === other.path && file.executable === other.executable &&
      Buffer.compare(file.bytes, other.bytes) === 0
  })

const sameSnapshot = (a: ItemSnapshot, b: ItemSnapshot): boolean =>
  a.digest === b.digest && Buffer.compare(a.bytes, b.bytes) === 0 && sameFiles(a, b)

/** `2026-11-21T21:09:00.000Z` → `20261121T210900Z`. */
const compactTime = (now: DateTime.Utc): string => `${DateTime.formatIso(now).replace(/[-:]/g, "").slice(0, 15)}Z`

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const copies = yield* VerifiedCopies
  const files = yield* SafeFiles
  const history = yield* ItemHistory
  const identity = yield* Identity
  const locks = yield* ProcessLock
  const parser = yield* ItemParser
  const store = yield* ItemStore
  const verifier = yield* Verifier

  const before = Effect.fnUntraced(function*({ kind, path }: ItemLocation, digest: string | undefined) {
    if (digest === undefined) return { _tag: "None" } satisfies Plan.Before as Plan.Before
    if (kind === "folder") {
      const kept = yield* copies.recallFolder(digest)
      return (kept === undefined
        ? { _tag: "None" }
        : { _tag: "Folder", files: kept }) satisfies Plan.Before as Plan.Before
    }
    const bytes = yield* copies.recall(digest, path.slice(path.lastIndexOf("/") + 1))
    return (bytes === undefined ? { _tag: "None" } : { _tag: "File", bytes }) satisfies Plan.Before as Plan.Before
  })

  /** What the item's id names for everybody else. */
  const used = (location: ItemLocation) =>
    store.find({ id: location.id, type: location.type }).pipe(
      Effect.map((found) => found.location),
      Effect.orElseSucceed(() => undefined)
    )

  const planOne = Effect.fnUntraced(function*(location: ItemLocation) {
    const snapshot = yield* store.read(location)
    const item = yield* parser.check(snapshot)
    const past = yield* history.past(location)
    const lastSigned = past.lastSigned?.digest
    const old = yield* before(location, lastSigned)
    const standing = Option.getOrUndefined(yield* Effect.option(verifier.verify(snapshot)))
    const isLater = (tier: Tier) => tiers.indexOf(tier) > tiers.indexOf(location.tier)
    const named = yield* used(location)
    const overruledBy = named?.tier === "system" ? named : undefined
    const hides = overruledBy !== undefined
      ? []
      : (yield* store.list({ type: location.type })).filter((other) => other.id === location.id && isLater(other.tier))
    const signer = standing?.by._tag === "Signer" ? standing.by.standing : undefined
    const { added, removed, text, unreadable } = Plan.diffItem(old, snapshot)
    const about = { hides, overruledBy, past, unreadable, forgotten: lastSigned !== undefined && old._tag === "None" }
    const planned: PlannedSignature = {
      location,
      snapshot,
      item,
      hides,
      change: signer?._tag === "You" ? "same" : lastSigned === undefined ? "new" : "changed",
      diff: text,
      added,
      removed,
      unreadable,
      warnings: Plan.describeWarnings(item, about),
      effects: Plan.describeEffects(item, about)
    }
    return { planned, counts: signer !== undefined }
  })

  const notSystem = Effect.fnUntraced(function*(id: string, type: ItemType | undefined) {
    const { location } = yield* store.find({ id, type })
    if (location.tier !== "system") return location
    return yield* new ItemInvalid({
      item: showLocation(location),
      line: 0,
      column: 0,
      issue: "items of the system tier are not signed: they are checked against the package",
      found: "",
      hint: "Copy it to the project or user tier under another id, change it there, and sign that"
    })
  })

  const findOne = Effect.fnUntraced(function*(query: Query) {
    const qualified = idOf(query)
    if (Option.isNone(parseItemRef(qualified))) return yield* new ItemIdInvalid({ id: qualified })
    const find = (tier: Tier) =>
      Effect.map(store.find({ id: qualified, type: query.type, tier }), ({ location }) => location)
    if (query.tier !== undefined) return yield* find(query.tier)
    return yield* find("project").pipe(
      Effect.catchTag("ItemNotFound", () => find("user")),
      Effect.catchTag("ItemNotFound", () => notSystem(qualified, query.type))
    )
  })

  const findMany = Effect.fnUntraced(function*({ category, id, tier, type }: Query) {
    const matches = yield* Effect.fromResult(compileGlob(id))
    const where = tier ?? (Option.isSome(store.rootOf("project")) ? "project" : "user")
    const found = (yield* store.list({ type, tier: where })).filter((location) =>
      matches(location) && (category === undefined || location.category === category)
    )
    if (found.length > 0) return found
    return yield* new ItemNotFound({ id, type, tier: where, near: [] })
  })

  const plan = Effect.fn("Signatures.plan")(function*(query: Query) {
    const many = isGlob(query.id)
    // What is asked for becomes part of a command that a person is told to type.
    if (query.category !== undefined && !isCategory(query.category)) {
      return yield* new ItemIdInvalid({ id: query.category })
    }
    const locations = many ? yield* findMany(query) : [yield* findOne(query)]
    const items: Array<PlannedSignature> = []
    const refused: Array<SigningPlan["refused"][number]> = []
    for (const location of locations) {
      const result = yield* Effect.result(planOne(location))
      if (Result.isSuccess(result)) {
        const { counts, planned } = result.success
        if (query.changedOnly !== true || !counts) items.push(planned)
      } else if (many) {
        refused.push({ item: showLocation(location), error: result.failure })
      } else {
        return yield* result.failure
      }
    }
    return { items, refused, request: requestFor(query, items) }
  })

  const stale = (location: ItemLocation): PlanStale => new PlanStale({ item: showLocation(location) })

  /** What will be written for an item, if it is still what the plan shows. */
  const prepare = Effect.fnUntraced(function*({ location, snapshot }: PlannedSignature) {
    const now = yield* Effect.mapError(store.read(location), () => stale(location))
    if (!sameSnapshot(now, snapshot)) return yield* stale(location)
    const { root } = location
    const path = relative(root, location.file)
    const syntax = commentSyntax(fileName(location))
    if (location.kind === "folder" || syntax === undefined) {
      return (claim: SignatureClaim) => files.write(root, `${path}.kiwi-sig`, `${printClaim(claim)}\n`)
    }
    const raw = yield* Effect.mapError(files.read(root, path, { maxBytes: largestFile }), () => stale(location))
    const text = raw === undefined ? undefined : Result.getOrUndefined(normalize(raw))
    if (raw === undefined || text === undefined) return yield* stale(location)
    // What is written over is this file as it is now, which may be later than what the store has just read.
    if (!Buffer.from(splitSignature(text, syntax).canonical).equals(snapshot.bytes)) return yield* stale(location)
    return (claim: SignatureClaim) =>
      files.write(root, path, withSignature(new TextDecoder().decode(raw), syntax, claim))
  })

  /** Reads back what was written, keeps a copy for the next diff, and remembers that a person accepted it. */
  const confirm = Effect.fnUntraced(function*({ hides, location, snapshot }: PlannedSignature) {
    const now = yield* Effect.mapError(store.read(location), () => stale(location))
    const verified = yield* Effect.mapError(verifier.verify(now), () => stale(location))
    if (!sameSnapshot(now, snapshot)) return yield* stale(location)
    yield* copies.materialize(verified, undefined)
    yield* history.signed(location, snapshot.digest, hides.some(({ tier }) => tier === "user"))
  })

  const perform = Effect.fnUntraced(function*({ items, request }: SigningPlan, act: HumanAct) {
    const writes = yield* Effect.forEach(items, prepare)
    const { keyId } = yield* identity.ensure
    const time = compactTime(yield* DateTime.now)
    const claims = items.map(({ snapshot }) => ({ time, kind: "person" as const, digest: snapshot.digest, keyId }))
    const signatures = yield* identity.sign(
      items.map(({ location }, index) => signedMessage(claims[index]!, location)),
      act
    ).pipe(Effect.catchTag(
      "KeyLocked",
      ({ overClient, passphrase }) => Effect.fail(new KeyLocked({ passphrase, overClient, command: request.command }))
    ))
    yield* Effect.forEach(writes, (write, index) => write({ ...claims[index]!, signature: signatures[index]! }))
    yield* Effect.forEach(items, confirm)
    return items.map(({ item, location, snapshot }): SignedItem => ({
      location,
      version: item.version,
      digest: snapshot.digest,
      keyId,
      time
    }))
  })

  const sign = Effect.fn("Signatures.sign")(function*(shown: SigningPlan, act: HumanAct) {
    const digest = digestOfPlan(shown.items)
    const unlike = shown.items.find(({ location }) => location.tier === "system")
    if (act.kind !== "sign" || act.digest !== digest || shown.request.digest !== digest || unlike !== undefined) {
      return yield* new PlanStale({ item: unlike === undefined ? shown.request.title : showLocation(unlike.location) })
    }
    return shown.items.length === 0 ? [] : yield* locks.withLock(home, "sign")(perform(shown, act))
  })

  return Signatures.of({ plan, sign })
})

export const layer = Layer.effect(Signatures, make)
