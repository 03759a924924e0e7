// permissions suggest: rules made of what a person agreed to.
import { Effect } from "effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import type { SuggestedRules, UnsuggestedCall } from "../../permissionSuggestions.ts"
import { applySuggestions, suggestPermissions } from "../../permissionSuggestions.ts"
import { withNext } from "../help.ts"
import { withGate, yesFlag } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import type { Paint } from "../text.ts"

const callLine = ({ caller: client, item, touches, why }: UnsuggestedCall): string => {
  const what = touches.length === 0 ? "" : ` (${touches.join(", ")})`
  return `  ${safeLine(`${item}${what} for ${client}`, 300)}: ${safeLine(why, 400)}`
}

const section = (title: string, calls: ReadonlyArray<UnsuggestedCall>, paint: Paint): ReadonlyArray<string> =>
  calls.length === 0 ? [] : ["", paint.bold(title), ...calls.map(callLine)]

const show = ({ days, diff, file, left, refused }: SuggestedRules, paint: Paint): string =>
  [
    diff === ""
      ? `No rule is proposed from the last ${days} ${days === 1 ? "day" : "days"}.`
      : `${paint.bold(`For ${file}:`)}\n${safeText(diff)}`,
    ...section("Agreed to, and not proposed:", left, paint),
    ...section("Refused, and never proposed:", refused, paint)
  ].join("\n")

export const permissionsSuggestCommand = Command.make("suggest", {
  days: Flag.Int("days").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("How many days to look back"),
    Flag.withDefault(7),
    Flag.filter((days) => days >= 1 && days <= 3_650, () => "must be from 1 to 3650")
  ),
  tier: Flag.Literals("tier", ["user", "project"]).pipe(
    Flag.withMetavar("TIER"),
    Flag.withDescription("The file that the rules are for"),
    Flag.withDefault("user")
  ),
  apply: Flag.Boolean("apply").pipe(
    Flag.withDescription("Add the rules, after you have seen the change"),
    Flag.withDefault(false)
  ),
  yes: yesFlag
}, ({ apply, days, tier, yes }) =>
  Effect.gen(function*() {
    const output = yield* Output
    if (!apply) {
      const suggested = yield* inProject(() => suggestPermissions(days, tier))
      yield* output.answer({ ...suggested }, (paint) => show(suggested, paint))
      if (!output.json && suggested.rules.length > 0) {
        yield* output.say(`To add them: kiwi permissions suggest --days ${days} --apply`)
      }
      return
    }
    const by = yield* caller
    const { accepted, suggested } = yield* inProject(() => applySuggestions(days, tier, by)).pipe(withGate(yes))
    const added = accepted === undefined ? [] : suggested.rules
    yield* output.answer(
      { ...suggested, added, accepted: accepted ?? false },
      (paint) =>
        added.length === 0
          ? show(suggested, paint)
          : added.map((rule) => `${paint.green("added")} ${safeLine(rule, 400)} in ${suggested.file}`).join("\n")
    )
  })).pipe(
    Command.withDescription(
      "Propose the narrowest rules that would have let through what you have agreed to lately, as a change of your " +
        "permissions.yaml. One file, command, host or secret is one rule; three and more become a folder or a subcommand, " +
        "unless you refused something in it. Nothing is changed without --apply, which shows the change and asks you."
    ),
    Command.withShortDescription("Propose rules from what you have agreed to"),
    Command.withExamples([
      { command: "kiwi permissions suggest" },
      { command: "kiwi permissions suggest --days 30 --apply" }
    ]),
    withNext(["kiwi permissions list", "all rules"], ["kiwi permissions remove ID", "take one back"])
  )
