// lockfile freeze, update and prune: make, renew and remove locks.
import { Duration, Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { LockScope } from "../../../services/lockfile/LockfileStore.ts"
import { showLock } from "../../../services/lockfile/lockName.ts"
import type { FrozenLock, FrozenLocks } from "../../../services/lockfile/lockReport.ts"
import { freezeLocks, pruneLocks, updateLocks } from "../../lockfile.ts"
import { withNext } from "../help.ts"
import { withGate, yesFlag } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { indented, plural, table, tableWithNotes } from "../text.ts"
import type { Paint } from "../text.ts"
import { tierFlag } from "./search.ts"

export const categoryFlag = Flag.String("category").pipe(
  Flag.withAlias("c"),
  Flag.withMetavar("CATEGORY"),
  Flag.withDescription(
    "The tool's folder below tools, if its id alone is not unique; for a list, this folder and those below"
  ),
  Flag.optional,
  Flag.map(Option.getOrUndefined)
)

export const scopeFlag = Flag.Literals("scope", LockScope.literals).pipe(
  Flag.withMetavar("SCOPE"),
  Flag.withDescription("Whose locks: project or user"),
  Flag.optional,
  Flag.map(Option.getOrUndefined)
)

const dryRunFlag = Flag.Boolean("dry-run").pipe(
  Flag.withoutNegation,
  Flag.withDescription("Only show what it would do"),
  Flag.withDefault(false)
)

const dependentsFlag = Flag.String("dependents-of").pipe(
  Flag.withMetavar("ID"),
  Flag.withDescription("Every tool in whose locked chain this one is, such as all that run by a runtime"),
  Flag.optional,
  Flag.map(Option.getOrUndefined)
)

export const toolArgument = (description: string) => Argument.String("tool").pipe(Argument.withDescription(description))

/** Wrong usage that the parser cannot detect. */
export const usage = (command: string, message: string) =>
  new CliError.ShowHelp({
    commandPath: ["kiwi", "lockfile", command],
    errors: [new CliError.ValidationError({ message })]
  })

const changeWord = ({ change }: FrozenLock, dryRun: boolean, paint: Paint): string =>
  change === "same"
    ? paint.dim("unchanged")
    : dryRun
    ? paint.yellow(change === "new" ? "would lock" : "would replace")
    : paint.green(change === "new" ? "locked" : "replaced")

const frozenText = ({ dry_run, locks }: FrozenLocks, paint: Paint, width: number): string =>
  tableWithNotes(
    locks.map((lock) => ({
      cells: [
        changeWord(lock, dry_run, paint),
        paint.bold(safeLine(lock.tool_id)),
        safeLine(lock.version),
        paint.dim(lock.path === undefined ? lock.scope : safeLine(showLock({ ...lock, path: lock.path }), 400))
      ],
      notes: lock.differences.map((line) => safeLine(line, 400))
    })),
    width
  )

/**
 * Prints the answer of freeze and update. Tools that could not be locked are listed on stderr, and the command exits
 * with 1.
 */
const answerFrozen = Effect.fnUntraced(function*(done: FrozenLocks, nothing: string) {
  const output = yield* Output
  if (done.refused.length > 0) yield* output.failed
  yield* output.answer(done, (paint) => frozenText(done, paint, output.width))
  if (output.json) return
  for (const { error, tool } of done.refused) {
    yield* output.say(
      `${output.talkPaint.yellow("not locked")}: ${safeLine(tool, 400)}\n${
        indented(safeText(error.message).split("\n"))
      }${
        error.remediation === undefined
          ? ""
          : `\n${indented([`${output.talkPaint.cyan("hint")}: ${safeText(error.remediation)}`])}`
      }`
    )
  }
  if (done.locks.length === 0 && done.refused.length === 0) yield* output.say(nothing)
})

export const lockfileFreezeCommand = Command.make("freeze", {
  tool: toolArgument("Its id, category/id, or a glob over them in quotes: add, math/add, 'math/*', '**'").pipe(
    Argument.optional,
    Argument.map(Option.getOrUndefined)
  ),
  dependentsOf: dependentsFlag,
  category: categoryFlag,
  scope: scopeFlag,
  tier: tierFlag,
  variant: Flag.Boolean("variant").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Keep the lock that is there, and lock this chain beside it"),
    Flag.withDefault(false)
  ),
  dryRun: dryRunFlag,
  yes: yesFlag
}, ({ tier, tool: id, yes, ...input }) =>
  Effect.gen(function*() {
    if (id === undefined && input.dependentsOf === undefined) {
      return yield* usage("freeze", "Name a tool, a glob, or --dependents-of ID")
    }
    const by = yield* caller
    const output = yield* Output
    const done = yield* output.busy("Locking", () =>
      inProject(() => freezeLocks({ id, tier: Option.getOrUndefined(tier), ...input }, by)).pipe(withGate(yes)))
    yield* answerFrozen(done, "No lock has this tool in its chain.")
  })).pipe(
    Command.withDescription(
      "Lock a tool as it is now: its chain with every version and digest, what it requires, its interpreter and packages. " +
        "Signing does this automatically. Replacing a different lock is your act, and you are shown what changes; if " +
        "lockfile.mode is strict, every lock is your act. A lock can only refuse: it makes nothing trusted."
    ),
    Command.withShortDescription("Lock a tool's chain as it is now"),
    Command.withExamples([
      { command: "kiwi lockfile freeze add" },
      { command: "kiwi lockfile freeze 'math/*' --dry-run", description: "What would be locked in a category" },
      {
        command: "kiwi lockfile freeze --dependents-of own_runtime",
        description: "Every tool that runs with it, in one question"
      }
    ]),
    withNext(["kiwi lockfile diff TOOL", "what differs, before you replace a lock"])
  )

export const lockfileUpdateCommand = Command.make("update", {
  tool: toolArgument("Only this tool's, or a glob over tools. Default: every lock that is outdated").pipe(
    Argument.optional,
    Argument.map(Option.getOrUndefined)
  ),
  dependentsOf: dependentsFlag,
  category: categoryFlag,
  scope: scopeFlag,
  dryRun: dryRunFlag,
  yes: yesFlag
}, ({ tool: id, yes, ...input }) =>
  Effect.gen(function*() {
    const by = yield* caller
    const output = yield* Output
    const done = yield* output.busy("Checking the locks", () =>
      inProject(() => updateLocks({ id, ...input }, by)).pipe(withGate(yes)))
    yield* answerFrozen(done, "Every lock matches its tool.")
  })).pipe(
    Command.withDescription(
      "Lock again every tool that differs from its lock, for example all tools of a runtime that has a new version within " +
        "the range that they ask for. One question shows every change. A tool without a lock gets none."
    ),
    Command.withShortDescription("Lock again what has changed"),
    Command.withExamples([
      { command: "kiwi lockfile update" },
      { command: "kiwi lockfile update add" },
      { command: "kiwi lockfile update --dependents-of own_runtime --dry-run" }
    ]),
    withNext(["kiwi lockfile outdated", "what it would update"])
  )

const units: Readonly<Record<string, number>> = { "": 86_400_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }

/** Days, or a number with its unit. */
const readAge = (text: string): number | undefined => {
  const match = /^(\d{1,9})([dhms]?)$/.exec(text)
  const ms = match === null ? undefined : Number(match[1]) * units[match[2]!]!
  return ms === undefined || ms > 36_500 * units["d"]! ? undefined : ms
}

const olderThanFlag = Flag.String("older-than").pipe(
  Flag.withMetavar("DAYS"),
  Flag.withDescription(
    "Unused for this long: days, or 12h, 30m, 10s. Default: the setting lockfile.keep, 90 days"
  ),
  Flag.filter((text) => readAge(text) !== undefined, () => "Expected days, or a number with d, h, m or s: 90, 12h"),
  Flag.map(readAge),
  Flag.optional,
  Flag.map(Option.getOrUndefined)
)

export const lockfilePruneCommand = Command.make("prune", {
  olderThan: olderThanFlag,
  category: categoryFlag,
  scope: scopeFlag,
  dryRun: dryRunFlag,
  yes: yesFlag
}, ({ yes, ...input }) =>
  Effect.gen(function*() {
    const by = yield* caller
    const output = yield* Output
    const done = yield* inProject(() => pruneLocks(input, by)).pipe(withGate(yes))
    yield* output.answer(done, (paint) =>
      table(done.removed.map((lock) => [
        done.dry_run ? paint.yellow("would remove") : paint.green("removed"),
        paint.bold(safeLine(lock.tool_id)),
        safeLine(lock.version),
        paint.dim(safeLine(showLock(lock), 400))
      ])))
    if (!output.json && done.removed.length === 0) {
      const days = Duration.toDays(Duration.millis(done.older_than))
      yield* output.say(
        `No lock has been unused for ${days >= 1 ? plural(Math.floor(days), "day") : "that long"}.`
      )
    }
  })).pipe(
    Command.withDescription(
      "Remove locks that matched no call and no validation for a long time: those of versions that are gone, and of tools that are not run any more. " +
        "Removing one sooner than lockfile.keep is your act. A file that is not a lock is not touched."
    ),
    Command.withShortDescription("Remove locks that nothing uses any more"),
    Command.withExamples([
      { command: "kiwi lockfile prune --dry-run" },
      { command: "kiwi lockfile prune --older-than 30 --scope user" }
    ]),
    withNext(["kiwi lockfile list", "the locks, and when each last matched"])
  )

/** What `lockfile` is for. Its commands are above and in lockfileChecks.ts. */
export const lockfileGroup = Command.make("lockfile").pipe(
  Command.withDescription(
    "A lock records the chain with which a tool was last accepted: versions, digests, interpreter, packages. Locks are in " +
      ".ai/lockfiles, for you to commit. A signature proves what each file is; a lock, that the tool is still made of the same files."
  ),
  Command.withShortDescription("Lock the chains of tools, and check them"),
  Command.withExamples([{ command: "kiwi lockfile validate add" }, { command: "kiwi lockfile verify --frozen" }])
)
