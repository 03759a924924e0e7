// Asks the person behind a command. An act needs a terminal that a person can be at, where they read the question and
// answer it, or the passphrase of their signing key, typed or in KIWI_PASSPHRASE. If the key has a passphrase, only the
// passphrase is accepted. `--yes` skips the question, but replaces neither of them.
import { Effect, type FileSystem, type Path, Redacted } from "effect"
import * as Flag from "effect/cli/Flag"
import { Identity } from "../../services/identity/Identity.ts"
import { Lineage } from "../../services/presence/Lineage.ts"
import { agentSeen, callSeen, unreadable, whyNotTyped } from "../../services/presence/presence.ts"
import { HumanDeclined, HumanGate, HumanRequired } from "../../services/trust/HumanAct.ts"
import type { HumanAct, HumanRequest } from "../../services/trust/HumanAct.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { verdictLines } from "../question.ts"
import { isHomeInUse } from "./homeInUse.ts"
import { Output } from "./Output.ts"
import { Shell, variable } from "./Shell.ts"
import { showQuestion } from "./showQuestion.ts"
import { TerminalDevice } from "./TerminalDevice.ts"
import type { OpenTerminal } from "./TerminalDevice.ts"
import { colored, uncolored } from "./text.ts"

const tries = 3

const noPassphrase = Redacted.make("")

const seenAs = {
  no: "answered no",
  stopped: "stopped before the end",
  nothing: "typed no passphrase",
  wrong: "typed a wrong passphrase"
} as const

/** The error for a question at a terminal that was not answered with yes. */
export const declinedAt = (
  { name }: OpenTerminal,
  { command, kind, title }: HumanRequest,
  answer: keyof typeof seenAs
) => new HumanDeclined({ kind, title, command, answer, by: "terminal", seen: `${seenAs[answer]} at ${name}` })

export interface GateOptions {
  /** `--yes`: skip the question. */
  readonly yes: boolean
  /** Whether the command reads data from stdin, so that stdin need not be a terminal. */
  readonly stdinIsData?: boolean
  /** Whether the command itself asks for input at the same terminal, so that no question is needed before. */
  readonly asksItself?: boolean
  /**
   * Whether the act is about bytes that come with Kiwi, or about a key that does not exist yet. Such an act needs no
   * person, unless the key has a passphrase, or an agent would do it in a home folder that is already in use.
   */
  readonly ownBytes?: boolean
  /** The answer that the person typed where the command itself showed them the whole question: it is not asked again. */
  readonly answered?: string
}

export const make = Effect.fnUntraced(function*(options: GateOptions) {
  const identity = yield* Identity
  const { env, platform, stdin, stdout } = yield* Shell
  const device = yield* TerminalDevice
  const output = yield* Output
  const { home } = yield* KiwiHome
  // Read before the command changes anything: `init` first trusts the new project and then signs.
  const isNewHome = yield* Effect.cached(
    Effect.gen(function*() {
      return (yield* identity.current) === undefined && !(yield* isHomeInUse(home))
    }).pipe(Effect.provide(yield* Effect.context<FileSystem.FileSystem | Path.Path>()))
  )
  const lineage = yield* Lineage
  const paint = output.talkPaint === uncolored ? uncolored : colored
  const given = variable(env, "KIWI_PASSPHRASE")

  /** With it, `init` asks once for its two acts. */
  let opened: { readonly seen: string; readonly passphrase: Redacted.Redacted<string> } | undefined

  const agreed = (
    { digest, kind }: HumanRequest,
    by: HumanAct["by"],
    seen: string,
    choice?: string | undefined
  ): HumanAct => ({
    kind,
    digest,
    by,
    seen,
    ...(choice === undefined ? {} : { choice })
  })
  const required = ({ command, kind, title }: HumanRequest, why: string, remedy?: string) =>
    new HumanRequired({ kind, title, command, why, ...(remedy === undefined ? {} : { remedy }) })

  /** The choice that stands without asking. Nobody may guess one of several. */
  const onlyChoice = (request: HumanRequest, why = "no answer was chosen") => {
    const { choices = [], command } = request
    return choices.length < 2
      ? Effect.succeed(choices[0]?.value)
      : Effect.fail(required(request, why, `Choose one, for example: ${command} --once`))
  }

  /** Every answer is typed as a word or as its first letter; of two with the same one, the first has it. */
  const choose = Effect.fnUntraced(function*(request: HumanRequest, terminal: OpenTerminal) {
    const { choices = [] } = request
    if (choices.length < 2) return choices[0]?.value
    const words = choices.map(({ value }) => value).join(", ")
    for (let turn = 1; turn <= tries; turn++) {
      const typed = yield* terminal.readLine(`\n${paint.bold("Your answer?")} [${words}] `)
      const word = typed?.trim().toLowerCase() ?? ""
      if (word === "") break
      const chosen = choices.find(({ value }) => value === word) ??
        (word.length === 1 ? choices.find(({ value }) => value.startsWith(word)) : undefined)
      if (chosen !== undefined) return chosen.value
      yield* terminal.write(`That is none of these answers.\n`)
    }
    return yield* declinedAt(terminal, request, "stopped")
  })

  /** Shows the question. Returns which of several answers the person chose. */
  const present = Effect.fnUntraced(function*(request: HumanRequest, terminal: OpenTerminal) {
    const { answered } = options
    if (answered !== undefined) {
      yield* terminal.write(`\n${verdictLines(request)[0] ?? ""}: ${answered}\n`)
      return request.choices?.some(({ value }) => value === answered) === true
        ? answered
        : yield* declinedAt(terminal, request, "stopped")
    }
    if (!(yield* showQuestion(request, terminal, paint))) return yield* declinedAt(terminal, request, "stopped")
    return yield* choose(request, terminal)
  })

  const askYes = Effect.fnUntraced(function*(request: HumanRequest, terminal: OpenTerminal) {
    const choice = yield* present(request, terminal)
    if (options.answered !== undefined || (request.choices ?? []).length > 1) {
      return { choice, seen: `answered at ${terminal.name}` }
    }
    const answer = yield* terminal.readLine(`\n${paint.bold("Go ahead?")} [y/N] `)
    return /^\s*y(es)?\s*$/i.test(answer ?? "")
      ? { choice, seen: `answered at ${terminal.name}` }
      : yield* declinedAt(terminal, request, "no")
  })

  const askPassphrase = Effect.fnUntraced(function*(request: HumanRequest, terminal: OpenTerminal) {
    const choice = yield* present(request, terminal)
    yield* terminal.write("\nYour signing key has a passphrase: typing it is your yes.\n")
    for (let turn = 1; turn <= tries; turn++) {
      const typed = yield* terminal.readSecret(paint.bold("Passphrase: "))
      yield* terminal.write("\n")
      if (typed === undefined || typed === "") return yield* declinedAt(terminal, request, "nothing")
      const passphrase = Redacted.make(typed)
      if ((yield* identity.opensWith(passphrase)) === true) {
        opened = { seen: `typed at ${terminal.name}`, passphrase }
        return { ...agreed(request, "passphrase", opened.seen, choice), passphrase }
      }
      yield* terminal.write("That is not the passphrase.\n")
    }
    return yield* declinedAt(terminal, request, "wrong")
  })

  /** Why a given KIWI_PASSPHRASE is not used although the key has no passphrase or does not exist, and what to do. */
  const uselessVariable = Effect.fnUntraced(function*({ command }: HumanRequest) {
    if (given === undefined) return undefined
    return (yield* identity.current) === undefined
      ? {
        why: "KIWI_PASSPHRASE is not used: there is no signing key yet",
        remedy: `Make a key with it, for example KIWI_PASSPHRASE=… kiwi init; or type at a terminal: ${command}`
      }
      : {
        why: "KIWI_PASSPHRASE is not used: your signing key has no passphrase",
        remedy: `Put the passphrase on the key, at a terminal: kiwi identity encrypt; or type at a terminal: ${command}`
      }
  })

  return HumanGate.of({
    ask: Effect.fn("HumanGate.ask")(
      function*(request) {
        const above = yield* lineage.read
        const call = callSeen(env, above)
        if (call !== undefined) return yield* required(request, call)
        const agent = agentSeen(env, above)
        if (options.ownBytes === true) {
          if (opened !== undefined) {
            return { ...agreed(request, "passphrase", opened.seen), passphrase: opened.passphrase }
          }
          // An agent can hide its parent processes; on Windows Kiwi cannot read them at all.
          const doubt = agent ?? (above === undefined && platform !== "win32" ? unreadable : undefined)
          if (doubt === undefined) {
            const isOpen = (yield* identity.opensWith(noPassphrase)) === undefined
            if (isOpen) return agreed(request, "init", "what comes with Kiwi")
          } else if (yield* isNewHome) return { ...agreed(request, "init", doubt), agent: doubt }
        }
        const why = whyNotTyped({
          env,
          lineage: above,
          stdin: options.stdinIsData === true || stdin.isTerminal,
          stdout: stdout.isTerminal
        })
        const opens = yield* identity.opensWith(given === undefined ? noPassphrase : Redacted.make(given))
        const terminal = yield* device.open
        if (opens === true) {
          const asksNothing = options.yes || options.asksItself === true
          if (why !== undefined || terminal === undefined || asksNothing) {
            const missing = why ?? (terminal === undefined ? "there is no terminal to ask on" : undefined)
            return agreed(request, "passphrase", "KIWI_PASSPHRASE", yield* onlyChoice(request, missing))
          }
          const { choice, seen } = yield* askYes(request, terminal)
          return agreed(request, "passphrase", `KIWI_PASSPHRASE, ${seen}`, choice)
        }
        if (opens === false) {
          // What a person types below an agent passes through the agent.
          if (terminal !== undefined && why === undefined) return yield* askPassphrase(request, terminal)
          return yield* required(
            request,
            `your signing key has a passphrase, ${
              given === undefined ? "KIWI_PASSPHRASE is not set" : "KIWI_PASSPHRASE has a wrong one"
            }, and it cannot be typed here: ${why ?? "there is no terminal"}`
          )
        }
        if (why !== undefined || terminal === undefined) {
          const useless = yield* uselessVariable(request)
          const reasons = [why ?? "there is no terminal to ask on", ...(useless === undefined ? [] : [useless.why])]
          // An agent that was not detected reads this too.
          const remedy = useless?.remedy ?? `A person types it at a terminal: ${request.command}`
          return yield* required(request, reasons.join("; "), agent === undefined ? remedy : undefined)
        }
        if (options.asksItself === true) return agreed(request, "terminal", `passphrase typed at ${terminal.name}`)
        if (options.yes) {
          return agreed(request, "terminal", `--yes at ${terminal.name}`, yield* onlyChoice(request))
        }
        const { choice, seen } = yield* askYes(request, terminal)
        return agreed(request, "terminal", seen, choice)
      },
      Effect.scoped
    )
  })
})

/** Provides the gate of the terminal. With `yes` the person is not asked. */
export const withGate = (yes: boolean, options: Omit<GateOptions, "yes"> = {}) =>
  Effect.provideServiceEffect(HumanGate, make({ ...options, yes }))

export const yesFlag = Flag.Boolean("yes").pipe(
  Flag.withoutNegation,
  Flag.withAlias("y"),
  Flag.withDescription("Skip the question. Still needs a person at a terminal, or the passphrase of your signing key"),
  Flag.withDefault(false)
)
