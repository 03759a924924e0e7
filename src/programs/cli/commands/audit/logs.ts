// logs, also called audit tail: the audit for reading.
import { Clock, Effect, Predicate, Stream } from "effect"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import type { AuditEntry } from "../../../../services/audit/AuditEntry.ts"
import { AuditLog } from "../../../../services/audit/AuditLog.ts"
import { BoundedMap } from "../../../../services/cache/BoundedMap.ts"
import { safeLine } from "../../../../services/error/safeText.ts"
import { withNext } from "../../help.ts"
import { Output } from "../../Output.ts"
import { inProject } from "../../root.ts"
import { duration, plural, table } from "../../text.ts"
import type { Paint } from "../../text.ts"
import { filterOf, filters, limit } from "./filters.ts"

/** What `audit` is for. */
export const auditGroup = Command.make("audit").pipe(
  Command.withDescription(
    "The record of every call, of what was looked up, and of every act of a person: append-only files under " +
      ".ai/logs/audit, each entry with the hash of the one before. Everything is recorded before it runs."
  ),
  Command.withShortDescription("The record of every call: check it, print it"),
  Command.withExamples([{ command: "kiwi audit verify" }, { command: "kiwi audit show --limit 5" }])
)

const outcomeOf = (outcome: string, paint: Paint): string =>
  outcome === "success" || outcome === "done"
    ? paint.green(outcome)
    : outcome === "agreed" || outcome === "asked"
    ? outcome
    : paint.red(outcome)

/** Parameters that say by themselves what a call is about. */
const speaking = ["command", "path", "url", "from", "to"]

/** What a call was asked to do, on one line: `npm test`, `src/a.ts old=…`. Secrets were removed before it was recorded. */
const showRequest = ({ parameters }: Request): string => {
  if (!Predicate.isObject(parameters)) return ""
  const said = Object.entries(parameters).toSorted(([a], [b]) => placeOf(a) - placeOf(b)).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value)
    return speaking.includes(name) ? text : `${name}=${text.slice(0, 40)}`
  })
  return safeLine(said.join(" "), 80)
}

const placeOf = (name: string): number => speaking.includes(name) ? speaking.indexOf(name) : speaking.length

/** A row with time, outcome, subject and reason; none for entries that only mark a beginning or an end. */
const logRow = (
  entry: AuditEntry,
  requests: BoundedMap<string, Request>,
  paint: Paint
): ReadonlyArray<string> | undefined => {
  const at = paint.dim(`${entry.at.slice(0, 10)} ${entry.at.slice(11, 19)}`)
  if (entry.kind === "result") {
    const { call, duration_ms, error, operation, outcome, rule, subject } = entry
    const why = error === undefined ? rule ?? "" : error.message
    const request = requests.get(call)
    const what = `${operation === undefined ? "" : `${safeLine(operation)} `}${paint.bold(safeLine(subject.item, 128))}`
    return [
      at,
      outcomeOf(outcome, paint),
      `${what} ${request === undefined ? "" : showRequest(request)}`.trimEnd(),
      request?.dry_run === true ? "dry run" : duration(duration_ms),
      paint.dim(safeLine(why, 160))
    ]
  }
  if (entry.kind === "read") {
    const { duration_ms, error, operation, outcome, query, rule, shown } = entry
    return [
      at,
      outcomeOf(outcome, paint),
      `${operation} ${paint.bold(safeLine(query, 128))}`,
      duration(duration_ms),
      paint.dim(
        error === undefined
          ? operation === "search" ? plural(shown.length, "hit") : shown[0]?.state ?? ""
          : safeLine(outcome === "denied" && rule !== undefined ? `by the rule ${rule}` : error.code)
      )
    ]
  }
  return entry.kind === "act"
    ? [
      at,
      outcomeOf(entry.outcome, paint),
      safeLine(entry.title),
      "",
      paint.dim(`by ${safeLine(entry.by)}${entry.seen === undefined ? "" : `: ${safeLine(entry.seen)}`}`)
    ]
    : undefined
}

/** Only the request says what was asked for, and whether it is a dry run. */
type Request = Extract<AuditEntry, { readonly kind: "request" }>
type Result = Extract<AuditEntry, { readonly kind: "result" }>

const isRequest = (entry: AuditEntry): entry is Request => entry.kind === "request"
const isResult = (entry: AuditEntry): entry is Result => entry.kind === "result"

const isShown = ({ kind }: AuditEntry): boolean => kind === "result" || kind === "read" || kind === "act"

/** So many requests are remembered until their result. */
const mostRequests = 1_000

const identityOf = ({ n, prev }: AuditEntry): string => `${n}:${prev}`

const makeLogs = (name: string, words: ReadonlyArray<string>) =>
  Command.make(name, {
    ...filters,
    limit: Flag.withDefault(limit, 20),
    follow: Flag.Boolean("follow").pipe(
      Flag.withoutNegation,
      Flag.withAlias("f"),
      Flag.withDescription("Keep running and show new entries. Ctrl-C ends it"),
      Flag.withDefault(false)
    )
  }, ({ follow, limit: most, ...rest }) =>
    Effect.gen(function*() {
      const output = yield* Output
      if (follow && output.json) {
        return yield* new CliError.ShowHelp({
          commandPath: ["kiwi", ...words],
          errors: [
            new CliError.ValidationError({
              message: "--follow keeps running, but --json prints one value and ends; programs use kiwi audit show"
            })
          ]
        })
      }
      const filter = yield* filterOf(rest)
      yield* inProject(() =>
        Effect.gen(function*() {
          const audit = yield* AuditLog
          const requests = new BoundedMap<string, Request>(mostRequests)
          const rows = (entries: ReadonlyArray<AuditEntry>, paint: Paint) =>
            table(entries.flatMap((entry) => {
              const row = logRow(entry, requests, paint)
              return row === undefined ? [] : [row]
            }))
          const note = (entries: ReadonlyArray<AuditEntry>): void => {
            for (const request of entries.filter(isRequest)) requests.set(request.call, request)
          }
          /** A filter by outcome or rule leaves the requests out. */
          const noteMissing = Effect.fnUntraced(function*(entries: ReadonlyArray<AuditEntry>) {
            note(entries)
            const calls = new Set(
              entries.filter(isResult).map(({ call }) => call).filter((call) => requests.get(call) === undefined)
            )
            if (calls.size > 0) note(yield* audit.read({ calls, limit: calls.size * 2 }))
          })
          const startedAt = yield* Clock.currentTimeMillis
          // A call from the command line is a session of its own with four entries, of which one is shown.
          const first = yield* audit.read({ ...filter, limit: most * 4 })
          note(first)
          const shown = first.filter(isShown).slice(-most)
          if (!output.json) yield* noteMissing(shown)
          yield* output.answer({ entries: shown }, (paint) => rows(shown, paint))
          if (shown.length === 0 && !output.json) {
            yield* output.say(
              Object.values(filter).some((value) => value !== undefined)
                ? "No entry is like that."
                : "Nothing has been recorded here."
            )
          }
          if (!follow) return
          // What was appended since `startedAt` may have been read already.
          const seen = new Set(first.map(identityOf))
          const appended = audit.follow({ ...filter, since: Math.max(startedAt, filter.since ?? 0), limit: 10_000 })
          yield* Stream.runForEachArray(appended, (some) => {
            const entries = some.map(({ entry }) => entry).filter((entry) => !seen.delete(identityOf(entry)))
            return Effect.andThen(noteMissing(entries), output.answer(null, (paint) => rows(entries, paint)))
          })
        })
      )
    }))

const description =
  "Show what has run, what was looked up, what was refused and why, and what people signed and trusted, newest last. " +
  "Read from the audit."

export const logsCommand = makeLogs("logs", ["logs"]).pipe(
  Command.withDescription(description),
  Command.withShortDescription("Show what has happened"),
  Command.withExamples([
    { command: "kiwi logs" },
    { command: "kiwi logs --outcome denied --limit 50", description: "What was refused" },
    { command: "kiwi logs --follow" }
  ]),
  withNext(["kiwi audit verify", "check that nobody changed it"], ["kiwi explain ID", "why something was refused"])
)

export const auditTailCommand = makeLogs("tail", ["audit", "tail"]).pipe(
  Command.withDescription(`${description} The same as kiwi logs.`),
  Command.withShortDescription("Show what has happened, and what happens"),
  Command.withExamples([
    { command: "kiwi audit tail -f", description: "Until you press Ctrl-C" },
    { command: "kiwi audit tail --since 2h --caller claude-code --rule shipped" }
  ]),
  withNext(["kiwi audit show CALL", "the entries of one call as they are stored"])
)
