// Entries as a stream: all that there are, file by file; and those that are being appended. Needs little memory,
// whatever the files' size.
import { Effect, Option, Result, Stream } from "effect"
import * as fs from "node:fs"
import { parseHead, parseObject } from "../../services/audit/AuditEntry.ts"
import type { StoredEntry } from "../../services/audit/AuditLog.ts"
import { type EntryFilter, hintsOf, makeMatches } from "../../services/audit/EntryFilter.ts"
import { type AuditFolder, type AuditFolders, openToRead } from "./auditFolders.ts"
import { openHeads } from "./headsFile.ts"
import { linesOf } from "./lines.ts"
import { byTime, decodeEntry, isWanted, readStored, sessionFiles } from "./readEntries.ts"

/** How many entries are in memory at once. One can have 64 KiB. */
const chunk = 16

const makeTake = (filter: EntryFilter) => {
  const hints = hintsOf(filter)
  const matches = makeMatches(filter)
  return (line: string | undefined): StoredEntry | undefined => {
    if (line === undefined || !hints.every((hint) => line.includes(hint))) return undefined
    const fields = parseObject(line)
    if (fields === undefined || !matches(fields)) return undefined
    return Option.getOrUndefined(Option.map(decodeEntry(line), (entry) => ({ entry, line })))
  }
}

/** Undefined if the file cannot be read. */
const openOrSkip = (open: () => number | undefined): number | undefined => Result.getOrUndefined(Result.try(open))

function* entriesOf(fd: number, take: ReturnType<typeof makeTake>): Generator<StoredEntry> {
  for (const { text } of linesOf(fd)) {
    const entry = take(text)
    if (entry !== undefined) yield entry
  }
}

/** The entries of all sessions that match, the oldest session first. */
export const streamEntries = (state: string, folders: AuditFolders, filter: EntryFilter): Stream.Stream<StoredEntry> =>
  Stream.unwrap(Effect.gen(function*() {
    const files = yield* Effect.orElseSucceed(sessionFiles(state, folders), () => [])
    const take = makeTake(filter)
    const ofFile = (place: AuditFolder, file: string) =>
      Stream.unwrap(Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => openOrSkip(() => openToRead(place, file))),
          (fd) => Effect.sync(() => fd === undefined ? undefined : fs.closeSync(fd))
        ),
        (fd) => fd === undefined ? Stream.empty : Stream.fromIterable(entriesOf(fd, take), { chunkSize: chunk })
      ))
    const wanted = files.filter(isWanted(filter)).toSorted((a, b) => a.file < b.file ? -1 : 1)
    return Stream.flatMap(Stream.fromIterable(wanted), ({ file, place }) => ofFile(place, file))
  }))

/** Reads the whole lines after `offset`, and returns the offset after the last one. */
const readFrom = (open: () => number | undefined, offset: number, use: (text: string | undefined) => void): number => {
  const fd = openOrSkip(open)
  if (fd === undefined) return offset
  try {
    let after = offset
    for (const { next, text, whole } of linesOf(fd, offset)) {
      if (!whole) break
      use(text)
      after = next
    }
    return after
  } catch {
    return offset
  } finally {
    fs.closeSync(fd)
  }
}

/** Returns what reads the entries that were appended since it was last called. */
const makeFollower = (state: string, folders: AuditFolders, filter: EntryFilter) => {
  const take = makeTake(filter)
  /** Files of sessions that have not ended, and how far they were read. */
  const files = new Map<string, { readonly place: AuditFolder; offset: number; hasEnded: boolean }>()
  let heads = 0

  const readHeads = (isFirst: boolean): void => {
    heads = readFrom(() => openHeads(state), heads, (text) => {
      const head = text === undefined ? undefined : parseHead(text)
      const place = head && folders[head.place]
      if (head === undefined || place === undefined) return
      const known = files.get(head.file)
      if (head.state === "opened") files.set(head.file, { place, offset: 0, hasEnded: false })
      else if (known !== undefined && head.state !== "running") {
        if (isFirst) files.delete(head.file)
        else known.hasEnded = true
      }
    })
  }

  readHeads(true)
  for (const [file, known] of files) {
    known.offset = readFrom(() => openToRead(known.place, file), 0, () => undefined)
  }

  return (): ReadonlyArray<StoredEntry> => {
    readHeads(false)
    const found: Array<StoredEntry> = []
    for (const [file, known] of files) {
      known.offset = readFrom(() => openToRead(known.place, file), known.offset, (text) => {
        const entry = take(text)
        if (entry !== undefined) found.push(entry)
      })
      if (known.hasEnded) files.delete(file)
    }
    return found.toSorted((a, b) => byTime(a.entry, b.entry))
  }
}

/** The newest `limit` entries, then those that are appended. */
export const followEntries = (
  state: string,
  folders: AuditFolders,
  filter: EntryFilter & { readonly limit?: number }
): Stream.Stream<StoredEntry> =>
  Stream.unwrap(Effect.gen(function*() {
    const appended = yield* Effect.sync(() => makeFollower(state, folders, filter))
    // An entry that is appended while these are read comes from both.
    const first = yield* readStored(state, folders, { ...filter, limit: filter.limit ?? 0 })
    const seen = new Set(first.map(({ line }) => line))
    return Stream.concat(
      Stream.fromIterable(first),
      Stream.tick("500 millis").pipe(
        Stream.flatMap(() => Stream.fromIterable(appended())),
        Stream.filter((stored) => !seen.delete(stored.line))
      )
    )
  }))
