// Asks for the passphrase of the signing key, at the controlling terminal only and without echo. Kiwi asks after the
// person has agreed, and before anything is locked or written.
import { Effect, Redacted, Result } from "effect"
import { exactLine } from "../../services/error/exactText.ts"
import { Identity } from "../../services/identity/Identity.ts"
import { passphraseIssue, PassphraseRefused } from "../../services/identity/passphrase.ts"
import { HumanGate } from "../../services/trust/HumanAct.ts"
import type { HumanAct, HumanRequest } from "../../services/trust/HumanAct.ts"
import { declinedAt } from "./HumanGateTerminal.ts"
import { wrapLine } from "./showQuestion.ts"
import type { OpenTerminal } from "./TerminalDevice.ts"
import { TerminalDevice } from "./TerminalDevice.ts"

const tries = 3

const ask = Effect.fnUntraced(function*(
  terminal: OpenTerminal,
  prompt: string,
  request: HumanRequest
) {
  const typed = yield* terminal.readSecret(prompt)
  yield* terminal.write("\n")
  return typed === undefined || typed === "" ? yield* declinedAt(terminal, request, "nothing") : Redacted.make(typed)
})

/** The passphrase of the key. After three wrong ones the last one, which Identity refuses. */
export const askPresent = Effect.fnUntraced(function*(terminal: OpenTerminal, request: HumanRequest) {
  const identity = yield* Identity
  let typed = yield* ask(terminal, "Passphrase of your signing key: ", request)
  for (let turn = 1; turn < tries && (yield* identity.opensWith(typed)) !== true; turn++) {
    yield* terminal.write("That is not the passphrase.\n")
    typed = yield* ask(terminal, "Passphrase of your signing key: ", request)
  }
  return typed
})

const askTwice = Effect.fnUntraced(function*(terminal: OpenTerminal, request: HumanRequest) {
  const typed = yield* ask(terminal, "New passphrase (at least 8 characters, not shown): ", request)
  const issue = passphraseIssue(Redacted.value(typed))
  if (issue !== undefined) return yield* new PassphraseRefused({ issue })
  const again = yield* ask(terminal, "Repeat the new passphrase: ", request)
  if (Redacted.value(again) === Redacted.value(typed)) return typed
  return yield* new PassphraseRefused({ issue: "was typed differently the second time" })
})

/** Asks for a new passphrase, typed twice. After three unusable ones, fails with the last one's issue. */
export const askNew = Effect.fnUntraced(function*(terminal: OpenTerminal, request: HumanRequest) {
  for (let turn = 1; turn < tries; turn++) {
    const typed = yield* Effect.result(askTwice(terminal, request))
    if (Result.isSuccess(typed)) return typed.success
    if (typed.failure._tag !== "PassphraseRefused") return yield* typed.failure
    yield* terminal.write(`It ${typed.failure.issue}. Try again:\n`)
  }
  return yield* askTwice(terminal, request)
})

/**
 * Adds the passphrase to an act of signing if the key has one. Without a terminal the act is not changed, and
 * Identity's error says what to do.
 */
export const withKeyPassphrase = Effect.provideServiceEffect(
  HumanGate,
  Effect.gen(function*() {
    const gate = yield* HumanGate
    const identity = yield* Identity
    const device = yield* TerminalDevice
    const add = Effect.fnUntraced(function*(request: HumanRequest, act: HumanAct) {
      const terminal = yield* device.open
      if (terminal === undefined) return act
      const title = wrapLine(`${exactLine(request.title)}.`, terminal).join("\n")
      yield* terminal.write(`\n${title}\nYour signing key has a passphrase: typing it signs this.\n`)
      return { ...act, passphrase: yield* Effect.provideService(askPresent(terminal, request), Identity, identity) }
    }, Effect.scoped)
    return HumanGate.of({
      ask: Effect.fnUntraced(function*(request) {
        const act = yield* gate.ask(request)
        const isComplete = act.kind !== "sign" || act.passphrase !== undefined || (yield* identity.locked) === undefined
        return isComplete ? act : yield* add(request, act)
      })
    })
  })
)
