// audit show, stats and export: entries as they are stored, counted, and for other programs.
import { Effect, FileSystem, Option, type PlatformError, Stream } from "effect"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { AuditLog, type StoredEntry } from "../../../../services/audit/AuditLog.ts"
import { type AuditStats, makeStats } from "../../../../services/audit/auditStats.ts"
import type { EntryFilter } from "../../../../services/audit/EntryFilter.ts"
import { escapeJson, safeLine } from "../../../../services/error/safeText.ts"
import { version } from "../../../version.ts"
import { InvalidUsage } from "../../failure.ts"
import { withNext } from "../../help.ts"
import { Output, printJson } from "../../Output.ts"
import { inProject } from "../../root.ts"
import { Shell } from "../../Shell.ts"
import { definitions, duration, plural, table } from "../../text.ts"
import type { Paint } from "../../text.ts"
import { filterOf, filters, limit } from "./filters.ts"
import { makeSpans, type Span, tracesData } from "./otelSpans.ts"

const few = 20
const many = 10_000

/** A call's id, an entry's number or a session's file. */
const subjectFilter = (subject: string): EntryFilter =>
  /^\d{1,15}$/.test(subject)
    ? { n: Number(subject) }
    : subject.endsWith(".jsonl")
    ? { file: subject.split("/").slice(-2).join("/") }
    : { call: subject }

export const auditShowCommand = Command.make("show", {
  subject: Argument.String("subject").pipe(
    Argument.withDescription("A call's id, an entry's number, or a session's file. Default: the newest entries"),
    Argument.optional
  ),
  ...filters,
  limit: Flag.optional(limit),
  call: Flag.String("call").pipe(
    Flag.withMetavar("CALL"),
    Flag.withDescription("Only the entries of one call, by the call_id of its result"),
    Flag.optional
  )
}, ({ call, limit: given, subject, ...rest }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const filter = {
      ...(yield* filterOf(rest)),
      ...Option.match(call, { onNone: () => ({}), onSome: (id) => ({ call: id }) }),
      ...Option.match(subject, { onNone: () => ({}), onSome: subjectFilter }),
      limit: Option.getOrElse(given, () => Option.isSome(subject) ? many : few)
    }
    const entries = yield* inProject(() => Effect.flatMap(AuditLog, (audit) => audit.read(filter)))
    yield* output.answer({ entries }, () => entries.map((entry) => printJson(entry)).join("\n"))
  })).pipe(
    Command.withDescription("Print entries of the audit as they are stored, oldest first, one JSON object a line."),
    Command.withShortDescription("Print entries as they are stored"),
    Command.withExamples([
      { command: "kiwi audit show --limit 5" },
      { command: "kiwi audit show 41", description: "The entry with this number" },
      { command: "kiwi audit show --item add --outcome denied --since 7d" }
    ]),
    withNext(["kiwi logs", "the same for reading"])
  )

const counts = (title: string, of: Readonly<Record<string, number>>): ReadonlyArray<readonly [string, string]> => {
  const shown = Object.entries(of).slice(0, 10).map(([name, count]) => `${safeLine(name, 60)} ${count}`)
  return shown.length === 0 ? [] : [[title, shown.join(", ")]]
}

const showStats = (stats: AuditStats, width: number, paint: Paint): string => {
  const { callers, entries, errors, from, items, operations, outcomes, rules, sessions, to } = stats
  if (from === null || to === null) return "Nothing has been recorded here."
  const rows = items.slice(0, 20).map(({ asked, calls, denied, failed, item, max_ms, mean_ms }) => [
    paint.bold(safeLine(item, 60)),
    plural(calls, "call"),
    asked === 0 ? "" : `${asked} asked`,
    failed === 0 ? "" : paint.red(`${failed} failed`),
    denied === 0 ? "" : paint.red(`${denied} denied`),
    `${duration(mean_ms)} on average, ${duration(max_ms)} at most`
  ])
  return [
    definitions([
      ["entries", `${entries}, in ${plural(sessions, "session")}`],
      ["from", from],
      ["to", to],
      ...counts("outcomes", outcomes),
      ...counts("operations", operations),
      ...counts("callers", callers),
      ...counts("rules", rules),
      ...counts("errors", errors)
    ], width),
    ...(rows.length === 0 ? [] : [table(rows)])
  ].join("\n\n")
}

export const auditStatsCommand = Command.make("stats", filters, (given) =>
  Effect.gen(function*() {
    const output = yield* Output
    const filter = yield* filterOf(given)
    const stats = makeStats()
    yield* output.busy("Reading the audit", () =>
      inProject(() =>
        Effect.flatMap(AuditLog, (audit) =>
          Stream.runForEach(audit.stream(filter), ({ entry }) =>
            Effect.sync(() => stats.add(entry))))
      ))
    const result = stats.result()
    yield* output.answer(result, (paint) =>
      showStats(result, output.width, paint))
  })).pipe(
    Command.withDescription(
      "Count the entries of the audit: by outcome, operation, caller, rule and error, and the calls of each item with their " +
        "durations."
    ),
    Command.withShortDescription("Count calls, refusals and failures"),
    Command.withExamples([
      { command: "kiwi audit stats" },
      { command: "kiwi audit stats --since 24h --caller claude-code" }
    ]),
    withNext(["kiwi logs --outcome denied", "what was refused"])
  )

const spansPerLine = 200

/** One line of an OTLP file for every 200 spans. */
const otelLines = (entries: Stream.Stream<StoredEntry>): Stream.Stream<string> =>
  Stream.suspend(() => {
    const spans = makeSpans()
    return entries.pipe(
      Stream.flatMap(({ entry }) => Stream.fromIterable(spans.add(entry))),
      Stream.concat(Stream.suspend(() => Stream.fromIterable(spans.end()))),
      Stream.grouped(spansPerLine),
      Stream.map((some: ReadonlyArray<Span>) => printJson(tracesData(some, version)))
    )
  })

const cannotWrite = (file: string) => (error: PlatformError.PlatformError): InvalidUsage =>
  new InvalidUsage({
    command: "kiwi audit export",
    issue: `${safeLine(file, 200)} cannot be written: ${
      error.reason._tag === "AlreadyExists" ? "it exists already" : "choose a file in a folder that is writable for you"
    }`
  })

export const auditExportCommand = Command.make("export", {
  ...filters,
  format: Flag.Literals("format", ["jsonl", "otel"]).pipe(
    Flag.withMetavar("FORMAT"),
    Flag.withDescription("jsonl: the stored lines. otel: OpenTelemetry traces, as a file of OTLP in JSON"),
    Flag.withDefault("jsonl")
  ),
  output: Flag.String("output").pipe(
    Flag.withAlias("o"),
    Flag.withMetavar("FILE"),
    Flag.withDescription("Write to this file, which must not exist yet. Default: stdout"),
    Flag.optional
  )
}, ({ format, output: file, ...rest }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const { stdout } = yield* Shell
    const files = yield* FileSystem.FileSystem
    if (output.json && Option.isNone(file)) {
      return yield* new CliError.ShowHelp({
        commandPath: ["kiwi", "audit", "export"],
        errors: [
          new CliError.ValidationError({
            message: "--json prints one value, and an export has many: give the export a file with --output"
          })
        ]
      })
    }
    const filter = yield* filterOf(rest)
    let count = 0
    const isShown = Option.isNone(file) && output.isTerminal
    const write = <E>(sink: (text: string) => Effect.Effect<void, E>) =>
      inProject(() =>
        Effect.flatMap(AuditLog, (audit) => {
          const entries = Stream.tap(audit.stream(filter), () => Effect.sync(() => count++))
          const lines = format === "otel"
            ? otelLines(entries)
            : Stream.map(entries, ({ line }) => isShown ? escapeJson(line) : line)
          return Stream.runForEachArray(lines, (some) => sink(`${some.join("\n")}\n`))
        })
      )
    if (Option.isNone(file)) return yield* write(stdout.write)
    yield* output.busy("Reading the audit", () =>
      Effect.scoped(Effect.gen(function*() {
        const opened = yield* files.open(file.value, { flag: "wx", mode: 0o600 }).pipe(
          Effect.mapError(cannotWrite(file.value))
        )
        const encoder = new TextEncoder()
        yield* write((text) => Effect.mapError(opened.writeAll(encoder.encode(text)), cannotWrite(file.value)))
      })))
    yield* output.answer({ entries: count, file: file.value }, () =>
      `Wrote ${plural(count, "entry", "entries")} to ${safeLine(file.value, 400)}`)
  })).pipe(
    Command.withDescription(
      "Write the entries of the audit for other programs, session by session: as the lines that are stored, or as " +
        "OpenTelemetry traces with one span for each call. Traces leave the parameters out. Nothing is sent anywhere."
    ),
    Command.withShortDescription("Write entries for other programs"),
    Command.withExamples([
      { command: "kiwi audit export --since 7d --output week.jsonl" },
      { command: "kiwi audit export --format otel --output traces.json" }
    ]),
    withNext(["kiwi audit verify", "check that the entries are whole first"])
  )
