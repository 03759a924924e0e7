// One session's audit in memory, with the same lines and the same chain. `lines` may be shared with a test that reads
// or changes them.
import { Clock, Effect, Layer, Option, type Redacted, Schema, Stream } from "effect"
import type { AuditAnchor } from "../../services/audit/AuditAnchor.ts"
import { AuditEntry, type AuditRecord, parseLink, zeros } from "../../services/audit/AuditEntry.ts"
import { AuditLog, type StoredEntry } from "../../services/audit/AuditLog.ts"
import { checkLines } from "../../services/audit/checkLines.ts"
import { type EntryFilter, makeMatches } from "../../services/audit/EntryFilter.ts"
import { entryLine, markLine } from "../../services/audit/entryLine.ts"
import { version } from "../../services/workspace/version.ts"
import { sha256 } from "../identity/sha256.ts"

const file = "memory.jsonl"

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(AuditEntry))

export const make = (lines: Array<string> = []) =>
  Effect.sync(() => {
    let n = 0
    let head = zeros
    const push = (line: string): void => {
      lines.push(line)
      n++
      head = sha256(line)
    }

    const append = Effect.fnUntraced(function*(
      record: AuditRecord,
      secrets: ReadonlyArray<Redacted.Redacted<string>> = []
    ) {
      const now = yield* Clock.currentTimeMillis
      if (n === 0) {
        push(markLine({ n: 1, now, prev: zeros }, {
          kind: "opened",
          project: "",
          session: "memory",
          kiwi: version,
          parent: { head: zeros, n: 0 },
          heads: { head: zeros, i: 0 }
        }))
      }
      push(entryLine({ n: n + 1, now, prev: head }, record, secrets))
    })

    const find = (filter: EntryFilter, from = 0): ReadonlyArray<StoredEntry> => {
      const matches = makeMatches(filter)
      return filter.file === undefined || filter.file === file
        ? lines.slice(from)
          .flatMap((line) => Option.toArray(Option.map(decode(line), (entry) => ({ entry, line }))))
          .filter(({ entry }) => matches(entry))
        : []
    }

    const newest = (limit: number, found: ReadonlyArray<StoredEntry>) => limit === 0 ? [] : found.slice(-limit)

    const read: AuditLog["Service"]["read"] = (filter = {}) =>
      Effect.sync(() => newest(filter.limit ?? 100, find(filter)).map(({ entry }) => entry))

    const follow: AuditLog["Service"]["follow"] = (filter = {}) =>
      Stream.suspend(() => {
        let from = lines.length
        const appended = Effect.sync(() => {
          const found = find(filter, from)
          from = lines.length
          return found
        })
        return Stream.concat(
          Stream.fromIterable(newest(filter.limit ?? 0, find(filter))),
          Stream.tick("500 millis").pipe(Stream.mapEffect(() => appended), Stream.flatMap(Stream.fromIterable))
        )
      })

    const verifyWith = (anchor?: AuditAnchor) =>
      Effect.sync(() => {
        const points = new Map<number, string>()
        if (n > 0) points.set(n, head)
        if (anchor !== undefined && anchor.n > 0) points.set(anchor.n, anchor.head)
        const check = checkLines({ file, first: { n: 1, prev: zeros }, points, final: undefined })
        for (const [index, line] of lines.entries()) {
          const link = parseLink(line)
          check.line({
            line: index + 1,
            hash: sha256(line),
            entry: link && { n: link.n, prev: link.prev, last: link.kind === "sealed" }
          })
        }
        const counts = { sealed: 0, recovered: 0, expired: 0, keys: [], problems: check.end(true) }
        return n === 0
          ? { ...counts, files: 0, entries: 0, open: [] }
          : { ...counts, files: 1, entries: lines.length, open: [file] }
      })

    return AuditLog.of({
      append,
      read,
      stream: (filter = {}) => Stream.suspend(() => Stream.fromIterable(find(filter))),
      follow,
      verify: verifyWith(),
      verifyAgainst: verifyWith,
      anchor: Effect.sync(() => ({ head, n })),
      prune: Effect.succeed([])
    })
  })

export const layerWith = (lines: Array<string>) => Layer.effect(AuditLog, make(lines))

export const layer = Layer.effect(AuditLog, Effect.suspend(() => make()))
