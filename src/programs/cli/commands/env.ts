// env: the variables that a tool gets and their origins, and the secrets that it may refer to.
import { Effect, Option, Redacted, Schema, Stdio, Stream } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { SecretStore } from "../../../services/identity/SecretStore.ts"
import type { BeatenValue, EnvExplanation } from "../../envExplain.ts"
import { explainEnv } from "../../envExplain.ts"
import { removeSecret, setSecret } from "../../secrets.ts"
import { renderError } from "../failure.ts"
import { withNext } from "../help.ts"
import { withGate, yesFlag } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { TerminalDevice } from "../TerminalDevice.ts"
import { definitions, indented, type Paint, plural, table } from "../text.ts"
import { tierFlag } from "./search.ts"

const originWords: ReadonlyMap<string, string> = new Map([
  ["override", "given by the program that embeds Kiwi"],
  ["process", "the environment that Kiwi was started with"],
  ["project:.env.local", ".env.local"],
  ["project:.env", ".env"],
  ["project:.ai/.env", ".ai/.env"],
  ["user:.env", ".env of your user space"],
  ["declared", "ENV_CONFIG"],
  ["interpreter", "the interpreter"],
  ["default", "Kiwi"]
])

const originText = (origin: string, line?: number): string =>
  `${originWords.get(origin) ?? origin}${line === undefined ? "" : `, line ${line}`}`

const overriddenText = ({ line, origin, refused, value }: BeatenValue): string =>
  refused === undefined
    ? `overrides ${safeLine(value, 80)} from ${originText(origin, line)}`
    : `not from ${originText(origin, line)}: ${safeLine(refused)}`

const variableLines = (
  { beat, keychain, name, origin, reaches, value }: EnvExplanation["variables"][number],
  paint: Paint
): ReadonlyArray<string> => [
  `${paint.bold(safeLine(name))} = ${safeLine(value, 400)}  ${
    paint.dim([
      originText(origin),
      ...(reaches === "config" ? ["for the config only"] : []),
      ...(keychain === undefined
        ? []
        : [`keychain:${keychain.name}${keychain.stored ? "" : `, not stored: kiwi env secret set ${keychain.name}`}`])
    ].join("; "))
  }`,
  ...beat.map((one) => `  ${paint.dim(overriddenText(one))}`)
]

const interpreterText = ({ kind, path, variable, version }: NonNullable<EnvExplanation["interpreter"]>): string =>
  `${safeLine(path, 400)}  (${kind}${version === undefined ? "" : ` ${safeLine(version)}`}, in ${safeLine(variable)})`

const explanationText = (found: EnvExplanation, paint: Paint, width: number): string =>
  [
    `${paint.bold(`tool ${safeLine(found.tool)}`)}  ${
      found.ready ? paint.green("has all that it needs") : paint.red("lacks something")
    }`,
    definitions([
      ["file", safeLine(found.path, 400)],
      ["interpreter", found.interpreter === undefined ? "none" : interpreterText(found.interpreter)],
      ...found.looked.map(({ outcome, path, where }, at) =>
        [
          at === 0 ? "looked before" : "",
          `${safeLine(where)}: ${safeLine(outcome)}${path === undefined ? "" : `  ${safeLine(path, 400)}`}`
        ] as const
      ),
      ...found.path_skipped.map((entry, at) =>
        [at === 0 ? "PATH without" : "", safeLine(entry === "" ? "." : entry, 400)] as const
      )
    ], width),
    "",
    found.variables.flatMap((one) => variableLines(one, paint)).join("\n"),
    ...(found.unset.length === 0 ? [] : [
      "",
      found.unset.flatMap(({ name, refused, required }) => [
        `${paint.bold(safeLine(name))} ${
          required ? paint.red("is not set") : paint.dim("is not set; it has a default")
        }`,
        ...refused.map((one) => `  ${paint.dim(overriddenText(one))}`)
      ]).join("\n")
    ]),
    ...(found.warnings.length === 0 ? [] : [
      "",
      found.warnings.map(({ file, issue, line }) =>
        `${paint.yellow("warning")}: ${originText(file)}:${line}: ${safeText(issue)}`
      ).join("\n")
    ]),
    ...(found.problem === undefined ? [] : ["", renderError(found.problem, paint)]),
    ...(found.blocked === undefined ? [] : ["", renderError(found.blocked, paint)])
  ].join("\n")

export const envExplainCommand = Command.make("explain", {
  tool: Argument.String("tool").pipe(Argument.withDescription("Its id, or category/id: add, math/add")),
  tier: tierFlag
}, ({ tier, tool }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const found = yield* inProject(() => explainEnv({ id: tool, tier: Option.getOrUndefined(tier) }, by))
    yield* output.answer(found, (paint) => explanationText(found, paint, output.width))
  })).pipe(
    Command.withDescription(
      "Show the environment that a tool would run in: every variable with its value, its origin and the values that it " +
        "overrides; its interpreter with kind and version, and the places that Kiwi searched before; what is declared " +
        "but not set. Secrets are masked, in JSON too. Runs and changes nothing."
    ),
    Command.withShortDescription("Every variable of a tool, its origin and what it overrides"),
    Command.withExamples([
      { command: "kiwi env explain add" },
      { command: "kiwi env explain math/add --json", description: "For a program" }
    ]),
    withNext(["kiwi explain TOOL", "why it does not run"], ["kiwi env secret set NAME", "store a secret"])
  )

const nameArgument = Argument.String("name").pipe(
  Argument.withDescription("What tools call it: keychain:NAME. Letters, digits, . _ and -")
)

/** No secret was typed on a terminal or given on stdin. */
export class NoSecretGiven extends Schema.TaggedError<NoSecretGiven>()("NoSecretGiven", { name: Schema.String }) {
  override get message() {
    return "No secret was given"
  }
  get remediation() {
    return `Type it on a terminal, or give it to stdin: kiwi env secret set ${this.name} --stdin < FILE`
  }
}

const readValue = (name: string, fromStdin: boolean) =>
  Effect.gen(function*() {
    const device = yield* TerminalDevice
    const terminal = fromStdin ? undefined : yield* device.open
    if (terminal !== undefined) {
      const typed = yield* terminal.readSecret(`Secret ${safeLine(name)} (not shown): `)
      yield* terminal.write("\n")
      if (typed === undefined || typed === "") return yield* new NoSecretGiven({ name })
      return Redacted.make(typed)
    }
    const { stdin } = yield* Stdio.Stdio
    const text = yield* Effect.mapError(
      Stream.mkString(Stream.decodeText(stdin)),
      () => new NoSecretGiven({ name })
    )
    // The output of echo ends with a line end, and so do most files.
    const value = text.replace(/\r?\n$/, "")
    return value === "" ? yield* new NoSecretGiven({ name }) : Redacted.make(value)
  }).pipe(Effect.scoped)

/** Shorter secrets are not removed from a tool's output: too much other text would be removed too. */
const shortest = 8

export const secretSetCommand = Command.make("set", {
  name: nameArgument,
  stdin: Flag.Boolean("stdin").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Read it from stdin instead of asking for it; a line end at its end is left out"),
    Flag.withDefault(false)
  ),
  yes: yesFlag
}, ({ name, stdin, yes }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    let length = 0
    const value = Effect.tap(readValue(name, stdin), (given) =>
      Effect.sync(() => (length = Redacted.value(given).length)))
    const stored = yield* inProject(() =>
      setSecret(name, value, by)
    ).pipe(withGate(yes, { stdinIsData: stdin }))
    yield* output.answer(
      { stored: { name: stored.name, stored_in: stored.storedIn } },
      (paint) => `${paint.green("stored")} ${safeLine(stored.name)} in the ${stored.storedIn}`
    )
    if (length < shortest && !output.json) {
      yield* output.say(`It has fewer than ${shortest} characters, so Kiwi does not remove it from a tool's output.`)
    }
  })).pipe(
    Command.withDescription(
      "Store a secret for tools that declare a variable as keychain:NAME. You type it on the terminal, where it is not " +
        "shown, or give it on stdin; never as an argument, which other programs could see. It is kept in the keychain, " +
        "or without one in a file that only you can read. Only tools that you have signed get it."
    ),
    Command.withShortDescription("Store a secret"),
    Command.withExamples([
      { command: "kiwi env secret set github" },
      { command: "kiwi env secret set github --stdin < token.txt", description: "From a file" }
    ]),
    withNext(["kiwi env explain TOOL", "which variables refer to it"], ["kiwi env secret list", "what is stored"])
  )

export const secretListCommand = Command.make("list", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const secrets = yield* Effect.flatMap(SecretStore, (store) => store.list)
    yield* output.answer(
      { secrets: secrets.map(({ name, storedIn }) => ({ name, stored_in: storedIn })) },
      (paint) => table(secrets.map(({ name, storedIn }) => [paint.bold(safeLine(name)), storedIn]))
    )
    if (output.json) return
    yield* output.say(
      secrets.length === 0
        ? "Nothing is stored yet: kiwi env secret set NAME"
        : indented([`${plural(secrets.length, "secret")}; their values are shown nowhere`])
    )
  })).pipe(
    Command.withDescription("List the names of your secrets, and where each is kept. Never a value."),
    Command.withShortDescription("List the names of your secrets"),
    Command.withExamples([{ command: "kiwi env secret list" }]),
    withNext(["kiwi env secret remove NAME", "remove one"])
  )

export const secretRemoveCommand = Command.make(
  "remove",
  { name: nameArgument, yes: yesFlag },
  ({ name, yes }) =>
    Effect.gen(function*() {
      const output = yield* Output
      const by = yield* caller
      const removed = yield* inProject(() => removeSecret(name, by)).pipe(withGate(yes))
      yield* output.answer(
        { removed, name },
        (paint) => removed ? `${paint.green("removed")} ${safeLine(name)}` : ""
      )
      if (!removed && !output.json) yield* output.say(`Nothing is stored as ${safeLine(name)}; nothing was changed.`)
    })
).pipe(
  Command.withDescription("Remove a secret. Tools that refer to it do not run any more."),
  Command.withShortDescription("Remove a secret"),
  Command.withExamples([{ command: "kiwi env secret remove github" }]),
  withNext(["kiwi env secret list", "what is left"])
)

/** What `env secret` is for. Its commands are above. */
export const secretGroup = Command.make("secret").pipe(
  Command.withDescription(
    "Keep secrets for your tools: in the keychain, by a name that a .env file or ENV_CONFIG refers to as keychain:NAME."
  ),
  Command.withShortDescription("Keep secrets for your tools"),
  Command.withExamples([{ command: "kiwi env secret set github" }, { command: "kiwi env secret list" }])
)

/** What `env` is for. */
export const envGroup = Command.make("env").pipe(
  Command.withDescription(
    "See what a tool gets from its environment and why, install the packages that it declares, and keep the secrets " +
      "that it refers to."
  ),
  Command.withShortDescription("What tools get from their environment"),
  Command.withExamples([
    { command: "kiwi env explain add" },
    { command: "kiwi env sync" },
    { command: "kiwi env secret set github" }
  ])
)
