// Shows what differs between a lock and the tool as it is now, or between two locks. The locked texts of items come from
// the copies that Kiwi keeps of verified items; if there is no copy any more, only the digests are shown.
import { Effect, Result } from "effect"
import type { Before } from "../../../services/integrity/SigningPlan.ts"
import { diffItem } from "../../../services/integrity/SigningPlan.ts"
import { VerifiedCopies } from "../../../services/integrity/VerifiedCopies.ts"
import type { ItemSnapshot } from "../../../services/item/Item.ts"
import { isItemId } from "../../../services/item/ItemId.ts"
import type { Tier } from "../../../services/item/ItemId.ts"
import type { LockFinding } from "../../../services/lockfile/compareLock.ts"
import { compareLock, showFinding } from "../../../services/lockfile/compareLock.ts"
import { type Frozen, type LockedLink, showLink } from "../../../services/lockfile/Lockfile.ts"
import { Lockfiles, LockMissing } from "../../../services/lockfile/Lockfiles.ts"
import type { StoredLock } from "../../../services/lockfile/LockfileStore.ts"
import { LockInvalid } from "../../../services/lockfile/LockfileStore.ts"
import { readLockfile } from "../../../services/lockfile/lockfileText.ts"
import { showLock } from "../../../services/lockfile/lockName.ts"
import { type Quote, quoteAll, quoteKnown } from "../../../services/lockfile/lockQuote.ts"
import { sha256 } from "../../identity/sha256.ts"
import { readOwn } from "../../settings/SettingsFile.ts"
import { withCategory } from "./checkLocks.ts"

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
  /** "project:tools/math/add.py": the present path, else the locked one. */
  readonly path: string
  readonly differences: ReadonlyArray<{ readonly field: string; readonly locked: string; readonly now: string }>
  /** Unified diff of the item's text. Absent if the text is the same, or the locked text is no longer kept. */
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
  /** Differences that are not of a single link: the interpreter, requirements, packages. */
  readonly others: ReadonlyArray<string>
}

interface Side {
  readonly name: string
  readonly frozen: Frozen
  /** Of the tool as it is now; a lock has only digests. */
  readonly snapshots?: ReadonlyArray<ItemSnapshot>
}

const fileName = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** The kept copy of a locked item. */
const recall = Effect.fnUntraced(
  function*({ integrity, path }: LockedLink): Effect.fn.Return<Before, never, VerifiedCopies> {
    const copies = yield* VerifiedCopies
    const bytes = yield* copies.recall(integrity, fileName(path))
    if (bytes !== undefined) return { _tag: "File", bytes }
    const files = yield* copies.recallFolder(integrity)
    return files === undefined ? { _tag: "None" } : { _tag: "Folder", files }
  }
)

/** A kept copy as the item that the lock names. */
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

/** Chains of different lengths are not compared link by link: then the links themselves are shown. */
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

const sideOf = (lock: StoredLock): Side => ({ name: showLock(lock), frozen: lock.lockfile })

/** `quotesAll`: for a person, who may see every text of a lock. */
export const diffLock = Effect.fn("diffLock")(function*(input: DiffLockInput, quotesAll = false) {
  const lockfiles = yield* Lockfiles
  const id = yield* withCategory(input.id, input.category)
  const { chain, now } = yield* lockfiles.validate({ id, tier: input.tier })
  const { category, tool_id: tool, version } = now.root
  const { invalid, locks } = yield* lockfiles.list({ toolId: tool })
  const own = locks.filter((lock) => lock.lockfile.root.category === category)
  const lockOf = (wanted: string) =>
    own.find((lock) => lock.lockfile.root.version === wanted && !lock.variant) ??
      own.find((lock) => lock.lockfile.root.version === wanted)
  const present: Side = {
    name: `${tool} ${version} as it is now`,
    frozen: now,
    snapshots: chain.links.map(({ snapshot }) => snapshot)
  }
  const lock = lockOf(version)
  const { against } = input
  let [left, right]: readonly [Side | undefined, Side] = [lock === undefined ? undefined : sideOf(lock), present]
  if (against !== undefined) {
    const other = lockOf(against)
    const read = other === undefined && input.file !== undefined
      ? yield* readFile(against, input.file, tool)
      : undefined
    right = left ?? present
    left = other !== undefined
      ? sideOf(other)
      : read === undefined
      ? undefined
      : { name: against, frozen: read }
  }
  if (left === undefined) {
    // An invalid lock with a remedy of its own is one of a restricted project, which is no answer here.
    const broken = invalid.find(({ remedy }) => remedy === undefined)
    return yield* broken ??
      new LockMissing({ tool, version: against ?? version, ...(against === undefined ? {} : { named: true }) })
  }
  const { findings, links } = yield* compareSides(left, right, quotesAll ? quoteAll : quoteKnown(now))
  const answer: LockDifference = {
    tool_id: tool,
    lockfile: left.name,
    with: right.name,
    same: findings.length === 0,
    links,
    others: findings.filter(({ link }) => link === undefined).map(showFinding)
  }
  return answer
})
