// Signing on disk. A plan is bound to bytes by its request's digest: performing it reads every file again and signs
// only what is unchanged. Signing accepts bytes but does not trust a project: a signed item in a restricted project
// still does not run.
import { Array as Arr, DateTime, Effect, Layer, Option, Result } from "effect"
import { relative } from "node:path"
import { type FileWrite, SafeFiles } from "../../services/files/SafeFiles.ts"
import { ItemParser } from "../../services/format/ItemParser.ts"
import { Identity, KeyLocked } from "../../services/identity/Identity.ts"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import * as ItemPast from "../../services/integrity/ItemPast.ts"
import { PlanStale, Signatures, TooMuchToSign } from "../../services/integrity/Signatures.ts"
import type { PlannedSignature, SignedItem, SigningPlan } from "../../services/integrity/Signatures.ts"
import * as Plan from "../../services/integrity/SigningPlan.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import { isYours, Verifier } from "../../services/integrity/Verifier.ts"
import { isSignable, showLocation } from "../../services/item/Item.ts"
import type { ItemLocation, ItemSnapshot, SignatureClaim } from "../../services/item/Item.ts"
import { ItemIdInvalid, ItemInvalid, ItemNotFound } from "../../services/item/ItemErrors.ts"
import { isCategory, parseItemRef, printItemRef } from "../../services/item/ItemId.ts"
import type { Tier } from "../../services/item/ItemId.ts"
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
import { type HumanAct, requireAct } from "../../services/trust/HumanAct.ts"
import { SignerTrust } from "../../services/trust/SignerTrust.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import type { FindOthers } from "./othersVersion.ts"
import * as OthersVersion from "./othersVersion.ts"
import { digestOfPlan, idOf, isOlder, type Query, requestFor } from "./signingRequest.ts"

/** In bytes: an item of the maximum size, with its signature line. */
const largestFile = 1_050_000

/** The limits of one signing act. A person can page through so many, and a plan keeps the bytes of all of them. */
const [mostItems, mostBytes] = [1_000, 32 * 1_048_576]

/** How many items are read at once while child processes check the code of earlier ones. */
const mostAtOnce = 8

/** Looks items up in listings that are made once for a whole plan. */
type Find = ItemStore["Service"]["find"]

const fileName = (location: ItemLocation): string => location.path.slice(location.path.lastIndexOf("/") + 1)

const sizeOf = ({ snapshot }: PlannedSignature): number =>
  snapshot.files.reduce((sum, file) => sum + file.bytes.length, snapshot.bytes.length)

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
  const signers = yield* SignerTrust
  const othersOf = yield* OthersVersion.make

  const before = Effect.fnUntraced(function*(
    { kind, path }: ItemLocation,
    digest: string | undefined
  ): Effect.fn.Return<Plan.Before> {
    if (digest === undefined) return { _tag: "None" }
    if (kind === "folder") {
      const kept = yield* copies.recallFolder(digest)
      return kept === undefined ? { _tag: "None" } : { _tag: "Folder", files: kept }
    }
    const bytes = yield* copies.recall(digest, path.slice(path.lastIndexOf("/") + 1))
    return bytes === undefined ? { _tag: "None" } : { _tag: "File", bytes }
  })

  /** Whether this key's signatures count as yours now. The kind is "person", since a person signed what ran. */
  const isStillYours = (keyId: string | undefined, tier: Tier) =>
    Effect.map(
      keyId === undefined ? Effect.succeed([]) : signers.candidates(keyId, tier),
      (found) => found.some((standing) => isYours({ _tag: "Signer", standing, kind: "person", time: "" }))
    )

  /** The item that every other caller gets for this item's id. */
  const used = (find: Find, location: ItemLocation) =>
    find({ id: location.id, type: location.type }).pipe(
      Effect.map((found) => found.location),
      Effect.orElseSucceed(() => undefined)
    )

  /** Items of lower tiers with its id. Two items with the same category and id do not run, and so hide nothing. */
  const hiddenBy = (find: Find, { category, id, tier, type }: ItemLocation) =>
    find({ id: printItemRef({ id, category: category || undefined }), type, tier }).pipe(
      Effect.map(({ hides }) => hides),
      Effect.orElseSucceed((): ReadonlyArray<ItemLocation> => [])
    )

  const inspect = Effect.fnUntraced(function*(location: ItemLocation) {
    const snapshot = yield* store.read(location)
    const item = yield* parser.check(snapshot)
    const past = yield* history.past(location)
    const by = Option.getOrUndefined(yield* Effect.option(verifier.verify(snapshot)))?.by
    const refused = yield* history.checkForward(location, item.version, snapshot.digest).pipe(
      Effect.as(undefined),
      Effect.catch((error) => Effect.succeed(error._tag))
    )
    const older = by !== undefined && isYours(by) && refused === "GoesBack"
    return { location, snapshot, item, past, by, older, isDamaged: refused === "HistoryDamaged" }
  })

  const describe = Effect.fnUntraced(function*(
    find: Find,
    seen: Effect.Success<ReturnType<typeof inspect>>,
    findOthers: FindOthers = OthersVersion.findNothing
  ) {
    const { by, isDamaged, item, location, older, past, snapshot } = seen
    const accepted = older ? ItemPast.acceptedNewest(past) : ItemPast.acceptedLast(past)
    const isFirst = by === undefined && accepted === undefined && !isDamaged
    const others = isFirst ? yield* findOthers.version(snapshot) : undefined
    const stands = accepted?._tag !== "Ran" || (yield* isStillYours(accepted.keyId, location.tier))
    const compared = stands ? accepted?.digest : undefined
    const kept = others?.before ?? (yield* before(location, compared))
    const committed = kept._tag === "None" && compared !== undefined
      ? yield* findOthers.committed(location, compared)
      : undefined
    const old = committed ?? kept
    const named = yield* used(find, location)
    const overruledBy = named?.tier === "system" ? named : undefined
    const hides = overruledBy !== undefined
      ? []
      : yield* hiddenBy(find, location)
    const signer = by?._tag === "Signer" ? by.standing : undefined
    const hasRun = accepted?._tag === "Ran"
    const forgotten = accepted === undefined || old._tag !== "None"
      ? undefined
      : stands
      ? hasRun ? "ran" : "signed"
      : "untrusted"
    const isSame = accepted?.digest === snapshot.digest
    const { added, removed, text, unreadable } = Plan.diffItem(old, snapshot)
    const ran = hasRun && !older && !isSame && old._tag !== "None"
      ? `version ${accepted.version}, which ran here`
      : undefined
    const about = { hides, overruledBy, past, unreadable, forgotten, changedFrom: others?.name ?? ran } as const
    const planned: PlannedSignature = {
      location,
      snapshot,
      item,
      hides,
      change: older
        ? "older"
        : signer?._tag === "You"
        ? "same"
        : accepted === undefined || !stands
        ? others === undefined ? "new" : "changed"
        : isSame
        ? "unmarked"
        : "changed",
      goesBackFrom: ItemPast.goesBackFrom(past, item.version),
      diff: text,
      added,
      removed,
      unreadable,
      warnings: Plan.describeWarnings(item, about),
      effects: Plan.describeEffects(item, about)
    }
    return { planned, counts: signer !== undefined }
  })

  /**
   * Other older items in the tiers of those that are older, up to the limits of one act; the next act asks about the
   * rest. Items that cannot be read or parsed are skipped: they do not run either.
   */
  const restOfOlder = Effect.fnUntraced(function*(find: Find, items: ReadonlyArray<PlannedSignature>) {
    const known = new Set(items.map(({ location }) => showLocation(location)))
    const found: Array<PlannedSignature> = []
    let bytes = 0
    for (const tier of new Set(items.filter(isOlder).map(({ location }) => location.tier))) {
      for (const location of (yield* store.list({ tier })).filter(isSignable)) {
        if (known.has(showLocation(location)) || (yield* history.past(location)).newest === undefined) continue
        const seen = yield* Effect.option(inspect(location))
        if (Option.isNone(seen) || !seen.value.older) continue
        const { planned } = yield* describe(find, seen.value)
        bytes += sizeOf(planned)
        if (found.length === mostItems || bytes > mostBytes) return found
        found.push(planned)
      }
    }
    return found
  })

  const signable = Effect.fnUntraced(function*(location: ItemLocation) {
    if (isSignable(location)) return location
    return yield* new ItemInvalid({
      item: showLocation(location),
      line: 0,
      column: 0,
      ...(location.tier === "system"
        ? {
          issue: "items of the system tier are not signed: they are checked against the package",
          hint: "Copy it to the project or user tier under another id, change it there, and sign that"
        }
        : {
          issue: "only files of a tier are signed: this item is approved where it comes from",
          hint: "Read it with load, and approve it as its refusal says"
        }),
      found: ""
    })
  })

  const findOne = Effect.fnUntraced(function*(query: Query) {
    const qualified = idOf(query)
    if (Option.isNone(parseItemRef(qualified))) return yield* new ItemIdInvalid({ id: qualified })
    const find = (tier?: Tier) =>
      Effect.flatMap(store.find({ id: qualified, type: query.type, tier }), ({ location }) => signable(location))
    if (query.tier !== undefined) return yield* find(query.tier)
    return yield* find("project").pipe(
      Effect.catchTag("ItemNotFound", () => find("user")),
      Effect.catchTag("ItemNotFound", () => find())
    )
  })

  const findMany = Effect.fnUntraced(function*({ category, id, tier, type }: Query) {
    const matches = yield* Effect.fromResult(compileGlob(id))
    const where = tier ?? (Option.isSome(store.rootOf("project")) ? "project" : "user")
    const found = (yield* store.list({ type, tier: where })).filter((location) =>
      isSignable(location) && matches(location) && (category === undefined || location.category === category)
    )
    if (found.length > 0) return found
    return yield* new ItemNotFound({ id, type, tier: where, near: [] })
  })

  const plan = Effect.fn("Signatures.plan")(function*(query: Query) {
    const many = isGlob(query.id)
    // The category becomes part of a command that a person is asked to type.
    if (query.category !== undefined && !isCategory(query.category)) {
      return yield* new ItemIdInvalid({ id: query.category })
    }
    const locations = many ? yield* findMany(query) : [yield* findOne(query)]
    const items: Array<PlannedSignature> = []
    const refused: Array<SigningPlan["refused"][number]> = []
    const signed: Array<ItemLocation> = []
    let bytes = 0
    const tooMuch = (issue: TooMuchToSign["issue"]) =>
      new TooMuchToSign({
        id: idOf(query),
        ...(query.type === undefined ? {} : { type: query.type }),
        issue,
        most: issue === "items" ? mostItems : mostBytes
      })
    // With `changedOnly`, a large project may have few changes, so the number is checked later.
    if (query.changedOnly !== true && locations.length > mostItems) return yield* tooMuch("items")
    const { find } = yield* store.atOnce
    const findOthers = yield* othersOf(locations)
    for (const some of Arr.chunksOf(locations, mostAtOnce)) {
      const results = yield* Effect.forEach(
        some,
        (location) => Effect.result(Effect.flatMap(inspect(location), (seen) => describe(find, seen, findOthers))),
        { concurrency: mostAtOnce }
      )
      for (const [index, result] of results.entries()) {
        if (Result.isSuccess(result)) {
          const { counts, planned } = result.success
          if (query.changedOnly === true && counts) {
            if (planned.change === "same") signed.push(planned.location)
            continue
          }
          items.push(planned)
          bytes += sizeOf(planned)
        } else if (many) {
          refused.push({ item: showLocation(some[index]!), error: result.failure })
        } else {
          return yield* result.failure
        }
        if (items.length + refused.length > mostItems) return yield* tooMuch("items")
        if (bytes > mostBytes) return yield* tooMuch("bytes")
      }
    }
    const all = [...items, ...(yield* restOfOlder(find, items))]
    const request = requestFor(query, items, all)
    const locked = query.answeredIn === undefined || all.length === 0 ? undefined : yield* identity.locked
    if (locked !== undefined) {
      const overClient = query.answeredIn === "client"
      return yield* new KeyLocked({ passphrase: locked, overClient, command: request.command })
    }
    return { items: all, refused, signed, request }
  })

  const stale = (location: ItemLocation): PlanStale => new PlanStale({ item: showLocation(location) })

  const readAgain = Effect.fnUntraced(function*({ goesBackFrom, item, location, snapshot }: PlannedSignature) {
    const now = yield* Effect.mapError(store.read(location), () => stale(location))
    const from = ItemPast.goesBackFrom(yield* history.past(location), item.version)
    return sameSnapshot(now, snapshot) && from === goesBackFrom ? now : yield* stale(location)
  })

  /** An older item is signed already, by somebody whose signature counted when it was shown. */
  const verifyAgain = Effect.fnUntraced(function*(planned: PlannedSignature) {
    const now = yield* readAgain(planned)
    const verified = yield* Effect.mapError(verifier.verify(now), () => stale(planned.location))
    return isOlder(planned) && !isYours(verified.by) ? yield* stale(planned.location) : verified
  })

  /** What will be written for an item, if the item is still what the plan shows. */
  const prepare = Effect.fnUntraced(function*(planned: PlannedSignature) {
    yield* readAgain(planned)
    const { location, snapshot } = planned
    const { root } = location
    const path = relative(root, location.file)
    const syntax = commentSyntax(fileName(location))
    if (location.kind === "folder" || syntax === undefined) {
      return (claim: SignatureClaim): FileWrite => ({ path: `${path}.kiwi-sig`, data: `${printClaim(claim)}\n` })
    }
    const raw = yield* Effect.mapError(files.read(root, path, { maxBytes: largestFile }), () => stale(location))
    const text = raw === undefined ? undefined : Result.getOrUndefined(normalize(raw))
    if (raw === undefined || text === undefined) return yield* stale(location)
    // What is replaced is the file as it is now, which may be newer than what the store has just read.
    if (!Buffer.from(splitSignature(text, syntax).canonical).equals(snapshot.bytes)) return yield* stale(location)
    return (claim: SignatureClaim): FileWrite => ({
      path,
      data: withSignature(new TextDecoder().decode(raw), syntax, claim)
    })
  })

  /** Reads back what was written, keeps a copy for the next diff, and records that a person accepted it. */
  const confirm = Effect.fnUntraced(function*(items: ReadonlyArray<PlannedSignature>) {
    const confirmed: Array<PlannedSignature> = []
    const copied = yield* Effect.result(Effect.forEach(items, (planned) =>
      verifyAgain(planned).pipe(
        Effect.flatMap((verified) => copies.materialize(verified, undefined)),
        Effect.map(() => confirmed.push(planned))
      ), { discard: true }))
    yield* history.signed(confirmed.map(({ goesBackFrom, hides, location, snapshot }) => ({
      location,
      digest: snapshot.digest,
      goesBack: goesBackFrom !== undefined,
      hides: hides.some(({ tier }) => tier === "user")
    })))
    return yield* Effect.fromResult(copied)
  })

  const perform = Effect.fnUntraced(function*(shown: SigningPlan, act: HumanAct) {
    const items = shown.items.filter((planned) => !isOlder(planned))
    yield* Effect.forEach(shown.items.filter(isOlder), verifyAgain, { discard: true })
    const writes = yield* Effect.forEach(items, prepare)
    const { keyId } = yield* identity.ensure(act)
    const time = compactTime(yield* DateTime.now)
    const claims = items.map(({ snapshot }) => ({ time, kind: "person" as const, digest: snapshot.digest, keyId }))
    // The key is opened even if nothing is to be signed: going back to an older version needs the passphrase as signing
    // does.
    const signatures = yield* identity.sign(
      items.map(({ location }, index) => signedMessage(claims[index]!, location)),
      act
    ).pipe(Effect.catchTag(
      "KeyLocked",
      ({ overClient, passphrase }) =>
        Effect.fail(new KeyLocked({ passphrase, overClient, command: shown.request.command }))
    ))
    const signed = writes.map((write, index) => write({ ...claims[index]!, signature: signatures[index]! }))
    for (const [root, some] of Map.groupBy(signed.entries(), ([index]) => items[index]!.location.root)) {
      const written = yield* files.writeAll(root, some.map(([, write]) => write))
      yield* Effect.forEach(written, Effect.fromResult, { discard: true })
    }
    yield* confirm(shown.items)
    return items.map(({ item, location, snapshot }): SignedItem => ({
      location,
      version: item.version,
      digest: snapshot.digest,
      keyId,
      time
    }))
  })

  const sign = Effect.fn("Signatures.sign")(function*(shown: SigningPlan, act: HumanAct) {
    const unlike = shown.items.find(({ location }) => location.tier === "system")
    if (unlike !== undefined) return yield* stale(unlike.location)
    yield* requireAct({ ...shown.request, kind: "sign", digest: digestOfPlan(shown.items) }, act)
    return shown.items.length === 0 ? [] : yield* locks.withLock(home, "sign")(perform(shown, act))
  })

  return Signatures.of({ plan, sign })
})

export const layer = Layer.effect(Signatures, make)
