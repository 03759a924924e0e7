// audit and logs: check and print the audit, and show it for reading.
import { Effect, Option, Ref, Stream } from "effect"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import type { AuditEntry } from "../../../services/audit/AuditEntry.ts"
import { AuditLog } from "../../../services/audit/AuditLog.ts"
import { Outcome } from "../../../services/call/callOutcome.ts"
import { safeLine } from "../../../services/error/safeText.ts"
import { withNext } from "../help.ts"
import { Output, printJson } from "../Output.ts"
import { inProject } from "../root.ts"
import { definitions, duration, plural, table } from "../text.ts"
import type { Paint } from "../text.ts"

export const auditVerifyCommand = Command.make("verify", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const report = yield* output.busy("Reading the audit", () =>
      inProject(() => Effect.flatMap(AuditLog, (audit) => audit.verify)))
    const intact = report.problems.length === 0
    if (!intact) {
      yield* output.failed
    }
    yield* output.answer({ intact, ...report }, (paint) =>
      [
        `${intact ? paint.green("intact") : paint.red("not intact")}: ${
          plural(report.entries, "entry", "entries")
        } in ${plural(report.files, "file")}${
          report.open.length === 0 ? "" : `, ${plural(report.open.length, "session")} still open`
        }`,
        ...report.problems.map(({ detail, file, line, problem }) =>
          `${paint.red(problem)}  ${safeLine(file, 400)}${line === 0 ? "" : `:${line}`}  ${safeLine(detail, 400)}`
        )
      ].join("\n"))
  })).pipe(
    Command.withDescription(
      "Check that no entry of the audit was changed, removed, inserted or moved, and that no file of it is missing. " +
        "Exits with 1 if one was."
    ),
    Command.withShortDescription("Check that nobody changed the audit"),
    Command.withExamples([{ command: "kiwi audit verify" }]),
    withNext(["kiwi audit anchor", "a number to keep elsewhere, which shows later changes to these files"])
  )

const filters = {
  limit: Flag.Int("limit").pipe(
    Flag.withAlias("n"),
    Flag.withMetavar("N"),
    Flag.filter((n) => n >= 1 && n <= 10_000, () => "a number from 1 to 10000"),
    Flag.withDescription("How many entries, the newest ones"),
    Flag.withDefault(20)
  ),
  item: Flag.String("item").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("Only entries about this item"),
    Flag.optional
  ),
  outcome: Flag.Literals("outcome", Outcome.literals).pipe(
    Flag.withMetavar("OUTCOME"),
    Flag.withDescription("Only entries with this outcome"),
    Flag.optional
  )
}

interface Filters {
  readonly limit: number
  readonly item: Option.Option<string>
  readonly outcome: Option.Option<string>
}

const filterOf = ({ item, limit, outcome }: Filters, call: Option.Option<string>) => ({
  limit,
  ...(Option.isSome(item) ? { item: item.value } : {}),
  ...(Option.isSome(outcome) ? { outcome: outcome.value } : {}),
  ...(Option.isSome(call) ? { call: call.value } : {})
})

export const auditShowCommand = Command.make("show", {
  ...filters,
  call: Flag.String("call").pipe(
    Flag.withMetavar("CALL"),
    Flag.withDescription("Only the entries of one call, by the call_id of its result"),
    Flag.optional
  )
}, ({ call, ...rest }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const entries = yield* inProject(() => Effect.flatMap(AuditLog, (audit) => audit.read(filterOf(rest, call))))
    yield* output.answer({ entries }, () => entries.map((entry) => printJson(entry)).join("\n"))
  })).pipe(
    Command.withDescription("Print entries of the audit as they are stored, oldest first, one JSON object a line."),
    Command.withShortDescription("Print entries as they are stored"),
    Command.withExamples([
      { command: "kiwi audit show --limit 5" },
      { command: "kiwi audit show --item add --outcome denied" }
    ]),
    withNext(["kiwi logs", "the same for reading"])
  )

export const auditAnchorCommand = Command.make("anchor", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const anchor = yield* inProject(() => Effect.flatMap(AuditLog, (audit) => audit.anchor))
    yield* output.answer(anchor, () => definitions([["head", anchor.head], ["line", String(anchor.n)]], output.width))
  })).pipe(
    Command.withDescription(
      "Print the newest head of the audit and its number. Keep them elsewhere, for example in a mail or a commit: they show " +
        "later whether the entries up to there are still the same."
    ),
    Command.withShortDescription("Print a head to keep elsewhere"),
    Command.withExamples([{ command: "kiwi audit anchor" }]),
    withNext(["kiwi audit verify", "check the audit now"])
  )

/** What `audit` is for. Its commands are above. */
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

/** A row with time, outcome, subject and reason; none for entries that only mark a beginning or an end. */
const logRow = (entry: AuditEntry, dryRuns: ReadonlySet<string>, paint: Paint): ReadonlyArray<string> | undefined => {
  const at = paint.dim(`${entry.at.slice(0, 10)} ${entry.at.slice(11, 19)}`)
  if (entry.kind === "result") {
    const { call, duration_ms, error, operation, outcome, rule, subject } = entry
    const why = error === undefined ? rule ?? "" : error.message
    return [
      at,
      outcomeOf(outcome, paint),
      `${operation === undefined ? "" : `${safeLine(operation)} `}${paint.bold(safeLine(subject.item, 128))}`,
      dryRuns.has(call) ? "dry run" : duration(duration_ms),
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

/** Only the request says that a call is a dry run. */
const dryRunsOf = (entries: ReadonlyArray<AuditEntry>): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => entry.kind === "request" && entry.dry_run === true ? [entry.call] : []))

const identityOf = (entry: AuditEntry): string => `${entry.n}:${entry.prev}`

export const logsCommand = Command.make("logs", {
  ...filters,
  follow: Flag.Boolean("follow").pipe(
    Flag.withoutNegation,
    Flag.withAlias("f"),
    Flag.withDescription("Keep running and show new entries. Ctrl-C ends it"),
    Flag.withDefault(false)
  )
}, ({ follow, ...rest }) =>
  Effect.gen(function*() {
    const output = yield* Output
    if (follow && output.json) {
      return yield* new CliError.ShowHelp({
        commandPath: ["kiwi", "logs"],
        errors: [
          new CliError.ValidationError({
            message: "--follow keeps running, but --json prints one value and ends; programs use kiwi audit show"
          })
        ]
      })
    }
    const filter = filterOf(rest, Option.none())
    yield* inProject(() =>
      Effect.gen(function*() {
        const audit = yield* AuditLog
        // A call from the command line is a session of its own with four entries, of which one is shown.
        const read = audit.read({ ...filter, limit: filter.limit * 4 })
        const first = yield* read
        const lines = (entries: ReadonlyArray<AuditEntry>, all: ReadonlyArray<AuditEntry>, paint: Paint) => {
          const dryRuns = dryRunsOf(all)
          return table(entries.flatMap((entry) => {
            const row = logRow(entry, dryRuns, paint)
            return row === undefined ? [] : [row]
          }))
        }
        const shown = first.filter(({ kind }) => kind === "result" || kind === "read" || kind === "act").slice(
          -filter.limit
        )
        yield* output.answer({ entries: shown }, (paint) => lines(shown, first, paint))
        if (shown.length === 0 && !output.json) yield* output.say("Nothing has been recorded here.")
        if (!follow) return
        const seen = yield* Ref.make(new Set(first.map(identityOf)))
        yield* Stream.tick("500 millis").pipe(
          Stream.runForEach(() =>
            Effect.gen(function*() {
              const known = yield* Ref.get(seen)
              const now = yield* read
              yield* Ref.set(seen, new Set(now.map(identityOf)))
              const fresh = now.filter((entry) => !known.has(identityOf(entry)))
              yield* output.answer(null, (paint) => lines(fresh, now, paint))
            })
          )
        )
      })
    )
  })).pipe(
    Command.withDescription(
      "Show what has run, what was looked up, what was refused and why, and what people signed and trusted, newest last. " +
        "Read from the audit."
    ),
    Command.withShortDescription("Show what has happened"),
    Command.withExamples([
      { command: "kiwi logs" },
      { command: "kiwi logs --outcome denied --limit 50", description: "What was refused" },
      { command: "kiwi logs --follow" }
    ]),
    withNext(["kiwi audit verify", "check that nobody changed it"], ["kiwi explain ID", "why something was refused"])
  )
