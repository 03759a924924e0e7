// init: a project that works at once, and how to connect an agent to it.
import { Effect, FileSystem, Option, Path } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { readText } from "../../../layers/files/readRegular.ts"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { Identity, isEncryptedPlace } from "../../../services/identity/Identity.ts"
import { isProfileName } from "../../../services/permission/profile/Profile.ts"
import { shellWord } from "../../../services/text/shellWord.ts"
import { HumanGate } from "../../../services/trust/HumanAct.ts"
import { KiwiHome } from "../../../services/workspace/KiwiHome.ts"
import { findClients, findSkills } from "../../clients.ts"
import type { FoundClient, FoundSkill } from "../../clients.ts"
import { commandLine, kiwiCommand, npxFolder, npxPackages, serveCommand, snippets } from "../../connect.ts"
import type { Snippet } from "../../connect.ts"
import { encryptHint } from "../../doctor.ts"
import { init } from "../../init.ts"
import type { Initialized } from "../../init.ts"
import type { ItemState } from "../../itemState.ts"
import { renderError } from "../failure.ts"
import { withNext } from "../help.ts"
import * as HumanGateTerminal from "../HumanGateTerminal.ts"
import { withKeyPassphrase } from "../keyPassphrase.ts"
import { Output } from "../Output.ts"
import { caller, root } from "../root.ts"
import { Shell, variable } from "../Shell.ts"
import { definitions, indented, plural, wrap } from "../text.ts"
import type { Paint } from "../text.ts"

interface Report extends Initialized {
  readonly commit: ReadonlyArray<string>
  readonly clients: ReadonlyArray<FoundClient>
  readonly skills: ReadonlyArray<FoundSkill>
  readonly connect: {
    readonly command: string
    readonly args: ReadonlyArray<string>
    readonly snippets: ReadonlyArray<Snippet>
  }
  /** The command to type for `kiwi` in Kiwi's messages. */
  readonly typed: string
  readonly next: ReadonlyArray<string>
}

/** Whether typing `kiwi` starts a Kiwi: a folder of PATH has one that npx did not put there. */
const isOnPath = Effect.gen(function*() {
  const { env, platform } = yield* Shell
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folders = (variable(env, "PATH") ?? "").split(platform === "win32" ? ";" : ":")
  const name = platform === "win32" ? "kiwi.cmd" : "kiwi"
  for (const folder of folders) {
    if (!path.isAbsolute(folder) || /[\\/]node_modules[\\/]|[\\/]_npx[\\/]/.test(`${folder}/`)) continue
    if (yield* Effect.orElseSucceed(files.exists(path.join(folder, name)), () => false)) return true
  }
  return false
})

/** How a client and a person start this Kiwi again. */
const commands = Effect.gen(function*() {
  const { started } = yield* Shell
  const path = yield* Path.Path
  const folder = npxFolder(started.script)
  const left = folder === undefined
    ? ""
    : readText(path.join(folder, "package.json"), { maxBytes: 1_048_576, follow: true }) ?? ""
  const packages = npxPackages(left, (file) => path.resolve(folder ?? "", file))
  const onPath = yield* isOnPath
  const command = kiwiCommand(started, onPath, packages)
  return { command, typed: onPath ? "kiwi" : commandLine(command) }
})

/** The first command to type next. */
const nextCommands = (
  { existed, items, not_signed, project, trust }: Initialized,
  cwd: string
): ReadonlyArray<string> => {
  const waiting = (state: ItemState): boolean =>
    state === "unsigned" || state === "tampered" || (not_signed !== undefined && state === "restricted")
  const types = new Set(items.filter(({ state }) => waiting(state)).map(({ type }) => type))
  return [
    ...(project === cwd || cwd.startsWith(`${project}/`) ? [] : [`cd ${shellWord(project)}`]),
    ...(trust === "restricted" ? ["kiwi trust project"] : []),
    ...[...types].map((type) => `kiwi sign ${type} '**' --changed`),
    ...(existed || not_signed !== undefined ? [] : [`kiwi run tool add --params '{"a": 1, "b": 2}'`]),
    "kiwi search add"
  ]
}

const countStates = (items: Report["items"]): string => {
  const counts = new Map<string, number>()
  for (const { state } of items) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ")
}

export const signedText = ({ refused = [], signed }: Pick<Report, "refused" | "signed">): string => {
  if (refused.length === 0) {
    return `The ${signed.length} items are signed with your key: exactly these bytes come with Kiwi.`
  }
  return [
    `${signed.length} of the ${signed.length + refused.length} items are signed with your key. Not signed:`,
    indented(refused.flatMap(({ error, remediation }) => [
      safeText(error),
      ...(remediation === undefined ? [] : [`  hint: ${safeText(remediation)}`])
    ])),
    "Sign the rest, once the causes are fixed: kiwi sign tool '**' --changed"
  ].join("\n")
}

const madeText = (report: Report, paint: Paint): string => {
  const project = safeLine(report.project, 400)
  if (report.existed) {
    return [
      `${paint.bold(project)} has an .ai already: nothing was written, trusted or signed.`,
      report.items.length === 0
        ? "It holds no items."
        : `It holds ${plural(report.items.length, "item")}: ${countStates(report.items)}.`,
      ...(report.restricted === undefined ? [] : [`Nothing in it runs yet: ${safeText(report.restricted)}.`])
    ].join("\n")
  }
  return [
    `${paint.green("Made")} ${paint.bold(project)} a project:`,
    indented(report.created),
    report.trust === "trusted"
      ? "It is trusted, since Kiwi has just made it."
      : `It is not trusted yet${report.restricted === undefined ? "" : `: ${safeText(report.restricted)}`}.`,
    ...(report.unseen === undefined
      ? []
      : [
        `Its tools do not run with interpreters that you have not accepted: ${
          report.unseen.join(", ")
        }. To see and accept them: kiwi trust project`
      ]),
    report.not_signed === undefined
      ? signedText(report)
      : `The items are not signed yet.\n${indented(renderError(report.not_signed, paint).split("\n"))}`
  ].join("\n")
}

const clientText = ({ client, connected, files, servers }: FoundClient): readonly [string, string] => [
  client,
  [
    connected ? "starts Kiwi already" : servers.length === 0 ? "no servers" : "",
    servers.length === 0 ? "" : `servers: ${servers.map((name) => safeLine(name, 60)).join(", ")}`,
    ...files.filter((file) => !file.readable).map((file) => `${file.path} is not well formed`)
  ].filter((part) => part !== "").join("; ")
]

const reportText = (report: Report, paint: Paint, width: number): string => {
  const { clients, connect, skills } = report
  const line = commandLine(connect)
  return [
    madeText(report, paint),
    ...(report.existed ? [] : [
      `${paint.bold("Commit")}\n${
        indented(wrap(`${report.commit.join(" ")}: .ai/.gitignore keeps logs, caches and secrets out.`, width - 2))
      }`
    ]),
    `${paint.bold("MCP clients on this machine")}\n${
      clients.length === 0 ? "  none found" : definitions(clients.map(clientText), width)
    }`,
    ...(skills.length === 0 ? [] : [
      `${paint.bold("Skills")}\n${
        indented([
          ...skills.slice(0, 12).map(({ path }) => safeLine(path)),
          ...(skills.length > 12 ? [`… and ${skills.length - 12} more`] : [])
        ])
      }`
    ]),
    `${paint.bold("Connect your agent")}\nIt starts Kiwi by: ${paint.cyan(line)}\n\n${
      connect.snippets.map(({ client, instead, text, where }) =>
        [
          `${paint.bold(client)} – ${where}${instead === undefined ? "" : ", or type"}`,
          ...(instead === undefined ? [] : [`  ${paint.cyan(instead)}`]),
          indented(text.split("\n"), 2)
        ].join("\n")
      ).join("\n\n")
    }`,
    `${paint.bold("Next")}\n${
      indented(report.next.map((next) => paint.cyan(next.replace(/^kiwi(?= )/, () => report.typed))))
    }`,
    ...(report.typed === "kiwi" ? [] : [
      `${paint.dim("Where Kiwi says kiwi, type:")} ${paint.cyan(report.typed)}`
    ])
  ].join("\n\n")
}

export const initCommand = Command.make("init", {
  dir: Argument.String("dir").pipe(
    Argument.withDescription("The folder; made if it is missing. Default: this one"),
    Argument.optional
  ),
  profile: Flag.String("profile").pipe(
    Flag.withMetavar("NAME"),
    Flag.filter(isProfileName, () => "1 to 48 letters, digits, dots, - and _"),
    Flag.withDescription("In the clients' configurations that are shown: serve this profile only"),
    Flag.optional
  )
}, ({ dir, profile }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const shell = yield* Shell
    const home = yield* KiwiHome
    const { project } = yield* root
    const by = yield* caller
    const path = yield* Path.Path
    const target = path.resolve(shell.cwd, Option.getOrElse(Option.orElse(dir, () => project), () => ""))
    const identity = yield* Identity
    const before = yield* identity.current
    const making = init(target, by).pipe(
      withKeyPassphrase,
      Effect.provideServiceEffect(HumanGate, HumanGateTerminal.make({ yes: true, ownBytes: true }))
    )
    // Progress would overwrite the prompt for the passphrase.
    const made = yield* (yield* identity.locked) !== undefined
      ? making
      : output.busy("Making the project", () => making)
    const places = { home: home.userHome, project: made.project, platform: shell.platform }
    const { command, typed } = yield* commands
    const serve = serveCommand(command, made.project, Option.getOrUndefined(profile))
    const report: Report = {
      ...made,
      commit: made.existed ? [] : [".ai"],
      clients: yield* findClients(places),
      skills: yield* findSkills(places),
      connect: { ...serve, snippets: snippets(serve) },
      typed,
      next: nextCommands(made, shell.cwd)
    }
    yield* output.answer(report, (paint) => reportText(report, paint, output.width))
    const storedIn = yield* identity.storedIn
    const isPlain = before === undefined && storedIn !== undefined && !isEncryptedPlace(storedIn)
    if (isPlain && output.isTerminal && !output.json) {
      yield* output.say(`\nYour signing key was made without a passphrase. ${encryptHint}.`)
    }
  })).pipe(
    Command.withDescription(
      "Make a folder a project that works at once: three example tools in Python, bash and Node, a directive and a " +
        "knowledge entry, trusted and signed, since exactly these bytes come with Kiwi. Then shows how to connect the " +
        "agents on this machine. A folder that has an .ai already is left as it is. Writes nothing but the folder's " +
        ".ai and Kiwi's own folder."
    ),
    Command.withShortDescription("Make a folder a project that works at once"),
    Command.withExamples([
      { command: "kiwi init" },
      { command: "kiwi init my-project" },
      { command: "npx -y kiwi-mcp init", description: "Without installing anything" }
    ]),
    withNext(["kiwi search add", "find the examples"], ["kiwi doctor", "check the machine"])
  )
