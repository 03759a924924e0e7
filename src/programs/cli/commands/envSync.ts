// env sync and env prune: install the packages that tools declare, and remove unused ones.
import { Duration, Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { envPrune, envSync } from "../../envSync.ts"
import type { Synced } from "../../envSync.ts"
import { withNext } from "../help.ts"
import { withGate } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { indented, plural } from "../text.ts"
import type { Paint } from "../text.ts"

const words: Readonly<Record<Synced["state"], (paint: Paint) => string>> = {
  installed: (paint) => paint.green("installed"),
  "up-to-date": (paint) => paint.green("up to date"),
  nothing: (paint) => paint.dim("needs no packages"),
  refused: (paint) => paint.red("refused"),
  failed: (paint) => paint.red("failed")
}

const syncedText = ({ error, installer, lockfile, packages, state, tool }: Synced, paint: Paint): string => {
  const head = `${paint.bold(safeLine(tool))}  ${words[state](paint)}${
    packages === undefined
      ? ""
      : `  ${plural(packages.length, "package")}${state === "installed" ? ` by ${safeLine(installer ?? "")}` : ""}`
  }`
  const installed = state === "installed" ? packages ?? [] : []
  return [
    head,
    ...(installed.length === 0 ? [] : [indented(installed.map((one) => safeLine(`${one.name} ${one.version}`)))]),
    ...(lockfile === undefined ? [] : [indented([paint.dim(`locked in ${safeLine(lockfile, 400)}`)])]),
    ...(error === undefined ? [] : [indented([
      ...(state === "installed" || state === "up-to-date" ? [paint.yellow("not locked:")] : []),
      ...safeText(error.message).split("\n"),
      ...(error.remediation === undefined ? [] : [`${paint.cyan("hint")}: ${safeText(error.remediation)}`])
    ])])
  ].join("\n")
}

export const envSyncCommand = Command.make("sync", {
  tool: Argument.String("tool").pipe(
    Argument.withDescription("The tool. Without one: every tool of the project and of your user space"),
    Argument.optional
  ),
  upgrade: Flag.Boolean("upgrade").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Look up versions again, even if packages are installed or locked"),
    Flag.withDefault(false)
  ),
  allowBuild: Flag.Boolean("allow-build").pipe(
    Flag.withoutNegation,
    Flag.withDescription(
      "Let packages run their own code during installation, as you and without a sandbox: npm's install " +
        "scripts, and the building of Python packages that have no wheel"
    ),
    Flag.withDefault(false)
  )
}, ({ allowBuild, tool, upgrade }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const tools = yield* output.busy("Checking tools", (progress) =>
      inProject(() =>
        envSync({
          tool: Option.getOrUndefined(tool),
          upgrade,
          allowBuild,
          plan: (planned) =>
            output.json || planned.length === 0 ? Effect.void : output.say(
              planned.map(({ declared, tool: name }) =>
                `${safeLine(name)} needs ${
                  declared.requirements.map((one) => safeLine(one)).join(", ")
                } (${declared.ecosystem})`
              ).join("\n")
            ),
          progress: (what) => progress(safeLine(what))
        }, by)
      ).pipe(withGate(false)))
    const isBad = ({ error }: Synced) => error !== undefined
    if (tools.some(isBad)) yield* output.failed
    yield* output.answer({ tools }, (paint) => tools.map((one) => syncedText(one, paint)).join("\n"))
    if (tools.length === 0 && !output.json) yield* output.say("No tool here declares any packages.")
  })).pipe(
    Command.withDescription(
      "Install the packages that tools declare, into an environment of their own in Kiwi's folder: Python packages by " +
        "uv or pip, Node packages by npm. Nothing else in Kiwi installs anything. A tool has to be signed, trusted and " +
        "allowed first. Wheels only, and no install scripts."
    ),
    Command.withShortDescription("Install the packages that tools declare"),
    Command.withExamples([
      { command: "kiwi env sync" },
      { command: "kiwi env sync fetch_page", description: "One tool" },
      { command: "kiwi env sync fetch_page --upgrade", description: "The newest versions that it allows" }
    ]),
    withNext(["kiwi explain TOOL", "whether it can run now"], ["kiwi env prune", "remove what no tool uses any more"])
  )

export const envPruneCommand = Command.make("prune", {
  days: Flag.Int("days").pipe(
    Flag.withMetavar("N"),
    Flag.filter((n) => n >= 0 && n <= 36_500, () => "a number from 0 to 36500"),
    Flag.withDescription("Only environments that have not been used for this many days"),
    Flag.withDefault(90)
  )
}, ({ days }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const removed = yield* output.busy(
      "Checking environments",
      () => inProject(() => envPrune(Duration.days(days), by))
    )
    yield* output.answer(
      { removed },
      () => removed.length === 0 ? "nothing to remove" : `removed ${plural(removed.length, "environment")}`
    )
  })).pipe(
    Command.withDescription(
      "Remove environments that have not been used for 90 days, but not those that a tool of this project or of your " +
        "user space declares. If a tool of another project still needs one, kiwi env sync installs it again."
    ),
    Command.withShortDescription("Remove environments that no tool uses"),
    Command.withExamples([{ command: "kiwi env prune" }, { command: "kiwi env prune --days 30" }]),
    withNext(["kiwi env sync", "install what tools declare"])
  )
