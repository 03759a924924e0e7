// Turns an entry into the line that is written: redacted, and at most 64 KiB long. Values are redacted before they are
// cut, so that no part of a secret remains at the edge.
import type { Redacted, Schema } from "effect"
import { escapeJson } from "../error/safeText.ts"
import { isJsonArray } from "../schema/json.ts"
import type { AuditExpired, AuditOpened, AuditRecord, AuditSealed } from "./AuditEntry.ts"
import { redactParameters, redactText, redactWords } from "./redaction.ts"
import { redactUrls } from "./urlSecrets.ts"

/** Bytes of a line, newline included. */
export const maxLine = 65_536

export interface LinePlace {
  readonly n: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly prev: string
}

type Mark<A> = A extends unknown ? Omit<A, "v" | "n" | "at" | "prev"> : never
/** An entry that the log itself writes to a session's file. */
export type AuditMark = Mark<typeof AuditOpened.Type | typeof AuditExpired.Type | typeof AuditSealed.Type>

type Secrets = ReadonlyArray<Redacted.Redacted<string>>

/** Ids and digests are not redacted by value: that would hide what ran. */
const redacted = (record: AuditRecord, secrets: Secrets): AuditRecord => {
  const clean = (text: string) => redactUrls(redactText(text, secrets))
  switch (record.kind) {
    case "request":
      return { ...record, parameters: redactParameters(record.parameters, secrets) }
    case "result":
      return {
        ...record,
        ...(record.rule === undefined ? {} : { rule: clean(record.rule) }),
        ...(record.error === undefined ? {} : {
          error: {
            code: record.error.code,
            message: clean(record.error.message),
            ...(record.error.allow === undefined ? {} : { allow: clean(record.error.allow) })
          }
        })
      }
    case "read":
      return {
        ...record,
        query: redactWords(record.query, secrets),
        ...(record.filters === undefined ? {} : { filters: redactParameters(record.filters, secrets) })
      }
    case "act":
      return { ...record, title: clean(record.title) }
  }
}

interface Measure {
  readonly string: number
  readonly items: number
  readonly depth: number
}

const measures: ReadonlyArray<Measure> = [
  { string: 16_384, items: 4_096, depth: 64 },
  { string: 4_096, items: 256, depth: 16 },
  { string: 512, items: 64, depth: 8 },
  { string: 128, items: 16, depth: 4 }
]

const cutText = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}‹cut: ${text.length - most} of ${text.length} characters›`

const cut = (value: Schema.Json, measure: Measure, depth: number): Schema.Json => {
  if (typeof value === "string") return cutText(value, measure.string)
  if (typeof value !== "object" || value === null) return value
  if (depth >= measure.depth) return "‹cut: nested too deeply›"
  if (isJsonArray(value)) {
    const kept = value.slice(0, measure.items).map((item) => cut(item, measure, depth + 1))
    return value.length <= measure.items ? kept : [...kept, `‹cut: ${value.length - measure.items} of ${value.length}›`]
  }
  const entries = Object.entries(value)
  const kept = entries.slice(0, measure.items).map(([key, inner]): [string, Schema.Json] => [
    cutText(key, measure.string),
    cut(inner, measure, depth + 1)
  ])
  const rest = entries.length - kept.length
  return Object.fromEntries(rest === 0 ? kept : [...kept, [`‹cut: ${rest} of ${entries.length} keys›`, null]])
}

const encoder = new TextEncoder()
const fits = (line: string): boolean =>
  line.length * 3 < maxLine || (line.length < maxLine && encoder.encode(line).length < maxLine)

/** The latest time that was written out: most calls begin and end in one millisecond. */
let latest = { now: 0, at: new Date(0).toISOString() }

const base = ({ n, now, prev }: LinePlace) => {
  if (now !== latest.now) latest = { now, at: new Date(now).toISOString() }
  return { v: 1, n, at: latest.at, prev }
}

/** One line for every reader, also for those that break lines at U+2028 or U+0085. */
const written = (entry: object): string => escapeJson(JSON.stringify(entry))

/** The line of one of the log's own entries, without the newline. */
export const markLine = (place: LinePlace, entry: AuditMark): string => written({ ...base(place), ...entry })

/** The line of a record, without the newline. */
export const entryLine = (place: LinePlace, record: AuditRecord, secrets: Secrets): string => {
  const safe = redacted(record, secrets)
  const head = base(place)
  const line = written({ ...head, ...safe })
  if (fits(line)) return line
  const text = (measure: Measure, value: object) =>
    written({ ...head, ...(cut(value as Schema.JsonObject, measure, 0) as Schema.JsonObject) })
  for (const measure of measures) {
    const shorter = text(measure, safe)
    if (fits(shorter)) return shorter
  }
  const rest = safe.kind === "request" ? { ...safe, parameters: `‹cut: ${line.length} characters›` } : safe
  return text(measures.at(-1)!, rest)
}
