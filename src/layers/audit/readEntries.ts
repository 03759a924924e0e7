// The newest entries that match, over all sessions' files that the list of heads names. Holds as much as it returns.
import { Effect, Option, Schema } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { AuditEntry, parseHead } from "../../services/audit/AuditEntry.ts"
import { openHeads } from "./headsFile.ts"
import { linesOf } from "./lines.ts"
import type { Place, Places } from "./places.ts"
import { openToRead } from "./places.ts"

export interface EntryFilter {
  readonly limit?: number
  readonly call?: string
  readonly item?: string
  readonly outcome?: string
}

const maxEntries = 100_000
const maxBytes = 67_108_864

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(AuditEntry))

/** Whether an entry is one that was asked for. */
export const matches = (entry: AuditEntry, { call, item, outcome }: EntryFilter): boolean =>
  (call === undefined || ("call" in entry && entry.call === call)) &&
  (item === undefined || ("subject" in entry && entry.subject.item === item)) &&
  (outcome === undefined || ("outcome" in entry && entry.outcome === outcome))

interface Kept {
  readonly at: string
  readonly n: number
  readonly entry: AuditEntry
  readonly bytes: number
}

const byTime = (a: Kept, b: Kept): number => a.at < b.at ? -1 : a.at > b.at ? 1 : a.n - b.n

/** The newest of both, as many as may be kept. */
const newest = (kept: ReadonlyArray<Kept>, limit: number): Array<Kept> => {
  const sorted = kept.toSorted(byTime).slice(-limit)
  let bytes = 0
  const from = sorted.findLastIndex((k) => (bytes += k.bytes) > maxBytes)
  return sorted.slice(from + 1)
}

interface SessionFile {
  readonly place: Place
  readonly file: string
  readonly changed: number
}

const sessionFiles = (state: string, places: Places): ReadonlyArray<SessionFile> => {
  const fd = openHeads(state)
  if (fd === undefined) return []
  const found: Array<SessionFile> = []
  try {
    for (const { text } of linesOf(fd)) {
      if (text?.includes("\"opened\"") !== true) continue
      const head = parseHead(text)
      const place = head === undefined ? undefined : places[head.place]
      if (head?.state !== "opened" || place === undefined) continue
      const stat = fs.lstatSync(join(place.root, place.path, head.file), { throwIfNoEntry: false })
      if (stat?.isFile() === true) found.push({ place, file: head.file, changed: stat.mtimeMs })
    }
  } finally {
    fs.closeSync(fd)
  }
  return found.toSorted((a, b) => b.changed - a.changed)
}

/** How far a file's time may lag behind that of its entries. */
const slack = 2_000

export const readEntries = Effect.fnUntraced(function*(state: string, places: Places, filter: EntryFilter) {
  const limit = Math.max(0, Math.min(filter.limit ?? 100, maxEntries))
  const hints = [filter.call, filter.item, filter.outcome].flatMap((word) =>
    word === undefined ? [] : [JSON.stringify(word)]
  )
  let kept: Array<Kept> = []
  if (limit === 0) return []
  for (const { changed, file, place } of yield* Effect.sync(() => sessionFiles(state, places))) {
    if (kept.length >= limit && Date.parse(kept[0]!.at) > changed + slack) break
    const fd = yield* Effect.sync(() => openToRead(place, file))
    if (fd === undefined) continue
    const scan = Effect.gen(function*() {
      let since = 0
      for (const { number, text } of linesOf(fd)) {
        if (number % 2_000 === 0) yield* Effect.yieldNow
        if (text === undefined || !hints.every((hint) => text.includes(hint))) continue
        const entry = Option.getOrUndefined(decode(text))
        if (entry === undefined || !matches(entry, filter)) continue
        kept.push({ at: entry.at, n: entry.n, entry, bytes: text.length })
        if (++since >= 2 * limit + 1_000) {
          kept = newest(kept, limit)
          since = 0
        }
      }
      kept = newest(kept, limit)
    })
    yield* Effect.ensuring(scan, Effect.sync(() => fs.closeSync(fd)))
  }
  return kept.map(({ entry }) => entry)
})
