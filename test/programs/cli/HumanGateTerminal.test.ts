import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as HumanGateTerminal from "../../../src/programs/cli/HumanGateTerminal.ts"
import { Output } from "../../../src/programs/cli/Output.ts"
import { agentVariable, Shell } from "../../../src/programs/cli/Shell.ts"
import { TerminalDevice } from "../../../src/programs/cli/TerminalDevice.ts"
import { uncolored } from "../../../src/programs/cli/text.ts"
import { safeText } from "../../../src/services/error/safeText.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"
import type { HumanRequest } from "../../../src/services/trust/HumanAct.ts"
import { device, testShell } from "./runCli.ts"

const request: HumanRequest = {
  kind: "sign",
  title: "Sign tool evil\u001b[2K 1.0.0",
  details: "+ print('\u202eharmless')\n+ \u001b]0;title\u0007",
  digest: "d1",
  command: "kiwi sign tool evil"
}

const ask = (options: {
  readonly env?: Record<string, string>
  readonly yes?: boolean
  readonly answers?: ReadonlyArray<string>
  readonly passphrase?: string
}) =>
  Effect.gen(function*() {
    let shown = ""
    const layers = Layer.mergeAll(
      Layer.succeed(Shell, testShell({ env: options.env ?? {} })),
      Layer.mock(Output, { json: false, paint: uncolored, talkPaint: uncolored, width: 80, isTerminal: false }),
      Layer.succeed(
        TerminalDevice,
        device(options.answers, (text) => {
          shown += text
        })
      ),
      Layer.mock(Identity, {
        opensWith: (typed) =>
          Effect.succeed(options.passphrase === undefined ? undefined : Redacted.value(typed) === options.passphrase)
      })
    )
    const gate = yield* Effect.provide(HumanGateTerminal.make({ yes: options.yes ?? false }), layers)
    const outcome = yield* Effect.result(gate.ask(request))
    return { outcome, shown }
  })

describe("agentVariable", () => {
  it("finds each of the variables that agents set", () => {
    for (
      const name of [
        "CLAUDECODE",
        "CURSOR_AGENT",
        "AI_AGENT",
        "CODEX_SANDBOX",
        "CODEX_THREAD_ID",
        "KIWI_PROJECT",
        "KIWI_CALL"
      ]
    ) {
      assert.strictEqual(agentVariable({ HOME: "/", [name]: "1" }), name)
    }
  })

  it("finds none where they are empty or say no", () => {
    assert.isUndefined(agentVariable({ CLAUDECODE: "", AI_AGENT: "0", CURSOR_AGENT: "False", NOT_CODEX_X: "1" }))
    assert.isUndefined(agentVariable({ CODEX: "1", CLAUDECODES: "1", constructor: "1" }))
  })
})

describe("a person", () => {
  for (const answer of ["y", "Y", " yes ", "YES"]) {
    it.effect(`agrees by "${answer}"`, () =>
      Effect.gen(function*() {
        const { outcome } = yield* ask({ answers: [answer] })
        assert.deepStrictEqual(outcome._tag === "Success" && outcome.success, {
          kind: "sign",
          digest: "d1",
          by: "terminal"
        })
      }))
  }

  for (const answer of ["", "n", "yes please", "ja", "y\u0000", "yy"]) {
    it.effect(`declines by ${JSON.stringify(answer)}`, () =>
      Effect.gen(function*() {
        const { outcome } = yield* ask({ answers: [answer] })
        assert.strictEqual(outcome._tag === "Failure" && outcome.failure._tag, "HumanDeclined")
      }))
  }

  it.effect("declines by hanging up", () =>
    Effect.gen(function*() {
      const { outcome } = yield* ask({ answers: [] })
      assert.strictEqual(outcome._tag === "Failure" && outcome.failure._tag, "HumanDeclined")
    }))

  it.effect("is shown everything, with what a terminal would act on escaped", () =>
    Effect.gen(function*() {
      const { shown } = yield* ask({ answers: ["n"] })
      assert.include(shown, "Sign tool evil\\u{1b}[2K 1.0.0")
      assert.include(shown, "+ print('\\u{202e}harmless')\n+ \\u{1b}]0;title\\u{7}")
      assert.strictEqual(safeText(shown), shown)
    }))

  it.effect("is not asked with --yes, nor where there is no terminal", () =>
    Effect.gen(function*() {
      for (const options of [{ yes: true, answers: ["n"] }, {}]) {
        const { outcome, shown } = yield* ask(options)
        assert.deepStrictEqual([outcome._tag, shown], ["Success", ""])
      }
    }))
})

describe("an agent", () => {
  const env = { CLAUDECODE: "1" }

  it.effect("is refused where the key has no passphrase, whatever it adds to the command or types", () =>
    Effect.gen(function*() {
      for (
        const options of [{ env }, { env, yes: true }, { env, answers: ["y"] }, { env, yes: true, answers: ["y"] }]
      ) {
        const { outcome, shown } = yield* ask(options)
        assert.strictEqual(shown, "")
        if (outcome._tag === "Success") return assert.fail("agreed")
        assert.strictEqual(outcome.failure._tag, "HumanRequired")
        assert.include(outcome.failure.message, "CLAUDECODE is set")
        assert.include(outcome.failure.remediation, "kiwi sign tool evil")
      }
    }))

  it.effect("is refused without a terminal, although there is a passphrase", () =>
    Effect.gen(function*() {
      const { outcome } = yield* ask({ env, yes: true, passphrase: "opensesame" })
      assert.strictEqual(outcome._tag === "Failure" && outcome.failure._tag, "HumanRequired")
    }))

  it.effect("gets on by the passphrase alone, in three tries, and a yes is none", () =>
    Effect.gen(function*() {
      const right = yield* ask({ env, passphrase: "opensesame", answers: ["y", "guess", "opensesame"] })
      assert.deepStrictEqual(right.outcome._tag === "Success" && right.outcome.success.by, "passphrase")
      const wrong = yield* ask({ env, passphrase: "opensesame", answers: ["y", "yes", "guess", "opensesame"] })
      assert.strictEqual(wrong.outcome._tag === "Failure" && wrong.outcome.failure._tag, "HumanRequired")
      const none = yield* ask({ env, passphrase: "opensesame", answers: [""] })
      assert.strictEqual(none.outcome._tag === "Failure" && none.outcome.failure._tag, "HumanDeclined")
      assert.notInclude(right.shown, "opensesame")
      assert.strictEqual(safeText(right.shown), right.shown)
    }))
})
