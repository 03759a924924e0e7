// inbox and status: what waits for a person, and how things stand.
import { Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { exactText } from "../../../services/error/exactText.ts"
import { safeLine } from "../../../services/error/safeText.ts"
import { Lineage } from "../../../services/presence/Lineage.ts"
import { whyNotTyped } from "../../../services/presence/presence.ts"
import { shellWord } from "../../../services/text/shellWord.ts"
import type { AskedHelp, Inbox, InboxRequest, Refused, RequestStatus, Status } from "../../inbox.ts"
import { inbox, requestStatus, settleHelp, status, withQuestions } from "../../inbox.ts"
import { withNext } from "../help.ts"
import { withGate } from "../HumanGateTerminal.ts"
import { liveInbox } from "../inbox/liveInbox.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { Shell, variable } from "../Shell.ts"
import { TerminalDevice } from "../TerminalDevice.ts"
import { definitions, indented, plural, table, tableWithNotes } from "../text.ts"
import type { Paint } from "../text.ts"

const clock = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 19)}`

const stateText = ({ answer, state }: InboxRequest, paint: Paint): string => {
  const text = answer === undefined ? state : `${state} (${answer})`
  return state === "pending" ? paint.yellow("waits") : state === "rejected" ? paint.red(text) : text
}

const waitingText = (one: InboxRequest, paint: Paint, width: number): string =>
  [
    `${paint.bold(one.id)}  ${safeLine(one.what)}${
      one.settles === undefined
        ? ""
        : paint.dim(`, and ${one.settles.length} more that the same rule settles`)
    }`,
    indented(
      definitions([
        ["caller", safeLine(one.caller)],
        ["would touch", safeLine(one.touches.join(", "), 400)],
        ["why it is asked", safeLine(one.reasons.join("; "), 400)],
        ["expires", clock(one.expires_at)],
        ...one.offers.map((offer) => ["rule offered", safeLine(offer, 400)] as const)
      ], width - 2).split("\n")
    )
  ].join("\n")

const helpText = (one: AskedHelp, paint: Paint, width: number): string =>
  [
    `${paint.bold(one.id)}  ${one.kind === "stuck" ? "is stuck" : "leaves a decision to you"}${
      one.priority === "high" ? paint.yellow("  urgent") : ""
    }`,
    indented(
      definitions([
        ["caller", safeLine(one.caller)],
        ["at", clock(one.at)],
        ["says", safeLine(one.reason, 2_000)],
        ...one.options.map((option, at) => [`option ${at + 1}`, safeLine(option, 200)] as const),
        ...(one.context === undefined ? [] : [["context", safeLine(one.context, 400)] as const])
      ], width - 2).split("\n")
    )
  ].join("\n")

/** What a person types to allow what was refused; undefined if no rule alone would. */
const remedyOf = ({ allow, denied_by }: Refused): string | undefined =>
  allow !== undefined
    ? `kiwi permissions allow ${shellWord(allow)}`
    : denied_by === undefined
    ? undefined
    : `kiwi permissions remove ${shellWord(denied_by)}`

const refusedText = ({ refused }: Inbox, paint: Paint, width: number): string =>
  tableWithNotes(
    refused.map((one) => {
      const remedy = remedyOf(one)
      return {
        cells: [
          paint.dim(clock(one.at)),
          `${safeLine(one.operation)} ${paint.bold(safeLine(one.item))}`,
          safeLine(one.message, 300)
        ],
        notes: remedy === undefined ? [] : [`to allow it: ${safeLine(remedy, 400)}`]
      }
    }),
    width
  )

const inboxText = (found: Inbox, paint: Paint, width: number): string =>
  [
    found.waiting.length === 0
      ? "Nothing waits for you."
      : found.waiting.map((one) => waitingText(one, paint, width)).join("\n\n"),
    ...(found.waiting.length === 0 ? [] : [paint.dim("Answer one: kiwi approve ID, or kiwi reject ID")]),
    ...(found.help.length === 0 ? [] : [
      `${paint.bold("Asks for your help")}\n${found.help.map((one) => helpText(one, paint, width)).join("\n\n")}`,
      paint.dim("Answer one: kiwi inbox --done ID --say TEXT (or an option's number)")
    ]),
    ...(found.refused.length === 0 ? [] : [
      `${paint.bold("Refused lately")}\n${refusedText(found, paint, width)}`
    ])
  ].join("\n\n")

/** Shows the live list where a person can answer. Returns whether it did. */
const showLive = Effect.gen(function*() {
  const { json, paint } = yield* Output
  const { env, stdin, stdout } = yield* Shell
  if (json || !stdin.isTerminal || !stdout.isTerminal || variable(env, "TERM") === "dumb") return false
  const lineage = yield* Effect.flatMap(Lineage, ({ read }) => read)
  if (whyNotTyped({ env, lineage, stdin: true, stdout: true }) !== undefined) return false
  const terminal = yield* Effect.flatMap(TerminalDevice, ({ open }) => open)
  if (terminal === undefined) return false
  const by = yield* caller
  yield* inProject((key) => liveInbox(terminal, by, { paint, title: key === "" ? "this folder" : key }))
  return true
}).pipe(Effect.scoped)

export const inboxCommand = Command.make("inbox", {
  done: Flag.String("done").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("Take what a caller asked your help with off the list"),
    Flag.optional
  ),
  say: Flag.String("say").pipe(
    Flag.withMetavar("TEXT"),
    Flag.withDescription("With --done: what the caller is told: an option's number, or your own words"),
    Flag.optional
  )
}, ({ done, say }) =>
  Effect.gen(function*() {
    const output = yield* Output
    if (Option.isSome(done)) {
      const by = yield* caller
      // Typing the command is the answer.
      const answer = yield* inProject(() => settleHelp(done.value, by, Option.getOrUndefined(say))).pipe(withGate(true))
      return yield* output.answer(
        { done: done.value, ...(answer === undefined ? {} : { answer }) },
        (paint) =>
          `${paint.green("done")} ${safeLine(done.value)}${answer === undefined ? "" : `: ${safeLine(answer, 400)}`}`
      )
    }
    if (yield* showLive) return
    const found = yield* inProject(() => inbox)
    yield* output.answer(found, (paint) => inboxText(found, paint, output.width))
  })).pipe(
    Command.validate(({ done, say }) =>
      Option.isSome(say) && Option.isNone(done)
        ? Effect.fail(new CliError.ValidationError({ message: "Give --done ID with --say" }))
        : Effect.void
    ),
    Command.withDescription(
      "What waits for you in this project: each call that a rule asks about, what it would touch, and the rule that an " +
        "answer can make. Calls that one answer settles are one. Below it, callers that are stuck or leave a decision to " +
        "you, and what was refused lately, with the rule that would allow it. On a terminal it is a list that you answer " +
        "by keys, and that shows what comes; with --json, and in a pipe, it is printed once."
    ),
    Command.withShortDescription("What waits for your answer"),
    Command.withExamples([{ command: "kiwi inbox" }, { command: "kiwi inbox --json" }]),
    withNext(["kiwi approve ID", "allow one"], ["kiwi reject ID", "refuse one"], [
      "kiwi status ID",
      "one with all details"
    ])
  )

const statusText = (found: Status, paint: Paint, width: number): string =>
  [
    definitions([
      ["project", found.project === null ? "none here" : safeLine(found.project, 400)],
      ["trust", found.reason === undefined ? found.trust : `${found.trust}: ${safeLine(found.reason)}`],
      ...Object.entries(found.lowered ?? {}).map(([tool, level]) =>
        ["lowered", `${safeLine(tool)} runs as ${level}, without the sandbox that it needs`] as const
      ),
      ["waiting", plural(found.waiting.length, "request")]
    ], width),
    ...(found.finished.length === 0 ? [] : [
      `${paint.bold("Answered lately")}\n${
        table(found.finished.map((one) => [
          paint.dim(clock(one.asked_at)),
          one.id,
          stateText(one, paint),
          safeLine(one.what),
          paint.dim(safeLine(one.answered_by ?? ""))
        ]))
      }`
    ]),
    inboxText(found, paint, width)
  ].join("\n\n")

const requestText = (one: RequestStatus, paint: Paint, width: number): string =>
  [
    `${paint.bold(one.id)}  ${safeLine(one.what)}  ${stateText(one, paint)}`,
    indented(
      definitions([
        ["asked", clock(one.asked_at)],
        ["expires", clock(one.expires_at)],
        ...(one.answered_by === undefined ? [] : [["answered", safeLine(one.answered_by)] as const]),
        ...(one.call === undefined ? [] : [["used by call", safeLine(one.call)] as const])
      ], width - 2).split("\n")
    ),
    "",
    indented(exactText(one.details).split("\n"))
  ].join("\n")

export const statusCommand = Command.make("status", {
  id: Argument.String("id").pipe(
    Argument.withDescription("A request's id, or a session's"),
    Argument.optional
  )
}, (input) =>
  Effect.gen(function*() {
    const output = yield* Output
    if (Option.isSome(input.id)) {
      const id = input.id.value
      const found = yield* inProject(() => withQuestions(requestStatus(id)))
      return yield* output.answer(
        found,
        (paint) => found.map((one) => requestText(one, paint, output.width)).join("\n\n")
      )
    }
    const found = yield* inProject(() => status)
    yield* output.answer(found, (paint) => statusText(found, paint, output.width))
  })).pipe(
    Command.withDescription(
      "How this project stands in one screen: whether it is trusted, what waits for you, what was answered within a day " +
        "and what was refused. With an id: that request with everything that was shown about it."
    ),
    Command.withShortDescription("How things stand, or one request with all details"),
    Command.withExamples([{ command: "kiwi status" }, { command: "kiwi status k7f3m2qa9x" }]),
    withNext(["kiwi inbox", "only what waits"], ["kiwi logs", "what has run"])
  )
