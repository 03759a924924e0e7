// doctor and completions: check the machine, and complete commands in a shell.
import { Effect } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Completions from "effect/cli/Completions"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { doctor } from "../../doctor.ts"
import type { Finding } from "../../finding.ts"
import { withNext } from "../help.ts"
import { Output } from "../Output.ts"
import { inProject } from "../root.ts"
import { Shell } from "../Shell.ts"
import { indented, pad, plural, wrap } from "../text.ts"
import type { Paint } from "../text.ts"

const findingText = ({ check, found, remedy, result }: Finding, paint: Paint, width: number): string => {
  const mark = result === "ok" ? paint.green("ok  ") : result === "warn" ? paint.yellow("warn") : paint.red("fail")
  const [first = "", ...rest] = safeText(found).split("\n").flatMap((line) => wrap(line, width - 16))
  return [
    `${mark}  ${pad(paint.bold(check), 9)} ${first}`,
    ...(rest.length === 0 ? [] : [indented(rest, 16)]),
    ...(remedy === undefined ? [] : [indented([`${paint.cyan("hint")}: ${safeText(remedy)}`], 16)])
  ].join("\n")
}

export const doctorCommand = Command.make("doctor", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const { node, platform } = yield* Shell
    const findings = yield* output.busy("Looking", () => inProject((project) => doctor({ node, platform, project })))
    const count = (result: Finding["result"]) => findings.filter((finding) => finding.result === result).length
    if (count("fail") > 0) yield* output.failed
    yield* output.answer(
      { healthy: count("fail") === 0, findings },
      (paint) => findings.map((finding) => findingText(finding, paint, output.width)).join("\n")
    )
    if (!output.json) {
      yield* output.say(
        count("fail") + count("warn") === 0
          ? "\nEverything is as it should be."
          : `\n${plural(count("fail"), "problem")} that keep${count("fail") === 1 ? "s" : ""} Kiwi from working, ${
            plural(count("warn"), "note")
          }.`
      )
    }
  })).pipe(
    Command.withDescription(
      "Check everything that usually keeps Kiwi from working: Node, the languages that tools are written in, Kiwi's " +
        "own folder, the keychain, the project's trust, its files, rules and remembered answers, waiting requests, lowered " +
        "tools, the search index, the audit, and the MCP clients of this machine. Says what to do about each finding; exits with 1 only if something has to be fixed."
    ),
    Command.withShortDescription("Find what keeps Kiwi from working"),
    Command.withExamples([{ command: "kiwi doctor" }, { command: "kiwi doctor --json" }]),
    withNext(["kiwi explain ID", "check one item instead"])
  )

const shells = ["bash", "zsh", "fish", "powershell"] as const

const install: Readonly<Record<typeof shells[number], string>> = {
  bash: "kiwi completions bash > ~/.local/share/bash-completion/completions/kiwi",
  zsh: "kiwi completions zsh > \"${fpath[1]}/_kiwi\"",
  fish: "kiwi completions fish > ~/.config/fish/completions/kiwi.fish",
  powershell: "kiwi completions powershell >> $PROFILE"
}

const folder = { _tag: "Path", pathType: "directory" } as const

/** The parser takes folders as plain text, so that a wrong one is reported like any other failure. */
const withFolders = (command: Completions.CommandDescriptor): Completions.CommandDescriptor => ({
  ...command,
  flags: command.flags.map((flag) => flag.name === "project" ? { ...flag, type: folder } : flag),
  arguments: command.arguments.map((argument) => argument.name === "dir" ? { ...argument, type: folder } : argument),
  subcommands: command.subcommands.map(withFolders)
})

/** `tree` returns the finished command tree, which contains this command. */
export const completionsCommand = (tree: () => Command.Command.Any) =>
  Command.make("completions", {
    shell: Argument.Literals("shell", shells).pipe(Argument.withDescription(`The shell: ${shells.join(", ")}`))
  }, ({ shell }) =>
    Effect.gen(function*() {
      const output = yield* Output
      const script = Completions.generate("kiwi", shell, withFolders(Completions.fromCommand(tree())))
      yield* output.answer({ shell, script }, () => script.trimEnd())
      if (output.isTerminal && !output.json) {
        yield* output.say(`\nTo keep it: ${output.talkPaint.cyan(safeLine(install[shell]))}`)
      }
    })).pipe(
      Command.withDescription(
        "Print a script that completes commands and flags in your shell when you press Tab. Put it where your shell " +
          "looks for such scripts, and start a new one."
      ),
      Command.withShortDescription("Print a completion script for your shell"),
      Command.withExamples(
        shells.map((shell) => ({ command: install[shell] }))
      )
    )
