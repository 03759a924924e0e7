// profile: what a client sees and may run that is served with kiwi serve --profile NAME.
import { Effect } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import { safeLine } from "../../../services/error/safeText.ts"
import { listProfiles, type ShownProfile, showProfile } from "../../profiles.ts"
import { withNext } from "../help.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { indented, type Paint, plural, table } from "../text.ts"

export const profileListCommand = Command.make("list", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const listed = yield* inProject(() => listProfiles())
    yield* output.answer({ ...listed }, (paint) =>
      listed.profiles.length === 0
        ? "There are no profiles: docs/profiles.md says how to write one."
        : table(listed.profiles.map(({ description = "", name, not_accepted, places }) => [
          paint.bold(name),
          safeLine(description, 300),
          `${paint.dim(places.join(", "))}${not_accepted === undefined ? "" : paint.yellow(" (not accepted yet)")}`
        ])))
  })).pipe(
    Command.withDescription(
      "Show the profiles of your profiles.yaml and of the project's: named sets of items, rules and tools for one kind of " +
        "client."
    ),
    Command.withShortDescription("Show the profiles that there are"),
    Command.withExamples([{ command: "kiwi profile list" }]),
    withNext(["kiwi profile show NAME", "what it holds"])
  )

/** More are counted. */
const mostShown = 50

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : ["", title, indented(lines)]

const profileText = (shown: ShownProfile, paint: Paint): string => {
  const { exposed, ignored, items, left_out, lockfile_mode, name, not_accepted, places, rules } = shown
  const more = items.length - mostShown
  return [
    `${paint.bold(name)}${shown.description === undefined ? "" : `: ${safeLine(shown.description, 300)}`}`,
    paint.dim(places.join(", ")),
    ...(not_accepted ?? []).map((place) =>
      paint.yellow(
        `${place} is not accepted yet as it is: it restricts, and allows and lists nothing. kiwi trust project`
      )
    ),
    ...(lockfile_mode === undefined ? [] : [`Lockfiles: at least ${lockfile_mode}`]),
    ...section(
      "Tools listed by name",
      exposed.map((tool) => `${paint.bold(tool.name)}  ${tool.tier}:${tool.id}`)
    ),
    ...section(
      paint.yellow("Not listed"),
      left_out.map(({ id, remedy, why }) => `${safeLine(id)}: ${why}${remedy === undefined ? "" : `. ${remedy}`}`)
    ),
    ...section("Rules", [
      ...rules.map(({ place, rule }) => `${safeLine(rule, 400)}  ${paint.dim(place)}`),
      ...(ignored === 0 ? [] : [
        `${
          plural(ignored, "rule")
        } that would allow something: nobody has accepted the file as it is, kiwi trust project`
      ])
    ]),
    ...section(`Items (${items.length})`, [
      ...items.slice(0, mostShown).map(({ id, tier, type }) => `${type} ${id}  ${paint.dim(tier)}`),
      ...(more > 0 ? [`… and ${more} more`] : [])
    ]),
    "",
    `kiwi serve --profile ${name}`
  ].join("\n")
}

export const profileShowCommand = Command.make("show", {
  name: Argument.String("name").pipe(Argument.withDescription("The profile's name: kiwi profile list"))
}, ({ name }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const shown = yield* inProject(() => showProfile(name, by))
    yield* output.answer({ ...shown }, (paint) => profileText(shown, paint))
  })).pipe(
    Command.withDescription(
      "Show what a profile holds: the tools that its server lists by name, and why others are not listed; its rules and " +
        "lock mode; every item that its clients see and may run."
    ),
    Command.withShortDescription("Show what a profile holds"),
    Command.withExamples([{ command: "kiwi profile show review" }]),
    withNext(["kiwi serve --profile NAME", "serve only that"], ["kiwi permissions explain TOOL", "which rule decides"])
  )

export const profileGroup = Command.make("profile").pipe(
  Command.withDescription("What a client sees and may run that is served with kiwi serve --profile NAME."),
  Command.withShortDescription("Named sets of items, rules and tools for a client"),
  Command.withExamples([{ command: "kiwi profile list" }, { command: "kiwi profile show review" }])
)
