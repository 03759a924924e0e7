// Reaches the person behind a command. On a terminal they are shown what they agree to and answer there, never by a
// pipe. Without one, typing the command was the act. When the environment says that an agent runs the command, neither
// a yes nor a flag counts: only the passphrase of the signing key, typed on the terminal.
import { Effect, Layer, Redacted } from "effect"
import * as Flag from "effect/cli/Flag"
import { Identity } from "../../services/identity/Identity.ts"
import { HumanDeclined, HumanGate, HumanRequired } from "../../services/trust/HumanAct.ts"
import type { HumanAct, HumanRequest } from "../../services/trust/HumanAct.ts"
import { Output } from "./Output.ts"
import { agentVariable, Shell } from "./Shell.ts"
import { showQuestion } from "./showQuestion.ts"
import { TerminalDevice } from "./TerminalDevice.ts"
import type { OpenTerminal } from "./TerminalDevice.ts"
import { colored, uncolored } from "./text.ts"

const tries = 3

const noPassphrase = Redacted.make("")

export const make = Effect.fnUntraced(function*(options: {
  /** `--yes`: the person has answered already. */
  readonly yes: boolean
}) {
  const identity = yield* Identity
  const { env } = yield* Shell
  const device = yield* TerminalDevice
  const output = yield* Output
  const agent = agentVariable(env)
  const paint = output.talkPaint === uncolored ? uncolored : colored

  const agreed = ({ digest, kind }: HumanRequest, by: HumanAct["by"]): HumanAct => ({ kind, digest, by })
  const declined = ({ kind, title }: HumanRequest) => new HumanDeclined({ kind, title })
  const required = ({ command, kind, title }: HumanRequest, why: string) =>
    new HumanRequired({ kind, title, command, why })

  const askYes = Effect.fnUntraced(function*(request: HumanRequest, terminal: OpenTerminal) {
    if (!(yield* showQuestion(request, terminal, paint))) return yield* declined(request)
    yield* terminal.write(`\n${paint.bold("Go ahead?")} [y/N] `)
    const answer = yield* terminal.readLine
    return /^\s*y(es)?\s*$/i.test(answer ?? "") ? agreed(request, "terminal") : yield* declined(request)
  })

  const askPassphrase = Effect.fnUntraced(function*(request: HumanRequest, terminal: OpenTerminal, because: string) {
    if (!(yield* showQuestion(request, terminal, paint))) return yield* declined(request)
    yield* terminal.write(`\n${because}, so the passphrase of your signing key counts.\n`)
    for (let turn = 1; turn <= tries; turn++) {
      const typed = yield* terminal.readSecret(paint.bold("Passphrase: "))
      yield* terminal.write("\n")
      if (typed === undefined || typed === "") return yield* declined(request)
      if ((yield* identity.opensWith(Redacted.make(typed))) === true) return agreed(request, "passphrase")
      yield* terminal.write("That is not it.\n")
    }
    return yield* required(request, `${because}, and the passphrase was not right`)
  })

  return HumanGate.of({
    ask: Effect.fn("HumanGate.ask")(
      function*(request) {
        if (agent === undefined) {
          const terminal = options.yes ? undefined : yield* device.open
          return terminal === undefined ? agreed(request, "terminal") : yield* askYes(request, terminal)
        }
        const because = `${agent} is set: an agent seems to run this command`
        if ((yield* identity.opensWith(noPassphrase)) === undefined) {
          return yield* required(request, `${because}, and your signing key has no passphrase to ask for`)
        }
        const terminal = yield* device.open
        if (terminal === undefined) {
          return yield* required(request, `${because}, and there is no terminal to ask for the passphrase on`)
        }
        return yield* askPassphrase(request, terminal, because)
      },
      Effect.scoped
    )
  })
})

export const layer = (options: { readonly yes: boolean }) => Layer.effect(HumanGate, make(options))

/** Lets the person at the terminal answer; `yes`: they have said so with the command. */
export const withGate = (yes: boolean) => Effect.provideServiceEffect(HumanGate, make({ yes }))

export const yesFlag = Flag.Boolean("yes").pipe(
  Flag.withoutNegation,
  Flag.withAlias("y"),
  Flag.withDescription("Do not ask. Counts only when you type it: not when an agent runs the command"),
  Flag.withDefault(false)
)
