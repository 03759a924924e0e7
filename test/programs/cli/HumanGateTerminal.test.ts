import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Path, Redacted } from "effect"
import * as LineageMemory from "../../../src/layers/presence/LineageMemory.ts"
import * as HumanGateTerminal from "../../../src/programs/cli/HumanGateTerminal.ts"
import { Output } from "../../../src/programs/cli/Output.ts"
import { Shell } from "../../../src/programs/cli/Shell.ts"
import { TerminalDevice } from "../../../src/programs/cli/TerminalDevice.ts"
import { uncolored } from "../../../src/programs/cli/text.ts"
import { safeText } from "../../../src/services/error/safeText.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"
import type { ProcessInfo } from "../../../src/services/presence/Lineage.ts"
import type { HumanAct, HumanRequest } from "../../../src/services/trust/HumanAct.ts"
import { KiwiHome } from "../../../src/services/workspace/KiwiHome.ts"
import { device, testShell } from "./runCli.ts"

const request: HumanRequest = {
  kind: "sign",
  title: "Sign tool evil\u001b[2K 1.0.0",
  details: "+ print('\u202eharmless')\n+ \u001b]0;title\u0007",
  digest: "d1",
  command: "kiwi sign tool evil"
}

interface Situation extends Partial<HumanGateTerminal.GateOptions> {
  readonly env?: Record<string, string>
  /** What is typed on the controlling terminal; none without one. */
  readonly answers?: ReadonlyArray<string>
  /** The key's passphrase; a key without one by default, "none" for no key. */
  readonly passphrase?: string
  readonly noKey?: boolean
  readonly stdin?: boolean
  readonly stdout?: boolean
  /** Everything above this process; "unknown" where it cannot be read. */
  readonly above?: ReadonlyArray<Partial<ProcessInfo>> | "unknown"
  /** Of the terminal; unknown by default. */
  readonly rows?: number
  readonly request?: Partial<HumanRequest>
  /** Files of Kiwi's folder. */
  readonly home?: ReadonlyArray<string>
}

const silent = { isTerminal: false, columns: 80, write: () => Effect.void }

const ask = (options: Situation) =>
  Effect.gen(function*() {
    let shown = ""
    const { above = [{ name: "bash", argv: ["-bash"] }], home = [] } = options
    const layers = Layer.mergeAll(
      Layer.succeed(
        Shell,
        testShell({
          env: options.env ?? {},
          stdin: { isTerminal: options.stdin ?? true },
          stdout: { ...silent, isTerminal: options.stdout ?? true }
        })
      ),
      Layer.mock(Output, { json: false, paint: uncolored, talkPaint: uncolored, width: 80, isTerminal: false }),
      Layer.succeed(
        TerminalDevice,
        device(options.answers, (text) => {
          shown += text
        }, options.rows)
      ),
      Layer.mock(Identity, {
        current: Effect.succeed(
          options.noKey === true ? undefined : { keyId: "0".repeat(16), publicKey: "x".repeat(43), name: "me" }
        ),
        opensWith: (typed) =>
          Effect.succeed(options.passphrase === undefined ? undefined : Redacted.value(typed) === options.passphrase)
      }),
      LineageMemory.layerWith(above === "unknown" ? undefined : [{}, ...above]),
      Layer.succeed(KiwiHome, {
        home: "/home/me/.kiwi",
        userSpace: "/home/me/.ai",
        systemSpace: "/opt/kiwi/.ai",
        verified: "/home/me/.kiwi/verified",
        userHome: "/home/me"
      }),
      Path.layer,
      FileSystem.layerNoop({
        exists: (path) => Effect.succeed(home.some((file) => `/home/me/.kiwi/${file}`.startsWith(path))),
        readDirectory: () => Effect.succeed(home.map((file) => file.split("/")[1] ?? ""))
      })
    )
    const gate = yield* Effect.provide(HumanGateTerminal.make({ yes: false, ...options }), layers)
    const outcome = yield* Effect.result(gate.ask({ ...request, ...options.request }))
    return { outcome, shown }
  })

const agrees = (name: string, options: Situation, by: HumanAct["by"], seen: string) =>
  it.effect(name, () =>
    Effect.gen(function*() {
      const { outcome } = yield* ask(options)
      if (outcome._tag === "Failure") return assert.fail(outcome.failure.message)
      const { agent, passphrase, ...act } = outcome.success
      assert.deepStrictEqual(act, { kind: "sign", digest: "d1", by, seen })
      assert.strictEqual(agent, /^(Claude Code|it is not known)/.test(seen) ? seen : undefined)
      assert.strictEqual(passphrase !== undefined, seen.startsWith("typed"), "what opens the key, and only that")
    }))

const needsPerson = (name: string, options: Situation, why: string, remedy = "kiwi sign tool evil") =>
  it.effect(name, () =>
    Effect.gen(function*() {
      const { outcome } = yield* ask(options)
      if (outcome._tag === "Success") return assert.fail(`agreed by ${outcome.success.by}`)
      assert.strictEqual(outcome.failure._tag, "HumanRequired")
      assert.include(outcome.failure.message, why)
      assert.include(outcome.failure.remediation, "kiwi sign tool evil")
      assert.include(outcome.failure.remediation, remedy)
    }))

describe("a person at a terminal", () => {
  for (const answer of ["y", "Y", " yes ", "YES"]) {
    agrees(`agrees by "${answer}"`, { answers: [answer] }, "terminal", "answered at /dev/pts/7")
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

  it.effect("is not asked with --yes, and still has to be there", () =>
    Effect.gen(function*() {
      const { outcome, shown } = yield* ask({ yes: true, answers: ["n"] })
      assert.deepStrictEqual([outcome._tag === "Success" && outcome.success.seen, shown], ["--yes at /dev/pts/7", ""])
    }))

  agrees(
    "may have a KIWI_PROJECT of their own",
    { env: { KIWI_PROJECT: "/home/me/project" }, answers: ["y"] },
    "terminal",
    "answered at /dev/pts/7"
  )
  agrees(
    "may feed a secret to stdin",
    { stdin: false, stdinIsData: true, answers: ["y"] },
    "terminal",
    "answered at /dev/pts/7"
  )

  // The integrated terminal of an editor that hosts an agent.
  for (
    const [editor, above, env] of [
      ["VS Code", { name: "code", program: "/usr/share/code/code" }, { TERM_PROGRAM: "vscode" }],
      ["Cursor", { name: "cursor", program: "/opt/Cursor/cursor" }, { TERM_PROGRAM: "vscode", CURSOR_TRACE_ID: "1" }],
      ["Windsurf", { name: "windsurf", program: "/usr/share/windsurf/windsurf" }, { TERM_PROGRAM: "vscode" }],
      ["Zed", { name: "zed-editor", program: "/opt/zed.app/libexec/zed-editor" }, { ZED_TERM: "true" }],
      ["a JetBrains IDE", { name: "idea", program: "/opt/idea/bin/idea" }, { TERMINAL_EMULATOR: "JetBrains-JediTerm" }]
    ] as const
  ) {
    agrees(
      `signs in the terminal of ${editor}`,
      { above: [{ name: "zsh", argv: ["/usr/bin/zsh", "-i"] }, above], env, answers: ["y"] },
      "terminal",
      "answered at /dev/pts/7"
    )
  }
})

const ends = (
  name: string,
  options: Situation,
  said: string,
  seen: string
) =>
  it.effect(name, () =>
    Effect.gen(function*() {
      const { outcome } = yield* ask(options)
      if (outcome._tag === "Success" || outcome.failure._tag !== "HumanDeclined") return assert.fail(outcome._tag)
      const { by, message, remediation } = outcome.failure
      assert.deepStrictEqual([message.split(": ")[1], by, outcome.failure.seen], [said, "terminal", seen])
      assert.strictEqual(remediation, "Nothing was changed. To be asked again, type: kiwi sign tool evil")
      assert.notInclude(message + remediation, "the person")
    }))

describe("a question without a yes speaks to who typed, and is recorded with what was seen", () => {
  const passphrase = "open sesame"
  const long = { details: "+ line\n".repeat(60) }
  for (const answer of ["n", "no", "", "perhaps"]) {
    ends(`"${answer}"`, { answers: [answer] }, "you did not answer yes", "answered no at /dev/pts/7")
  }
  ends("hanging up", { answers: [] }, "you did not answer yes", "answered no at /dev/pts/7")
  ends(
    "q",
    { answers: ["q"], rows: 20, request: long },
    "you stopped before the end",
    "stopped before the end at /dev/pts/7"
  )
  ends(
    "q before the passphrase",
    { answers: ["q"], rows: 20, request: long, passphrase },
    "you stopped before the end",
    "stopped before the end at /dev/pts/7"
  )
  ends(
    "an empty passphrase",
    { answers: [""], passphrase },
    "no passphrase was typed",
    "typed no passphrase at /dev/pts/7"
  )
  ends("no passphrase", { answers: [], passphrase }, "no passphrase was typed", "typed no passphrase at /dev/pts/7")
  ends(
    "three wrong passphrases",
    { answers: ["a", "b", "c", passphrase], passphrase },
    "the passphrase was not right",
    "typed a wrong passphrase at /dev/pts/7"
  )
})

describe("nobody", () => {
  for (const yes of [false, true]) {
    const flag = yes ? ", with --yes" : ""
    needsPerson(`is at a pipe for stdin${flag}`, { yes, stdin: false, answers: ["y"] }, "stdin is not a terminal")
    needsPerson(`is at a pipe for stdout${flag}`, { yes, stdout: false, answers: ["y"] }, "stdout is not a terminal")
    needsPerson(`is where there is no terminal to ask on${flag}`, { yes }, "no terminal")
    needsPerson(`is known where the parents cannot be read${flag}`, { yes, above: "unknown", answers: ["y"] }, "who")
    needsPerson(`is below an agent${flag}`, { yes, above: [{ name: "claude" }], answers: ["y"] }, "Claude Code runs")
    for (const name of ["CLAUDECODE", "OPENCODE", "AGENT", "CODEX_THREAD_ID", "CURSOR_AGENT", "GEMINI_CLI"]) {
      needsPerson(`is where ${name} is set${flag}`, { yes, env: { [name]: "1" }, answers: ["y"] }, `${name} is set`)
    }
  }
  needsPerson(
    "is in a tool, whatever it knows",
    { env: { KIWI_CALL: "1", KIWI_PASSPHRASE: "open" }, passphrase: "open", answers: ["y", "open"] },
    "KIWI_CALL is set: a tool"
  )
  needsPerson(
    "is where a passphrase is set for a key that has none",
    { env: { KIWI_PASSPHRASE: "mine" }, stdin: false },
    "stdin is not a terminal; KIWI_PASSPHRASE is not used: your signing key has no passphrase",
    "Put the passphrase on the key, at a terminal: kiwi identity encrypt"
  )
  needsPerson(
    "is where a passphrase is set and there is no key",
    { env: { KIWI_PASSPHRASE: "mine" }, noKey: true, above: [{ name: "codex" }] },
    "Codex runs this command",
    "Ask the person to type: "
  )
  for (
    const [what, situation] of [["stdin", { stdin: false }], ["stdout", { stdout: false }], ["terminal", {}]] as const
  ) {
    needsPerson(
      `is where a passphrase is set for a key that is not there yet, and no ${what}`,
      { env: { KIWI_PASSPHRASE: "mine" }, noKey: true, ...situation },
      "KIWI_PASSPHRASE is not used: there is no signing key yet",
      "KIWI_PASSPHRASE=… kiwi init"
    )
    needsPerson(
      `is where a passphrase is set for a plain key, and no ${what}`,
      { env: { KIWI_PASSPHRASE: "mine" }, ...situation },
      "KIWI_PASSPHRASE is not used: your signing key has no passphrase",
      "kiwi identity encrypt"
    )
    needsPerson(
      `is told about no variable that is not set: ${what}`,
      situation,
      "terminal",
      "A person types it at a terminal: kiwi"
    )
  }
})

describe("a key with a passphrase", () => {
  const passphrase = "open sesame"
  const env = { KIWI_PASSPHRASE: passphrase }
  const above = [{ name: "bash", argv: ["bash", "-c", "kiwi"] }, { name: "claude" }]

  agrees("is a person's by KIWI_PASSPHRASE", { env, passphrase, stdin: false }, "passphrase", "KIWI_PASSPHRASE")
  agrees("below an agent too", { env, passphrase, above, answers: ["n"] }, "passphrase", "KIWI_PASSPHRASE")
  agrees(
    "who is asked where they can be",
    { env, passphrase, answers: ["y"] },
    "passphrase",
    "KIWI_PASSPHRASE, answered at /dev/pts/7"
  )
  agrees("or types it", { passphrase, answers: ["y", "guess", passphrase] }, "passphrase", "typed at /dev/pts/7")
  needsPerson(
    "but not below an agent",
    { passphrase, above, answers: [passphrase] },
    "cannot be typed here: Claude Code"
  )
  agrees(
    "is put on by a command that asks for it itself",
    { asksItself: true, answers: ["y"] },
    "terminal",
    "passphrase typed at /dev/pts/7"
  )
  needsPerson(
    "where there is a terminal",
    { asksItself: true, stdin: false, answers: ["y"] },
    "stdin is not a terminal"
  )
  needsPerson("nor into a pipe", { passphrase, stdout: false, answers: [passphrase] }, "stdout is not a terminal")

  it.effect("and not by a yes, a flag, a guess, or silence", () =>
    Effect.gen(function*() {
      for (
        const options of [
          { answers: ["y", "yes", "guess", passphrase] },
          { yes: true, answers: ["y", "y", "y"] },
          { yes: true },
          { env: { KIWI_PASSPHRASE: "guess" }, yes: true },
          { env: { KIWI_PASSPHRASE: "guess" }, answers: ["y", "y", "y"] },
          { env: { KIWI_PASSPHRASE: "" }, stdin: false },
          { answers: [""] }
        ]
      ) {
        const { outcome, shown } = yield* ask({ ...options, passphrase })
        const tag = outcome._tag === "Failure" ? outcome.failure._tag : "agreed"
        assert.strictEqual(
          tag,
          options.answers === undefined ? "HumanRequired" : "HumanDeclined",
          JSON.stringify(options)
        )
        assert.notInclude(shown, passphrase)
      }
    }))
})

describe("what comes with Kiwi", () => {
  const own = { ownBytes: true, yes: true }
  const above = [{ name: "claude" }]
  const used = ["projects/1/trust.json"]

  agrees("needs nobody", { ...own, stdin: false }, "init", "what comes with Kiwi")
  agrees(
    "nor below an agent, in a new home",
    { ...own, noKey: true, above },
    "init",
    "Claude Code runs this command (process 99)"
  )
  needsPerson("but an agent trusts no folder where there is a key", { ...own, above }, "Claude Code runs")
  needsPerson("nor where something was trusted", { ...own, above, home: used }, "Claude Code runs")
  needsPerson(
    "where the key has a passphrase, it is needed, without an agent too",
    { ...own, stdin: false, passphrase: "correct horse" },
    "your signing key has a passphrase"
  )
  agrees(
    "nor in a home where nothing was trusted",
    { ...own, noKey: true, above, home: ["projects/1/cache"] },
    "init",
    "Claude Code runs this command (process 99)"
  )
  for (const home of [used, ["signers.json"], ["keys/item-1.json"]]) {
    needsPerson(
      `but an agent makes no key for a home with ${home.join()}`,
      { ...own, noKey: true, above, home, env: { KIWI_PASSPHRASE: "mine" }, answers: ["y"] },
      "Claude Code runs"
    )
  }
  agrees(
    "nor where nobody can see what is above, in a new home",
    { ...own, noKey: true, above: "unknown" },
    "init",
    "it is not known who started it"
  )
  for (
    const options of [{}, { noKey: true, home: used }, { noKey: true, home: used, env: { KIWI_PASSPHRASE: "mine" } }]
  ) {
    needsPerson(
      "but not in a home in use",
      { ...own, ...options, above: "unknown" },
      "it is not known who started it"
    )
  }
  needsPerson("nor does a tool", { ...own, env: { KIWI_CALL: "1" } }, "KIWI_CALL is set")
})
