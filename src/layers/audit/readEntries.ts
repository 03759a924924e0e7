// The newest entries that match a filter, from the files of all sessions in the list of heads. Keeps only what it
// returns.
import { Effect, Option, Order, Predicate, Schema } from "effect"
import { join } from "node:path"
import { AuditEntry, parseHead, parseObject } from "../../services/audit/AuditEntry.ts"
import { statOf } from "../files/believe.ts"
import type { AuditFolder, AuditFolders } from "./auditFolders.ts"
import { openToRead } from "./auditFolders.ts"
import { openHeads } from "./headsFile.ts"
import { forEachLine, withFile } from "./lines.ts"

export interface EntryFilter {
  readonly limit?: number
  readonly call?: string
  readonly item?: string
  readonly outcome?: string
}

const maxEntries = 100_000
const maxBytes = 67_108_864

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(AuditEntry))

/** Whether an entry matches the filter. */
export const matches = (entry: { readonly [key: string]: unknown }, filter: EntryFilter): boolean => {
  const { call, outcome } = entry
  return (filter.call === undefined || call === filter.call) &&
    (filter.outcome === undefined || outcome === filter.outcome) &&
    (filter.item === undefined || isAbout(entry, filter.item))
}

/** Whether the entry is about this item: it was requested by that name, or shown under it. */
const isAbout = (
  { query, shown, subject }: { readonly [key: string]: unknown },
  item: string
): boolean =>
  (Predicate.isReadonlyObject(subject) && subject["item"] === item) || query === item ||
  (Array.isArray(shown) && shown.some((one) => Predicate.isReadonlyObject(one) && one["id"] === item))

interface Kept {
  readonly at: string
  readonly n: number
  readonly text: string
}

const byTime = Order.Struct({ at: Order.String, n: Order.Number })

/** The `limit` newest of the entries kept so far and the new ones. */
const newest = (kept: ReadonlyArray<Kept>, limit: number): Array<Kept> => {
  const sorted = kept.toSorted(byTime).slice(-limit)
  let bytes = 0
  const from = sorted.findLastIndex(({ text }) => (bytes += text.length) > maxBytes)
  return sorted.slice(from + 1)
}

interface SessionFile {
  readonly place: AuditFolder
  readonly file: string
  /** In milliseconds. */
  readonly changed: number
}

const sessionFiles = Effect.fnUntraced(function*(state: string, folders: AuditFolders) {
  const found: Array<SessionFile> = []
  yield* withFile(() => openHeads(state), (fd) =>
    forEachLine(fd, ({ text }) => {
      if (text?.includes("\"opened\"") !== true) return
      const head = parseHead(text)
      const place = head === undefined ? undefined : folders[head.place]
      if (head?.state !== "opened" || place === undefined) return
      const stat = statOf(join(place.root, place.path, head.file))
      if (stat?.isFile() === true) found.push({ place, file: head.file, changed: Number(stat.mtimeMs) })
    }))
  return found.toSorted((a, b) => b.changed - a.changed)
})

/** How far a file's modification time may lag behind its entries' times, in milliseconds. */
const slack = 2_000

export const readEntries = Effect.fnUntraced(function*(state: string, folders: AuditFolders, filter: EntryFilter) {
  const limit = Math.max(0, Math.min(filter.limit ?? 100, maxEntries))
  if (limit === 0) return []
  const hints = [filter.call, filter.item, filter.outcome].flatMap((word) =>
    word === undefined ? [] : [JSON.stringify(word)]
  )
  let kept: Array<Kept> = []
  const files = yield* Effect.orElseSucceed(sessionFiles(state, folders), () => [])
  for (const { changed, file, place } of files) {
    if (kept.length >= limit && Date.parse(kept[0]!.at) > changed + slack) break
    let since = 0
    const scan = withFile(() => openToRead(place, file), (fd) =>
      forEachLine(fd, ({ text }) => {
        if (text === undefined || !hints.every((hint) => text.includes(hint))) return
        const entry = parseObject(text)
        if (entry === undefined || !matches(entry, filter)) return
        const { at, n } = entry
        if (typeof at !== "string" || typeof n !== "number") return
        kept.push({ at, n, text })
        if (++since < 2 * limit + 1_000) return
        kept = newest(kept, limit)
        since = 0
      }))
    yield* Effect.ignore(scan)
    kept = newest(kept, limit)
  }
  return kept.flatMap(({ text }) => Option.toArray(decode(text)))
})
