// permissions: the rules of what agents may do.
import { Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { safeLine } from "../../../services/error/safeText.ts"
import type { Outcome } from "../../../services/permission/rule/Rule.ts"
import { checkPermissions } from "../../checkPermissions.ts"
import { type ExplainedAccess, type ExplainedCall, explainPermissions } from "../../explainPermissions.ts"
import type { ListedRules, RuleProblem } from "../../permissions.ts"
import { addPermission, listRules, removePermission } from "../../permissions.ts"
import { requireProfile } from "../../profiles.ts"
import { withNext } from "../help.ts"
import { withGate, yesFlag } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject, projectKey } from "../root.ts"
import { indented, type Paint, table } from "../text.ts"
import { paramsFlag } from "./run.ts"

const problemLine = ({ file, hint, issue, line }: RuleProblem): string =>
  `${file}, line ${line}: ${safeLine(issue, 400)}. ${safeLine(hint, 200)}`

const rulesTable = ({ remembered, rules }: ListedRules, paint: Paint): string =>
  table([
    ...rules.map(({ id, reason, rule }) => [
      id,
      paint.bold(safeLine(rule, 400)),
      reason === undefined ? "" : paint.dim(safeLine(reason, 300))
    ]),
    ...remembered.map(({ at, by, client, id, ran, rule, session }) => [
      id,
      paint.bold(safeLine(ran === undefined ? rule : `has run: ${rule.replace("allow: ", "")}`, 400)),
      paint.dim(safeLine(`for ${client}${session === undefined ? "" : ", in one session"}: ${by}, ${at}`, 300))
    ])
  ])

export const permissionsListCommand = Command.make("list", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const listed = yield* inProject(() => listRules())
    yield* output.answer({ ...listed }, (paint) =>
      listed.rules.length + listed.remembered.length === 0
        ? "There are no rules: what Kiwi ships with decides."
        : rulesTable(listed, paint))
    if (!output.json && listed.problems.length > 0) yield* output.say(indented(listed.problems.map(problemLine)))
  })).pipe(
    Command.withDescription(
      "Show every rule of your permissions.yaml and of the project's, and the answers that Kiwi remembers in this project, " +
        "each with the id that remove takes."
    ),
    Command.withShortDescription("Show the rules and the remembered answers"),
    Command.withExamples([{ command: "kiwi permissions list" }]),
    withNext(["kiwi permissions explain TOOL", "which rule decides"])
  )

const about: Readonly<
  Record<Outcome, { readonly description: string; readonly short: string; readonly example: string }>
> = {
  allow: {
    description:
      "Let agents do something without a question, where no rule asks or denies. You are shown the change of " +
      "the file first. What Kiwi protects stays denied: .git, .ai, start-up files of shells and settings of editors.",
    short: "Add a rule that allows",
    example: "kiwi permissions allow 'shell.run(npm test)'"
  },
  ask: {
    description: "Be asked before agents do something, also where another rule allows it.",
    short: "Add a rule that asks",
    example: "kiwi permissions ask 'fs.write(migrations/**)'"
  },
  deny: {
    description: "Refuse something to agents, whatever other rules and answers say.",
    short: "Add a rule that denies",
    example: "kiwi permissions deny 'fs.write(infra/**)' --reason 'infra is changed by hand'"
  }
}

const makeAddCommand = (outcome: Outcome) =>
  Command.make(outcome, {
    rule: Argument.String("rule").pipe(
      Argument.withDescription(
        "What it is about: fs.read|fs.write|fs.delete(PATHS), process.exec(COMMANDS), net.http(HOSTS), secret.use(NAMES), " +
          "TOOL, TOOL(SCOPES), SOURCE/*"
      )
    ),
    tier: Flag.Literals("tier", ["user", "project"]).pipe(
      Flag.withMetavar("TIER"),
      Flag.withDescription("user: your own file, for every project. project: the project's file, for all who trust it"),
      Flag.withDefault("user")
    ),
    caller: Flag.String("caller").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("Only for this client"),
      Flag.optional
    ),
    signer: Flag.String("signer").pipe(
      Flag.withMetavar("WHO"),
      Flag.withDescription("Of a rule on a tool: whose signature it needs; a key id or a name. Default: yours"),
      Flag.optional
    ),
    reason: Flag.String("reason").pipe(
      Flag.withMetavar("TEXT"),
      Flag.withDescription("Why, for whoever is asked or refused"),
      Flag.optional
    ),
    yes: yesFlag
  }, ({ caller: client, reason, rule, signer, tier, yes }) =>
    Effect.gen(function*() {
      const output = yield* Output
      const by = yield* caller
      const given = { caller: client, signer, reason }
      const conditions = Object.fromEntries(
        Object.entries(given).flatMap(([key, value]) => Option.isSome(value) ? [[key, value.value]] : [])
      )
      const { accepted, file } = yield* inProject(() => addPermission({ outcome, rule, tier, conditions }, by)).pipe(
        withGate(yes)
      )
      yield* output.answer(
        { added: { rule: `${outcome}: ${rule}`, file, accepted } },
        (paint) => `${paint.green("added")} ${outcome}: ${safeLine(rule, 400)} in ${file}`
      )
      if (!output.json && !accepted) {
        yield* output.say(
          "The project's file is not accepted as it is, so that it only makes things stricter: kiwi trust project"
        )
      }
    })).pipe(
      Command.withDescription(about[outcome].description),
      Command.withShortDescription(about[outcome].short),
      Command.withExamples([{ command: about[outcome].example }]),
      withNext(["kiwi permissions list", "all rules"], ["kiwi permissions check", "rules that never decide"])
    )

export const permissionsAllowCommand = makeAddCommand("allow")
export const permissionsAskCommand = makeAddCommand("ask")
export const permissionsDenyCommand = makeAddCommand("deny")

export const permissionsRemoveCommand = Command.make("remove", {
  id: Argument.String("id").pipe(Argument.withDescription("The id of the rule in kiwi permissions list: user:4")),
  yes: yesFlag
}, ({ id, yes }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const { file } = yield* inProject(() => removePermission(id, by)).pipe(withGate(yes))
    yield* output.answer({ removed: { id, file } }, (paint) => `${paint.green("removed")} ${safeLine(id)}`)
  })).pipe(
    Command.withDescription("Remove a rule of a permissions.yaml, or forget a remembered answer."),
    Command.withShortDescription("Remove a rule or a remembered answer"),
    Command.withExamples([{ command: "kiwi permissions remove user:4" }]),
    withNext(["kiwi permissions list", "all rules with their ids"])
  )

export const permissionsCheckCommand = Command.make("check", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const problems = yield* inProject(() => checkPermissions())
    yield* output.answer(
      { valid: !problems.some(({ fatal }) => fatal), problems },
      (paint) =>
        problems.length === 0
          ? paint.green("All files are valid, and every rule can decide.")
          : problems.map((one) => `${one.fatal ? paint.red("invalid") : paint.yellow("warning")} ${problemLine(one)}`)
            .join("\n")
    )
  })).pipe(
    Command.withDescription(
      "Check your permissions.yaml and profiles.yaml and the project's: every line that is wrong, rules that never decide " +
        "since a stricter one is about the same, rules that mean something else than they seem to, rules on tools that " +
        "nobody has, and rules that do not count until you trust the project."
    ),
    Command.withShortDescription("Find what is wrong with the rules"),
    Command.withExamples([{ command: "kiwi permissions check" }]),
    withNext(["kiwi permissions explain TOOL", "which rule decides about a call"])
  )

const colours = { allow: "green", ask: "yellow", deny: "red" } as const

const answerOf = ({ offer, outcome, settled }: ExplainedAccess): string | undefined =>
  settled !== undefined
    ? `the answer "${settled}" settles it: kiwi permissions remove ${settled.split(" ").at(-1)} takes it back`
    : outcome !== "ask"
    ? undefined
    : offer === undefined
    ? "an answer is for this one call"
    : `the answers session and always would make the rule "${offer}"`

const showAccess = (one: ExplainedAccess, paint: Paint): string => {
  const { access, hint, outcome, reason, rule, speaks } = one
  const others = speaks.filter(({ decides }) => !decides).map((other) =>
    paint.dim(
      `  not ${safeLine(other.id)} "${
        safeLine(other.rule, 300)
      }": another rule is stricter, or the parameters are not as it says`
    )
  )
  const said = [reason, hint, answerOf(one)].filter((text) => text !== undefined)
    .map((text) => `  ${safeLine(text, 600)}`)
  return [`${paint[colours[outcome]](outcome)} ${safeLine(access, 400)}: ${safeLine(rule)}`, ...said, ...others]
    .join("\n")
}

const outcomeWords = {
  allow: "It runs without a question.",
  ask: "A person is asked first.",
  deny: "It is refused."
} as const

const showExplained = ({ accesses, blocked, hint, outcome, reason, toolOnly }: ExplainedCall, paint: Paint): string => {
  const isSaid = accesses.some((one) => one.outcome === "deny" && one.reason === reason)
  const why = isSaid ? [] : [reason, hint].filter((text) => text !== undefined)
  return [
    ...accesses.map((one) => showAccess(one, paint)),
    [outcomeWords[outcome], ...why.map((text) => safeLine(text, 600))].join(" "),
    ...(toolOnly ? ["What else it touches depends on its parameters: --params"] : []),
    ...(blocked === undefined ? [] : [`Something else would still refuse it: ${safeLine(blocked.message, 400)}`])
  ].join("\n")
}

export const permissionsExplainCommand = Command.make("explain", {
  tool: Argument.String("tool").pipe(Argument.withDescription("The tool's id, or category/id")),
  params: paramsFlag,
  caller: Flag.String("caller").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("As if this client called, with its remembered answers. Default: you"),
    Flag.optional
  ),
  profile: Flag.String("profile").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("As if called through kiwi serve --profile NAME"),
    Flag.optional
  )
}, ({ caller: client, params, profile, tool }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const you = yield* caller
    if (Option.isSome(profile)) yield* requireProfile(yield* projectKey, profile.value)
    const by = {
      ...you,
      ...(Option.isSome(client) ? { client: client.value } : {}),
      ...(Option.isSome(profile) ? { profile: profile.value } : {})
    }
    const explained = yield* inProject(() => explainPermissions(tool, Option.getOrUndefined(params), by))
    yield* output.answer({ tool, ...explained }, (paint) => showExplained(explained, paint))
  })).pipe(
    Command.withDescription(
      "Show what would happen to a call: what it would touch, which rule decides about each of it, which remembered " +
        "answer settles a question, what an answer would allow, and which rules speak and do not decide. Nothing runs."
    ),
    Command.withShortDescription("Show which rule decides about a call"),
    Command.withExamples([
      { command: "kiwi permissions explain deploy" },
      {
        command:
          `kiwi permissions explain filesystem.write --params '{"path": "src/a.ts", "content": ""}' --caller codex`
      }
    ]),
    withNext(["kiwi explain tool TOOL", "everything else that a call has to pass"])
  )

export const permissionsGroup = Command.make("permissions").pipe(
  Command.withDescription(
    "Decide what agents may do: read and change files, run commands, reach hosts, use secrets and tools. Rules are lines in " +
      "your permissions.yaml and in the project's; where no rule speaks, what Kiwi ships with decides."
  ),
  Command.withShortDescription("Decide what agents may do"),
  Command.withExamples([
    { command: "kiwi permissions allow 'shell.run(npm test)'" },
    { command: "kiwi permissions list" }
  ])
)
