// approve and reject: answer what waits for a person.
import { Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import type { Approval, ApprovalAnswer } from "../../../services/approval/Approval.ts"
import { ApprovalStore } from "../../../services/approval/ApprovalStore.ts"
import { safeLine } from "../../../services/error/safeText.ts"
import { answerApproval, approving, refuseApprovals } from "../../approvals.ts"
import { shown, withQuestions } from "../../inbox.ts"
import { withNext } from "../help.ts"
import { withGate, yesFlag } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { plural } from "../text.ts"
import type { Paint } from "../text.ts"

const idArgument = Argument.String("id").pipe(
  Argument.withDescription("The request's id, or that of a session in which one request waits")
)

const flag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDescription(description), Flag.withDefault(false))

const answerText = ({ answered, id, state, what }: Approval, paint: Paint): string =>
  [
    `${state === "approved" ? paint.green(state) : paint.red(state)} ${id}: ${safeLine(what)}`,
    ...(answered?.rules ?? []).map((rule) => `${paint.dim("rule")} ${safeLine(rule, 8_192)}`)
  ].join("\n")

const answered = Effect.fnUntraced(function*(approval: Approval) {
  const output = yield* Output
  yield* output.answer(
    { ...shown({ ...approval, answers: [] }), made: approval.answered?.rules ?? [] },
    (paint) => answerText(approval, paint)
  )
})

export const approveCommand = Command.make("approve", {
  id: idArgument,
  once: flag("once", "Only this call, exactly as it is, one time"),
  session: flag("session", "This call, and what the offered rule allows, until the caller's session ends"),
  always: flag("always", "This call, and from now on what the offered rule allows in this project"),
  rule: Flag.String("rule").pipe(
    Flag.withMetavar("RULE"),
    Flag.withDescription("With --session or --always: make this rule in place of the offered one"),
    Flag.atMost(16)
  ),
  yes: yesFlag
}, (input) =>
  Effect.gen(function*() {
    const by = yield* caller
    const chosen = approving.filter((answer) => input[answer as "once" | "session" | "always"])
    const rules = input.rule.length === 0 ? undefined : input.rule
    const approval = yield* inProject(() =>
      Effect.gen(function*() {
        if (chosen.length > 0) return yield* answerApproval(input.id, by, { answers: chosen, rules, again: true })
        const { approval: found, question } = yield* Effect.flatMap(
          ApprovalStore,
          (store) => store.propose(input.id, { again: true })
        )
        const answers = approving.filter((answer) => question.choices?.some(({ value }) => value === answer) === true)
        return yield* answerApproval(found.id, by, { answers, rules, again: true })
      }).pipe(withQuestions)
    ).pipe(withGate(input.yes))
    yield* answered(approval)
  })).pipe(
    Command.validate(({ always, once, session }) =>
      [always, once, session].filter(Boolean).length > 1
        ? Effect.fail(new CliError.ValidationError({ message: "Give one of --once, --session and --always" }))
        : Effect.void
    ),
    Command.withDescription(
      "Allow a call that waits for you. You are shown the call, what it would touch, what would run, and the rule that " +
        "each answer makes. The caller then repeats the call. Without one of the first three flags, you are asked which. It also changes " +
        "your mind: a call that you refused runs when it is repeated."
    ),
    Command.withShortDescription("Allow a call that waits for you"),
    Command.withExamples([
      { command: "kiwi approve k7f3m2qa9x" },
      { command: "kiwi approve k7f3m2qa9x --once", description: "This call and no other" },
      {
        command: "kiwi approve k7f3m2qa9x --always --rule 'allow: fs.write(src/**)'",
        description: "With a rule of your own"
      }
    ]),
    withNext(["kiwi inbox", "see what waits"], ["kiwi reject ID", "say no"])
  )

export const rejectCommand = Command.make("reject", {
  id: Argument.optional(idArgument),
  all: flag("all", "Everything that waits; with a session's id, everything of that session"),
  never: flag("never", "Make a rule that refuses it from now on")
}, (input) =>
  Effect.gen(function*() {
    const by = yield* caller
    const id = Option.getOrUndefined(input.id)
    // Typing the command is the answer.
    if (input.all || id === undefined) {
      const output = yield* Output
      const rejected = yield* inProject(() => refuseApprovals(by, id)).pipe(withGate(true))
      return yield* output.answer({ rejected }, (paint) => `${paint.red("rejected")} ${plural(rejected, "request")}`)
    }
    const answers: ReadonlyArray<ApprovalAnswer> = [input.never ? "never" : "no"]
    const approval = yield* inProject(() => withQuestions(answerApproval(id, by, { answers }))).pipe(withGate(true))
    yield* answered(approval)
  })).pipe(
    Command.validate(({ all, id, never }) =>
      Option.isNone(id) && !all
        ? Effect.fail(new CliError.ValidationError({ message: "Give a request's id, or --all" }))
        : all && never
        ? Effect.fail(new CliError.ValidationError({ message: "--never is for one request: --all makes no rules" }))
        : Effect.void
    ),
    Command.withDescription(
      "Refuse a call that waits for you, or with --all every one. The caller is told when it repeats the call."
    ),
    Command.withShortDescription("Refuse a call that waits for you"),
    Command.withExamples([
      { command: "kiwi reject k7f3m2qa9x" },
      { command: "kiwi reject k7f3m2qa9x --never", description: "And every call like it" },
      { command: "kiwi reject --all" }
    ]),
    withNext(["kiwi inbox", "see what waits"])
  )
