// Formats help: what a command is for, its usage, examples before the list of flags, and what to do next.
import { Context, Effect, Option } from "effect"
import type * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import type { FlagDoc, HelpDoc } from "effect/cli/HelpDoc"
import { version } from "../version.ts"
import { Output } from "./Output.ts"
import { definitions, indented, wrap } from "./text.ts"
import type { Paint } from "./text.ts"

/** Adds the commands to try next, with a description each, to the end of a command's help. */
class Next extends Context.Reference<ReadonlyArray<readonly [command: string, why: string]>>(
  "kiwi/programs/cli/Next",
  { defaultValue: () => [] }
) {}

export const withNext = (...next: ReadonlyArray<readonly [command: string, why: string]>) =>
  Command.annotate(Next, next)

const flagName = ({ aliases, name, type }: FlagDoc): string =>
  `${[...aliases, `--${name}`].join(", ")}${type === "boolean" ? "" : ` ${type}`}`

const text = (description: Option.Option<string>): string => Option.getOrElse(description, () => "")

const flags = (docs: ReadonlyArray<FlagDoc>): ReadonlyArray<readonly [string, string]> =>
  docs.map((flag) => [flagName(flag), text(flag.description)])

/** `kiwi run <TYPE> <ID> [flags]`, or `kiwi <command> [flags]` for a command with subcommands. */
const usage = (doc: HelpDoc): string => {
  const names = (doc.args ?? []).map(({ name, required, variadic }) => {
    const shown = `<${name}>${variadic ? "…" : ""}`
    return required ? shown : `[${shown}]`
  })
  return [
    ...(doc.commandPath ?? []),
    ...(doc.subcommands === undefined ? [] : ["<command>"]),
    ...names,
    "[flags]"
  ].join(" ")
}

interface Section {
  readonly title: string
  readonly rows: ReadonlyArray<readonly [left: string, right: string]>
}

/** Everything but description, usage and examples, as titled lists. */
const sectionsOf = (doc: HelpDoc): ReadonlyArray<Section> => {
  // Every command inherits the root's flags.
  const isRoot = (doc.commandPath ?? []).length < 2
  const shared = isRoot ? doc.flags : doc.inheritedFlags ?? []
  return [
    ...(doc.subcommands ?? []).map(({ commands, group }) => ({
      title: group ?? "Commands",
      rows: commands.map((c) => [c.name, c.shortDescription ?? c.description] as const)
    })),
    {
      title: "Arguments",
      rows: (doc.args ?? []).map((arg) => [`<${arg.name}>`, text(arg.description)] as const)
    },
    { title: "Flags", rows: isRoot ? [] : flags(doc.flags) },
    { title: "Flags of every command", rows: flags([...shared, ...doc.globalFlags ?? []]) },
    { title: "Next", rows: Context.get(doc.annotations, Next) }
  ].filter(({ rows }) => rows.length > 0)
}

const formatHelp = (doc: HelpDoc, paint: Paint, width: number): string => {
  const room = Math.min(width, 90)
  const title = (name: string) => paint.bold(name)
  return [
    wrap(doc.description, room).join("\n"),
    `${title("Usage")}\n  ${paint.cyan(usage(doc))}`,
    ...(doc.examples === undefined ? [] : [
      `${title("Examples")}\n${
        doc.examples.map(({ command, description }) =>
          [...(description === undefined ? [] : [`  ${paint.dim(`# ${description}`)}`]), `  ${command}`].join("\n")
        ).join("\n")
      }`
    ]),
    ...sectionsOf(doc).map(({ rows, title: name }) => `${title(name)}\n${definitions(rows, room)}`)
  ].join("\n\n")
}

const toJson = (doc: HelpDoc) => ({
  command: (doc.commandPath ?? []).join(" "),
  description: doc.description,
  usage: usage(doc),
  examples: doc.examples ?? [],
  sections: sectionsOf(doc).map(({ rows, title }) => ({
    title,
    entries: rows.map(([name, description]) => ({ name, description }))
  }))
})

/** Prints `--help` and `--version`. Wrong usage is reported like other failures, in failure.ts. */
export const presenter: Effect.Effect<CliOutput.Presenter, never, Output> = Effect.map(
  Effect.service(Output),
  (output) => ({
    present: (event) => {
      switch (event._tag) {
        case "Help": {
          const { helpDoc } = event
          if (event.reason === "Requested") {
            return output.answer(toJson(helpDoc), (paint) => formatHelp(helpDoc, paint, output.width))
          }
          return output.json ? Effect.void : output.say(`${formatHelp(helpDoc, output.talkPaint, output.width)}\n`)
        }
        case "Version":
          return output.answer({ name: "kiwi", version }, () => `kiwi ${version}`)
        case "InvalidInvocation":
          return Effect.void
      }
    }
  })
)

/** What `kiwi` without arguments prints. */
export const welcome = (paint: Paint, project: { readonly root: string } | undefined): string =>
  [
    `${paint.bold("Kiwi")} ${version} finds, proves, permits, runs and records tools for AI agents.`,
    `${paint.bold("Start")}\n${
      definitions([
        ["kiwi init", "make this folder a project that works at once, and see how to connect your agent"],
        ["kiwi search WORDS", "find tools, directives and knowledge, and whether they can run now"],
        ["kiwi explain ID", "why something does not run, and the command that helps"],
        ["kiwi serve", "the MCP server that an agent starts"],
        ["kiwi --help", "all commands"]
      ], 80)
    }`,
    project === undefined
      ? "There is no project here yet: no folder from here upwards has an .ai."
      : indented([`Project: ${project.root}`], 0)
  ].join("\n\n")
