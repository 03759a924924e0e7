// The newest entries that match a filter, from the files of all sessions in the list of heads. Keeps only what it
// returns.
import { Effect, Option, Order, Schema } from "effect"
import { join } from "node:path"
import { AuditEntry, parseHead, parseObject } from "../../services/audit/AuditEntry.ts"
import type { StoredEntry } from "../../services/audit/AuditLog.ts"
import { type EntryFilter, hintsOf, makeMatches } from "../../services/audit/EntryFilter.ts"
import { statOf } from "../files/believe.ts"
import type { AuditFolder, AuditFolders } from "./auditFolders.ts"
import { openToRead } from "./auditFolders.ts"
import { openHeads } from "./headsFile.ts"
import { forEachLine, withFile } from "./lines.ts"

const maxEntries = 100_000
const maxBytes = 67_108_864

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(AuditEntry))

interface Kept {
  readonly at: string
  readonly n: number
  readonly text: string
}

export const byTime = Order.Struct({ at: Order.String, n: Order.Number })

/** The `limit` newest of the entries kept so far and the new ones. */
const newest = (kept: ReadonlyArray<Kept>, limit: number): Array<Kept> => {
  const sorted = kept.toSorted(byTime).slice(-limit)
  let bytes = 0
  const from = sorted.findLastIndex(({ text }) => (bytes += text.length) > maxBytes)
  return sorted.slice(from + 1)
}

export interface SessionFile {
  readonly place: AuditFolder
  readonly file: string
  /** In milliseconds. */
  readonly changed: number
}

/** The files of all sessions, the most recently changed first. */
export const sessionFiles = Effect.fnUntraced(function*(state: string, folders: AuditFolders) {
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

/** Whether a file may have entries that match. */
export const isWanted = ({ file: name, since }: EntryFilter) => ({ changed, file }: SessionFile): boolean =>
  (name === undefined || file === name || file.endsWith(`/${name}`)) &&
  (since === undefined || changed + slack >= since)

export const decodeEntry = (text: string): Option.Option<AuditEntry> => decode(text)

export const readStored = Effect.fnUntraced(function*(
  state: string,
  folders: AuditFolders,
  filter: EntryFilter & { readonly limit?: number }
) {
  const limit = Math.max(0, Math.min(filter.limit ?? 100, maxEntries))
  if (limit === 0) return []
  const hints = hintsOf(filter)
  let kept: Array<Kept> = []
  const files = yield* Effect.orElseSucceed(sessionFiles(state, folders), () => [])
  for (const { changed, file, place } of files.filter(isWanted(filter))) {
    if (kept.length >= limit && Date.parse(kept[0]!.at) > changed + slack) break
    const matches = makeMatches(filter)
    let since = 0
    const scan = withFile(() => openToRead(place, file), (fd) =>
      forEachLine(fd, ({ text }) => {
        if (text === undefined || !hints.every((hint) => text.includes(hint))) return
        const entry = parseObject(text)
        if (entry === undefined || !matches(entry)) return
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
  return kept.flatMap(({ text: line }): ReadonlyArray<StoredEntry> =>
    Option.toArray(Option.map(decodeEntry(line), (entry) => ({ entry, line })))
  )
})
