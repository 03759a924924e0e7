// One session's audit in memory, with the same lines and the same chain. `lines` may be shared with a test that reads
// or changes them.
import { Clock, Effect, Layer, Option, type Redacted, Schema } from "effect"
import { AuditEntry, type AuditRecord, parseLink, zeros } from "../../services/audit/AuditEntry.ts"
import { AuditLog } from "../../services/audit/AuditLog.ts"
import { checkLines } from "../../services/audit/checkLines.ts"
import { entryLine, markLine } from "../../services/audit/entryLine.ts"
import { version } from "../../services/workspace/version.ts"
import { sha256 } from "../identity/sha256.ts"
import { type EntryFilter, matches } from "./readEntries.ts"

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

    const read = (filter: EntryFilter = {}) =>
      Effect.sync(() => {
        const found = lines.flatMap((line) => Option.toArray(decode(line))).filter((entry) => matches(entry, filter))
        return filter.limit === 0 ? [] : found.slice(-(filter.limit ?? 100))
      })

    const verify = Effect.sync(() => {
      const check = checkLines({
        file,
        first: { n: 1, prev: zeros },
        points: n === 0 ? new Map<number, string>() : new Map([[n, head]]),
        final: undefined
      })
      for (const [index, line] of lines.entries()) {
        const link = parseLink(line)
        check.line({
          line: index + 1,
          hash: sha256(line),
          entry: link && { n: link.n, prev: link.prev, last: link.kind === "sealed" }
        })
      }
      const problems = check.end(true)
      return n === 0
        ? { files: 0, entries: 0, open: [], problems }
        : { files: 1, entries: lines.length, open: [file], problems }
    })

    return AuditLog.of({ append, read, verify, anchor: Effect.sync(() => ({ head, n })) })
  })

export const layerWith = (lines: Array<string>) => Layer.effect(AuditLog, make(lines))

export const layer = Layer.effect(AuditLog, Effect.suspend(() => make()))
