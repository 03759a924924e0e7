// lockfile validate, list, diff, verify and outdated: check and show locks.
import { Effect, Option, Path } from "effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { listLocks, outdatedLocks, validateLocks, verifyLocks } from "../../../layers/lockfile/uses/checkLocks.ts"
import type { LockDifference } from "../../../layers/lockfile/uses/diffLock.ts"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { LockScopeMissing } from "../../../services/lockfile/LockfileStore.ts"
import { showLock } from "../../../services/lockfile/lockName.ts"
import type { LockStatus, VerifiedStatus } from "../../../services/lockfile/lockReport.ts"
import type { FrozenProblem, VerifiedFrozen } from "../../verifyFrozen.ts"
import { withNext } from "../help.ts"
import { Output } from "../Output.ts"
import { inProject, projectKey } from "../root.ts"
import { Shell } from "../Shell.ts"
import { definitions, indented, plural, table, tableWithNotes, wrap } from "../text.ts"
import type { Paint } from "../text.ts"
import { categoryFlag, scopeFlag, toolArgument, usage } from "./lockfile.ts"
import { tierFlag } from "./search.ts"

const fine: ReadonlySet<LockStatus | VerifiedStatus> = new Set(["locked", "built-in", "held"])
const harmless: ReadonlySet<LockStatus | VerifiedStatus> = new Set(["other chain", "no tool", "other version"])

const stateText = (state: LockStatus | VerifiedStatus, paint: Paint): string =>
  fine.has(state) ? paint.green(state) : harmless.has(state) ? paint.dim(state) : paint.red(state)

interface Row {
  readonly state: LockStatus | VerifiedStatus
  readonly name: ReadonlyArray<string>
  readonly differences: ReadonlyArray<string>
  readonly error?: { readonly message: string; readonly remediation?: string } | undefined
}

/** One line for each lock, and below it the differences, or why they are unknown. */
const rowsText = (rows: ReadonlyArray<Row>, paint: Paint, width: number): string =>
  tableWithNotes(
    rows.map(({ differences, error, name, state }) => {
      const why = differences.length > 0 || error === undefined ? differences : [error.message]
      const hint = error?.remediation
      return {
        cells: [stateText(state, paint), ...name],
        notes: [...why.map(safeText), ...(hint === undefined ? [] : [`${paint.cyan("hint")}: ${safeText(hint)}`])]
      }
    }),
    width
  )

export const lockfileValidateCommand = Command.make("validate", {
  tool: toolArgument("Its id, category/id, or a glob over them in quotes: add, math/add, '**'"),
  category: categoryFlag,
  tier: tierFlag
}, ({ category, tier, tool }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const done = yield* output.busy("Checking the locks", () =>
      inProject(() => validateLocks({ id: tool, category, tier: Option.getOrUndefined(tier) })))
    if (!done.ok) {
      yield* output.failed
    }
    yield* output.answer(done, (paint) =>
      rowsText(
        done.tools.map(({ differences, error, lockfile, state, tool_id, version }) => ({
          state,
          differences,
          error,
          name: [
            paint.bold(safeLine(tool_id)),
            safeLine(version),
            ...(lockfile === undefined ? [] : [paint.dim(safeLine(lockfile, 400))])
          ]
        })),
        paint,
        output.width
      ))
  })).pipe(
    Command.withDescription(
      "Check whether a tool's chain matches its lock: every version, digest, tier and path, its requirements, its " +
        "interpreter and packages. Exits with 1 if it does not, or if there is no lock."
    ),
    Command.withShortDescription("Check whether a tool matches its lock"),
    Command.withExamples([
      { command: "kiwi lockfile validate add" },
      { command: "kiwi lockfile validate '**'", description: "All tools of the project" }
    ]),
    withNext(["kiwi lockfile diff TOOL", "what differs, with the texts"])
  )

export const lockfileListCommand = Command.make("list", {
  tool: Flag.String("tool").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("Only locks of the tool with this id"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  version: Flag.String("tool-version").pipe(
    Flag.withMetavar("VERSION"),
    Flag.withDescription("Only locks of this version of a tool"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  category: categoryFlag,
  scope: scopeFlag
}, ({ tool: toolId, ...filter }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const found = yield* inProject(() => listLocks({ toolId, ...filter }))
    yield* output.answer(found, (paint) =>
      table(found.locks.map((lock) => [
        paint.bold(safeLine(lock.tool_id)),
        safeLine(lock.version),
        safeLine(lock.category),
        lock.scope,
        lock.variant ? lock.chain_hash : "",
        lock.last_validated === undefined ? "never matched" : `matched ${safeLine(lock.last_validated.slice(0, 10))}`,
        paint.dim(safeLine(lock.chain.join(" → "), 200))
      ])))
    if (output.json) return
    for (const { issue, lockfile } of found.invalid) {
      yield* output.say(`${output.talkPaint.yellow("no lock")}: ${safeLine(lockfile, 400)}: ${safeText(issue)}`)
    }
    if (found.locks.length === 0 && found.invalid.length === 0) yield* output.say("There are no locks here.")
  })).pipe(
    Command.withDescription(
      "List the locks of the project and yours, with their chains, and when each last matched a call or a validation. " +
        "Files that are not locks are listed on stderr."
    ),
    Command.withShortDescription("List locks"),
    Command.withExamples([
      { command: "kiwi lockfile list" },
      { command: "kiwi lockfile list --category math --scope project" },
      { command: "kiwi lockfile list --tool add --json" }
    ]),
    withNext(["kiwi lockfile prune", "remove what nothing uses any more"])
  )

const diffText = (found: LockDifference, paint: Paint): string =>
  [
    `${paint.bold(safeLine(found.lockfile, 400))} against ${paint.bold(safeLine(found.with, 400))}: ${
      found.same ? paint.green("the same") : paint.red("not the same")
    }`,
    ...found.links.map(({ diff, differences, kept, path, tool_id }) =>
      [
        `\n${paint.bold(safeLine(tool_id))}  ${paint.dim(safeLine(path, 400))}`,
        indented(differences.map(({ field, locked, now }) => safeLine(`${field}: ${locked} → ${now}`, 400))),
        ...(diff === undefined
          ? kept ? [] : [indented([paint.dim("The text that was locked is no longer kept here.")])]
          : [safeText(diff).trimEnd()])
      ].join("\n")
    ),
    ...(found.others.length === 0 ? [] : ["", ...found.others.map((line) => safeLine(line, 400))])
  ].join("\n")

export const lockfileDiffCommand = Command.make("diff", {
  tool: toolArgument("Its id, or category/id: add, math/add"),
  against: Flag.String("against").pipe(
    Flag.withMetavar("VERSION|FILE"),
    Flag.withDescription("Compare its lock with another: of another version, or in a file"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  category: categoryFlag,
  tier: tierFlag
}, ({ against, category, tier, tool: id }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const shell = yield* Shell
    const path = yield* Path.Path
    const { diffLock } = yield* Effect.promise(() => import("../../../layers/lockfile/uses/diffLock.ts"))
    const found = yield* inProject(() =>
      diffLock({
        id,
        category,
        tier: Option.getOrUndefined(tier),
        against,
        file: against === undefined ? undefined : path.resolve(shell.cwd, against)
      }, true)
    )
    yield* output.answer(found, (paint) => diffText(found, paint))
  })).pipe(
    Command.withDescription(
      "Show the differences between a tool's lock and the tool as it is now: link by link, field by field, and the changed " +
        "text if Kiwi still keeps what was locked. Or the differences between two locks."
    ),
    Command.withShortDescription("What differs from a lock"),
    Command.withExamples([
      { command: "kiwi lockfile diff add" },
      { command: "kiwi lockfile diff add --against 1.0.0", description: "The lock of an earlier version" },
      { command: "kiwi lockfile diff add --against /tmp/theirs.lock.json", description: "The other side of a merge" }
    ]),
    withNext(["kiwi lockfile freeze TOOL", "accept what is there now"])
  )

export const lockfileOutdatedCommand = Command.make(
  "outdated",
  { category: categoryFlag, scope: scopeFlag },
  (input) =>
    Effect.gen(function*() {
      const output = yield* Output
      const { outdated } = yield* output.busy("Checking the locks", () => inProject(() => outdatedLocks(input)))
      yield* output.answer({ outdated }, (paint) =>
        rowsText(
          outdated.map((lock) => ({
            state: lock.error === undefined ? "changed" : "error",
            name: [
              paint.bold(safeLine(lock.tool_id)),
              safeLine(lock.version),
              paint.dim(safeLine(showLock(lock), 400))
            ],
            differences: lock.differences,
            error: lock.error
          })),
          paint,
          output.width
        ))
      if (!output.json && outdated.length === 0) yield* output.say("Every lock matches its tool.")
    })
).pipe(
  Command.withDescription(
    "List locks whose tool would run with a different chain now: a link was changed and signed again, or has a new " +
      "version within the range that executor_id gives."
  ),
  Command.withShortDescription("List locks that differ from their tools"),
  Command.withExamples([{ command: "kiwi lockfile outdated" }, { command: "kiwi lockfile outdated --category math" }]),
  withNext(["kiwi lockfile update", "lock them again"])
)

const problemsText = (problems: ReadonlyArray<FrozenProblem>, paint: (text: string) => string, width: number): string =>
  tableWithNotes(
    problems.map(({ item, message, problem, remediation }) => ({
      cells: [paint(problem), safeLine(item, 800)],
      notes: [safeText(message), ...(remediation === "" ? [] : [`hint: ${safeText(remediation)}`])]
    })),
    width
  )

const signerText = ({ by, name }: VerifiedFrozen["trust"]["signers"][number]): string =>
  `${safeLine(name, 80)}${by === "you" ? " (you)" : ""}`

const trustText = ({ trust }: VerifiedFrozen): string => {
  const who = trust.signers.length === 0 ? "nobody" : trust.signers.map(signerText).join(", ")
  return trust.from === "file"
    ? `Trusted signers, from ${safeLine(trust.file ?? "", 400)}: ${who}.`
    : `Trusted signers, from the checkout's own .ai/config/trust.yaml and your key: ${who}. Whoever can change the ` +
      "checkout can change that file too, so this only proves that the checkout is consistent. Name the signers from " +
      "outside with --trust FILE or KIWI_TRUST_ROOT."
}

const frozenText = (found: VerifiedFrozen, paint: Paint, width: number): string => {
  const { base, checked, ok, problems, warnings } = found
  const control = base?.changed.length ?? 0
  return [
    `${ok ? paint.green("frozen") : paint.red("not frozen")}: ${plural(checked.tool, "tool")}, ${
      plural(checked.directive, "directive")
    }, ${plural(checked.knowledge, "knowledge entry", "knowledge entries")}, ${plural(checked.lock, "lock")}${
      ok ? "" : `; ${plural(problems.length, "problem")}`
    }`,
    ...wrap(trustText(found), width),
    ...(problems.length === 0 ? [] : ["", problemsText(problems, paint.red, width)]),
    ...(warnings.length === 0 ? [] : ["", problemsText(warnings, paint.yellow, width)]),
    ...(base === undefined ? [] : [
      "",
      `${control === 0 ? "No control file or lock is" : "Control files and locks that are"} different from ${
        safeLine(base.ref)
      } (${base.commit.slice(0, 12)})${control === 0 ? "." : ", to be reviewed:"}`,
      ...(control === 0 ? [] : [
        definitions(base.changed.map(({ change, path }) => [change, safeLine(path, 400)]), width)
      ])
    ])
  ].join("\n")
}

const verifyFrozenCommand = Effect.fnUntraced(function*(
  given: { readonly trust: string | undefined; readonly base: string | undefined }
) {
  const output = yield* Output
  const shell = yield* Shell
  const path = yield* Path.Path
  const project = yield* projectKey
  if (project === "") return yield* new LockScopeMissing({ scope: "project" })
  // An empty value, as from a secret that a pipeline does not have, is refused: it must not fall back to the checkout's
  // own signers.
  const trust = given.trust ?? shell.env["KIWI_TRUST_ROOT"]
  if (trust === "") {
    const { TrustRootRefused } = yield* Effect.promise(() => import("../../trustRoot.ts"))
    return yield* new TrustRootRefused({
      file: given.trust === undefined ? "KIWI_TRUST_ROOT" : "--trust",
      issue: "it is empty",
      hint: "Give it the path of a file, or leave it out to use the checkout's own signers"
    })
  }
  const { verifyFrozen } = yield* Effect.promise(() => import("../../verifyFrozen.ts"))
  const GitTreeProcess = yield* Effect.promise(() => import("../../../layers/git/GitTreeProcess.ts"))
  const found = yield* output.busy("Checking every item", () =>
    verifyFrozen({
      project,
      base: given.base,
      trust: trust === undefined ? undefined : path.resolve(shell.cwd, trust)
    }).pipe(Effect.provide(GitTreeProcess.layer)))
  if (!found.ok) yield* output.failed
  yield* output.answer(found, (paint) => frozenText(found, paint, output.width))
})

const verifyCommand = Effect.fnUntraced(function*(filter: Parameters<typeof verifyLocks>[0]) {
  const output = yield* Output
  const done = yield* output.busy("Checking the locks", () => inProject(() => verifyLocks(filter)))
  if (!done.ok) yield* output.failed
  yield* output.answer(done, (paint) =>
    rowsText(
      done.locks.map(({ differences, error, lockfile, state }) => ({
        state,
        differences,
        error,
        name: [safeLine(lockfile, 400)]
      })),
      paint,
      output.width
    ))
  if (output.json) return
  if (done.locks.length === 0) yield* output.say("There are no locks here.")
  if (done.unlocked !== undefined) {
    yield* output.say(
      `${done.unlocked} signed tool${done.unlocked === 1 ? " has" : "s have"} no lock: kiwi sign tool '**' --changed`
    )
  }
})

export const lockfileVerifyCommand = Command.make("verify", {
  frozen: Flag.Boolean("frozen").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Everything in .ai must be signed by a trusted key, locked and unchanged"),
    Flag.withDefault(false)
  ),
  trust: Flag.String("trust").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription(
      "With --frozen: a file outside the checkout that names the trusted signers, in the form of .ai/config/trust.yaml"
    ),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  base: Flag.String("base").pipe(
    Flag.withMetavar("REF"),
    Flag.withDescription("With --frozen: list control files and locks that are not as in this commit"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  category: categoryFlag,
  scope: scopeFlag
}, ({ base, category, frozen, scope, trust }) =>
  Effect.gen(function*() {
    if (!frozen) {
      if (base === undefined && trust === undefined) return yield* verifyCommand({ category, scope })
      return yield* usage("verify", "--trust and --base go with --frozen")
    }
    if (category === undefined && scope === undefined) return yield* verifyFrozenCommand({ base, trust })
    return yield* usage("verify", "--frozen is about all of the project; leave --category and --scope out")
  })).pipe(
    Command.withDescription(
      "Check every lock against its tool. With --frozen, for CI: every tool, directive and knowledge entry of the " +
        "project and every link of a chain must be signed by a trusted key, every tool locked and unchanged, and nothing " +
        "unreadable, ambiguous or invalid. This runs nothing of the project, asks nobody, and needs no key and no trust " +
        "on the machine. Exits with 1 if something was found."
    ),
    Command.withShortDescription("Check every lock against its tool; --frozen for CI"),
    Command.withExamples([
      { command: "kiwi lockfile verify" },
      {
        command: "kiwi lockfile verify --frozen --trust /etc/kiwi/trust.yaml --base origin/main",
        description: "In CI, with signers that the checkout cannot change"
      }
    ]),
    withNext(["kiwi lockfile diff TOOL", "what differs"], ["kiwi lockfile update", "accept it"])
  )
