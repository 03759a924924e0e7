// What is different: a lock against what is there now, or against another lock. Texts of items are shown from the
// copies that Kiwi keeps of what was verified; of what is no longer kept only the digests are.
import { Effect, Result } from "effect"
import type { Before } from "../../services/integrity/SigningPlan.ts"
import { diffItem } from "../../services/integrity/SigningPlan.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import type { ItemSnapshot } from "../../services/item/Item.ts"
import { isItemId } from "../../services/item/ItemId.ts"
import type { Tier } from "../../services/item/ItemId.ts"
import type { LockFinding } from "../../services/lockfile/compareLock.ts"
import { compareLock, showFinding } from "../../services/lockfile/compareLock.ts"
import type { Frozen, LockedLink } from "../../services/lockfile/Lockfile.ts"
import { Lockfiles, LockMissing } from "../../services/lockfile/Lockfiles.ts"
import type { StoredLock } from "../../services/lockfile/LockfileStore.ts"
import { LockInvalid } from "../../services/lockfile/LockfileStore.ts"
import { readLockfile } from "../../services/lockfile/lockfileText.ts"
import { type Quote, quoteAll, quoteKnown } from "../../services/lockfile/lockQuote.ts"
import { showLock } from "../../services/lockfile/lockReport.ts"
import { sha256 } from "../identity/sha256.ts"
import { readOwn } from "../settings/SettingsFile.ts"
import { withCategory } from "./lockUses.ts"

export interface DiffLockInput {
  /** An id, or `category/id`. */
  readonly id: string
  readonly category?: string | undefined
  readonly tier?: Tier | undefined
  /** Another lock of the tool, by its version, or a lockfile. Default: what is there now. */
  readonly against?: string | undefined
  /** Absolute path of `against`, where that is a file. */
  readonly file?: string | undefined
}

export interface LinkDifference {
  readonly tool_id: string
  /** `project:tools/math/add.py`; where it is now, or else where it was. */
  readonly path: string
  readonly differences: ReadonlyArray<{ readonly field: string; readonly locked: string; readonly now: string }>
  /** Unified diff of the item's text. Absent where it is the same, or where the locked text is no longer kept. */
  readonly diff?: string
  /** Whether the text that was locked can still be shown. */
  readonly kept: boolean
}

export interface LockDifference {
  readonly tool_id: string
  /** The lock that is compared, and what it is compared with. */
  readonly lockfile: string
  readonly with: string
  readonly same: boolean
  readonly links: ReadonlyArray<LinkDifference>
  /** What concerns no single link: the interpreter, requirements, packages. */
  readonly others: ReadonlyArray<string>
}

interface Side {
  readonly name: string
  readonly frozen: Frozen
  /** Of what is there now; a lock has digests alone. */
  readonly snapshots: ReadonlyArray<ItemSnapshot> | undefined
}

const fileName = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** The text that a digest stands for, as far as it is kept. */
const recall = Effect.fnUntraced(function*({ integrity, path }: LockedLink) {
  const copies = yield* VerifiedCopies
  const bytes = yield* copies.recall(integrity, fileName(path))
  if (bytes !== undefined) return { _tag: "File", bytes } satisfies Before as Before
  const files = yield* copies.recallFolder(integrity)
  return (files === undefined ? { _tag: "None" } : { _tag: "Folder", files }) satisfies Before as Before
})

/** A kept text in the place that a lock says it had. */
const asSnapshot = (
  { integrity, path, tier, tool_id }: LockedLink,
  text: Before,
  quote: Quote
): ItemSnapshot | undefined =>
  text._tag === "None" || !isItemId(tool_id) ? undefined : {
    location: {
      type: "tool",
      tier,
      id: tool_id,
      category: "",
      path: quote(path, "path"),
      file: "",
      root: "",
      kind: text._tag === "File" ? "file" : "folder"
    },
    bytes: text._tag === "File" ? text.bytes : new Uint8Array(),
    digest: integrity,
    claim: { _tag: "None" },
    files: text._tag === "Folder" ? text.files : [],
    executable: false
  }

const showLink = ({ path, tier }: LockedLink): string => `${tier}:tools/${path}`

const compareSides = Effect.fnUntraced(function*(left: Side, right: Side, quote: Quote) {
  const findings = compareLock(left.frozen, right.frozen, quote)
  const [before, after] = [left.frozen.resolved_chain, right.frozen.resolved_chain]
  const links: Array<LinkDifference> = []
  for (let index = 0; index < Math.max(before.length, after.length); index++) {
    const [was, is] = [before[index], after[index]]
    const link = is ?? was!
    const own = findings.filter((finding) => finding.link === index)
    if (was?.integrity === is?.integrity && own.length === 0) continue
    const text = was === undefined ? undefined : yield* recall(was)
    const now = is === undefined ? undefined : right.snapshots?.[index] ?? asSnapshot(is, yield* recall(is), quote)
    const differs = was?.integrity !== is?.integrity
    links.push({
      tool_id: quote(link.tool_id, "tool"),
      path: quote(showLink(link), "path"),
      differences: differencesOf(own, was, is, quote),
      ...(differs && text !== undefined && text._tag !== "None" && now !== undefined && was?.tool_id === is?.tool_id
        ? { diff: diffItem(text, now).text }
        : {}),
      kept: text !== undefined && text._tag !== "None"
    })
  }
  return { findings, links }
})

/** Where chains are of different length, nothing was compared link by link: then the links themselves are told. */
const differencesOf = (
  findings: ReadonlyArray<LockFinding>,
  was: LockedLink | undefined,
  is: LockedLink | undefined,
  quote: Quote
): LinkDifference["differences"] => {
  if (findings.length > 0) return findings.map(({ field, locked, now }) => ({ field, locked, now }))
  const show = (link: LockedLink | undefined) =>
    link === undefined
      ? "none"
      : `${quote(link.tool_id, "tool")} ${quote(link.version, "version")} (${link.integrity.slice(0, 12)})`
  return [{ field: "link", locked: show(was), now: show(is) }]
}

const readFile = Effect.fnUntraced(function*(given: string, file: string, tool: string) {
  const refuse = (issue: string) => new LockInvalid({ lockfile: given, issue, tool })
  const read = yield* Effect.sync(() => readOwn(file))
  if (Result.isFailure(read)) return yield* refuse(read.failure)
  if (read.success === undefined) return undefined
  const bytes = read.success
  const text = yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => refuse("it is not valid UTF-8")
  })
  return yield* Effect.mapError(Effect.fromResult(readLockfile(text, sha256)), refuse)
})

const sideOf = (lock: StoredLock): Side => ({ name: showLock(lock), frozen: lock.lockfile, snapshots: undefined })

/** `quotesAll`: for a person, who is shown what locks say in their own words too. */
export const diffLock = Effect.fn("diffLock")(function*(input: DiffLockInput, quotesAll = false) {
  const lockfiles = yield* Lockfiles
  const id = yield* withCategory(input.id, input.category)
  const { chain, now } = yield* lockfiles.validate({ id, tier: input.tier })
  const { category, tool_id: tool, version } = now.root
  const { invalid, locks } = yield* lockfiles.list({ toolId: tool })
  const own = locks.filter((lock) => lock.lockfile.root.category === category)
  const of = (wanted: string) =>
    own.find((lock) => lock.lockfile.root.version === wanted && !lock.variant) ??
      own.find((lock) => lock.lockfile.root.version === wanted)
  const present: Side = {
    name: `${tool} ${version} as it is now`,
    frozen: now,
    snapshots: chain.links.map(({ snapshot }) => snapshot)
  }
  const lock = of(version)
  const { against } = input
  let [left, right]: readonly [Side | undefined, Side] = [lock === undefined ? undefined : sideOf(lock), present]
  if (against !== undefined) {
    const other = of(against)
    const read = other === undefined && input.file !== undefined
      ? yield* readFile(against, input.file, tool)
      : undefined
    right = left ?? present
    left = other !== undefined
      ? sideOf(other)
      : read === undefined
      ? undefined
      : { name: against, frozen: read, snapshots: undefined }
  }
  if (left === undefined) {
    // A lock of a restricted project is only named, and another is missing all the same.
    const broken = invalid.find(({ remedy }) => remedy === undefined)
    return yield* broken ??
      new LockMissing({ tool, version: against ?? version, ...(against === undefined ? {} : { named: true }) })
  }
  const { findings, links } = yield* compareSides(left, right, quotesAll ? quoteAll : quoteKnown(now))
  return {
    tool_id: tool,
    lockfile: left.name,
    with: right.name,
    same: findings.length === 0,
    links,
    others: findings.filter(({ link }) => link === undefined).map(showFinding)
  } satisfies LockDifference as LockDifference
})
