// client: the names by which rules know who calls, and their tokens for HTTP.
import { Effect, Redacted } from "effect"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { Clients } from "../../../services/call/Clients.ts"
import { addClient, removeClient } from "../../clientTokens.ts"
import { withNext } from "../help.ts"
import { withGate, yesFlag } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { table } from "../text.ts"

const nameArgument = Argument.String("name").pipe(
  Argument.withDescription("1 to 48 letters, digits, dots, - and _: the client's name in rules and in the audit")
)

export const clientAddCommand = Command.make("add", {
  name: nameArgument,
  unattended: Flag.Boolean("unattended").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Nobody sits in front of it: it is never asked a question, and what asks waits for you"),
    Flag.withDefault(false)
  ),
  approver: Flag.Boolean("approver").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Its token answers what waits for you, by POST /approvals/ID, and does nothing else"),
    Flag.withDefault(false)
  ),
  yes: yesFlag
}, ({ approver, name, unattended, yes }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const role = approver ? "approver" : unattended ? "unattended" : "attended"
    const token = Redacted.value(yield* inProject(() => addClient(name, role, by)).pipe(withGate(yes)))
    yield* output.answer(
      { name, unattended: role !== "attended", ...(approver ? { approver } : {}), token },
      (paint) => `${paint.green("added")} ${name}${role === "attended" ? "" : `, ${role}`}\n\n${token}`
    )
    if (!output.json && approver) {
      yield* output.say(
        "\nThis is its token, shown this once: the service sends it as Authorization: Bearer TOKEN with POST " +
          "/approvals/ID to the servers that you start with kiwi serve --http (docs/approvals.md)."
      )
    } else if (!output.json) {
      yield* output.say(
        "\nThis is its token for HTTP, shown this once: the client sends it as Authorization: Bearer TOKEN to the " +
          "servers that you start with kiwi serve --http. On stdin and stdout the name is given by: " +
          `kiwi serve --client ${name}`
      )
    }
  })).pipe(
    Command.validate(({ approver, unattended }) =>
      approver && unattended
        ? Effect.fail(new CliError.ValidationError({ message: "Give one of --unattended and --approver" }))
        : Effect.void
    ),
    Command.withDescription(
      "Name a client: rules can then allow it more or less than others, and the audit names it. Its token is made and " +
        "printed once; Kiwi keeps only its hash."
    ),
    Command.withShortDescription("Name a client, and make its token"),
    Command.withExamples([
      { command: "kiwi client add laptop" },
      { command: "kiwi client add nightly --unattended", description: "A job that runs while nobody is there" },
      { command: "kiwi client add phone --approver", description: "A service that brings you what waits" }
    ]),
    withNext(["kiwi serve --http", "serve the clients that have a token"], ["kiwi client list", "who has one"])
  )

export const clientListCommand = Command.make("list", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const clients = yield* Clients
    const all = yield* clients.list
    yield* output.answer(
      { clients: all },
      (paint) =>
        all.length === 0
          ? "No client has been added."
          : table(all.map(({ added, approver, name, unattended }) => [
            paint.bold(name),
            approver === true ? "approver" : unattended ? "unattended" : "",
            paint.dim(added)
          ]))
    )
  })).pipe(
    Command.withDescription("Show the clients that you have added. Their tokens are not kept, and cannot be shown."),
    Command.withShortDescription("Show the clients that you have added"),
    Command.withExamples([{ command: "kiwi client list" }]),
    withNext(["kiwi client remove NAME", "refuse its token from now on"])
  )

export const clientRemoveCommand = Command.make(
  "remove",
  { name: nameArgument, yes: yesFlag },
  ({ name, yes }) =>
    Effect.gen(function*() {
      const output = yield* Output
      const by = yield* caller
      yield* inProject(() => removeClient(name, by)).pipe(withGate(yes))
      yield* output.answer({ removed: true, name }, (paint) => `${paint.green("removed")} ${name}`)
    })
).pipe(
  Command.withDescription("Remove a client: its token is refused from now on, in sessions that are open too."),
  Command.withShortDescription("Remove a client"),
  Command.withExamples([{ command: "kiwi client remove laptop" }]),
  withNext(["kiwi client list", "who is left"])
)

/** What `client` is for. Its commands are above. */
export const clientGroup = Command.make("client").pipe(
  Command.withDescription(
    "Name the clients that call this user's servers. A client is known by the token that you gave it, or by the name " +
      "that you start its server with, never by what it calls itself."
  ),
  Command.withShortDescription("Name the clients that call your servers"),
  Command.withExamples([{ command: "kiwi client add laptop" }, { command: "kiwi client list" }])
)
