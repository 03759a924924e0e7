// audit verify, anchor and prune.
import { Effect, Option } from "effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { type AuditAnchor, parseAnchor, printAnchor } from "../../../../services/audit/AuditAnchor.ts"
import { AuditLog, type AuditProblem, type AuditReport } from "../../../../services/audit/AuditLog.ts"
import { safeLine } from "../../../../services/error/safeText.ts"
import { withNext } from "../../help.ts"
import { Output } from "../../Output.ts"
import { inProject } from "../../root.ts"
import type { Paint } from "../../text.ts"
import { definitions, plural } from "../../text.ts"

/** Nothing was proved to be changed, but these heads prove nothing. */
const isUnsigned = ({ problem }: AuditProblem): boolean => problem === "unsigned"

const verdict = ({ problems }: AuditReport, paint: Paint): string =>
  problems.length === 0
    ? paint.green("intact")
    : problems.every(isUnsigned)
    ? paint.yellow("not proved")
    : paint.red("not intact")

const showProblem = ({ detail, entry, file, line, problem }: AuditProblem, paint: Paint): string => {
  const place = `${safeLine(file, 400)}${line === 0 ? "" : `:${line}`}${
    entry === undefined || entry === line ? "" : ` (entry ${entry})`
  }`
  return `${isUnsigned({ problem } as AuditProblem) ? paint.yellow(problem) : paint.red(problem)}  ${place}  ${
    safeLine(detail, 400)
  }`
}

const show = (report: AuditReport, anchor: AuditAnchor | undefined, paint: Paint): string => {
  const { entries, expired, files, keys, open, problems, recovered } = report
  const states = [
    open.length === 0 ? "" : `${plural(open.length, "session")} still open`,
    recovered === 0 ? "" : `${recovered} recovered after a crash`,
    expired === 0 ? "" : `${plural(expired, "file")} expired`
  ].filter((state) => state !== "")
  return [
    `${verdict(report, paint)}: ${plural(entries, "entry", "entries")} in ${plural(files, "file")}${
      states.length === 0 ? "" : `, ${states.join(", ")}`
    }${anchor === undefined || problems.length > 0 ? "" : `; up to line ${anchor.n} it is what the anchor names`}`,
    ...(keys.length === 0 ? [] : [`signed by ${keys.join(", ")}`]),
    ...problems.map((one) => showProblem(one, paint))
  ].join("\n")
}

export const auditVerifyCommand = Command.make("verify", {
  anchor: Flag.String("anchor").pipe(
    Flag.withMetavar("TEXT"),
    Flag.filterMap(
      (text) => Option.fromUndefinedOr(parseAnchor(text)),
      () => "an anchor, as kiwi audit anchor printed it: kiwi-audit:41:…"
    ),
    Flag.withDescription("Also check that everything up to this anchor, which was kept elsewhere, is still the same"),
    Flag.optional
  )
}, (given) =>
  Effect.gen(function*() {
    const output = yield* Output
    const anchor = Option.getOrUndefined(given.anchor)
    const report = yield* output.busy("Reading the audit", () =>
      inProject(() =>
        Effect.flatMap(AuditLog, (audit) =>
          anchor === undefined ? audit.verify : audit.verifyAgainst(anchor))
      ))
    const intact = report.problems.length === 0
    if (!intact) {
      yield* output.failed
    }
    yield* output.answer({ intact, ...report }, (paint) =>
      show(report, anchor, paint))
  })).pipe(
    Command.withDescription(
      "Check that no entry of the audit was changed, removed, inserted or moved, that no file of it is missing, and that " +
        "its heads are signed by this installation. Says where. Exits with 1 if not."
    ),
    Command.withShortDescription("Check that nobody changed the audit"),
    Command.withExamples([{ command: "kiwi audit verify" }]),
    withNext(["kiwi audit anchor", "a line to keep elsewhere, which shows later changes to these files"])
  )

export const auditAnchorCommand = Command.make("anchor", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const anchor = yield* inProject(() => Effect.flatMap(AuditLog, (audit) => audit.anchor))
    const text = printAnchor(anchor)
    yield* output.answer({ ...anchor, text }, () =>
      definitions([["head", anchor.head], ["line", String(anchor.n)], ["anchor", text]], output.width))
  })).pipe(
    Command.withDescription(
      "Print the newest head of the audit, its number, and both as one word. Keep that elsewhere, for example in a mail or " +
        "a commit: it shows later whether the entries up to there are still the same."
    ),
    Command.withShortDescription("Print a head to keep elsewhere"),
    Command.withExamples([{ command: "kiwi audit anchor" }]),
    withNext(["kiwi audit verify --anchor TEXT", "check the audit against it"])
  )

export const auditPruneCommand = Command.make("prune", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const removed = yield* output.busy("Reading the audit", () =>
      inProject(() => Effect.flatMap(AuditLog, (audit) => audit.prune)))
    yield* output.answer({ removed }, () =>
      removed.length === 0
        ? "No whole file is older than audit.keep"
        : [`Removed ${plural(removed.length, "file")}:`, ...removed].join("\n"))
  })).pipe(
    Command.withDescription(
      "Remove sealed files of the audit that are older than the setting audit.keep. Every line of a file is verified first; " +
        "its signed heads stay, and an entry says what was removed. A running server does this by itself."
    ),
    Command.withShortDescription("Remove files older than audit.keep"),
    Command.withExamples([{ command: "kiwi audit prune" }]),
    withNext(["kiwi audit verify", "check what is left"])
  )
