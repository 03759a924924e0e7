// sign: sign items so that they run.
import { Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { sign } from "../../sign.ts"
import { withNext } from "../help.ts"
import { withGate, yesFlag } from "../HumanGateTerminal.ts"
import { withKeyPassphrase } from "../keyPassphrase.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { indented, table } from "../text.ts"
import { typeArgument } from "./search.ts"

export const signCommand = Command.make("sign", {
  type: typeArgument,
  id: Argument.String("id").pipe(
    Argument.withDescription("Its id, category/id, or a glob over them in quotes: add, math/add, 'math/*', '**'")
  ),
  changed: Flag.Boolean("changed").pipe(
    Flag.withoutNegation,
    Flag.withDescription(
      "Sign only what is not signed, or was changed after it was signed; lock what is signed and not locked"
    ),
    Flag.withDefault(false)
  ),
  tier: Flag.Literals("tier", ["project", "user"]).pipe(
    Flag.withMetavar("TIER"),
    Flag.withDescription("Only the project's items or the user's"),
    Flag.optional
  ),
  noFreeze: Flag.Boolean("no-freeze").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Leave lockfiles as they are"),
    Flag.withDefault(false)
  ),
  yes: yesFlag
}, (input) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const done = yield* inProject(() =>
      sign({
        id: input.id,
        type: input.type,
        tier: Option.getOrUndefined(input.tier),
        changedOnly: input.changed,
        freeze: !input.noFreeze
      }, by)
    ).pipe(withKeyPassphrase, withGate(input.yes))
    if (done.refused.length > 0) yield* output.failed
    yield* output.answer(done, (paint) =>
      table(
        [["signed", done.signed] as const, ["goes back to", done.went_back ?? []] as const].flatMap(([what, items]) =>
          items.map(({ id, path, type, version }) => [
            paint.green(what),
            type,
            paint.bold(safeLine(id)),
            safeLine(version),
            paint.dim(safeLine(path, 400))
          ])
        )
      ))
    if (output.json) {
      return
    }
    for (const { lockfile, path } of done.signed) {
      if (lockfile?.status === "generated" && lockfile.besides !== undefined) {
        yield* output.say(
          `${output.talkPaint.yellow("locked again, with changes beyond what was signed")}: ${safeLine(path, 400)}\n${
            indented(lockfile.besides.map((line) => safeLine(line, 400)))
          }`
        )
      }
      if (lockfile?.status !== "failed") continue
      yield* output.say(
        `${output.talkPaint.yellow("not locked")}: ${safeLine(path, 400)}\n${
          indented(safeText(lockfile.error.message).split("\n"))
        }`
      )
    }
    for (const path of done.locked ?? []) {
      yield* output.say(`${output.talkPaint.green("locked")}: ${safeLine(path, 400)}`)
    }
    for (const path of done.refrozen) {
      yield* output.say(`${output.talkPaint.dim("locked again")}: ${safeLine(path, 400)}`)
    }
    for (const { error, path, remediation } of done.refused) {
      yield* output.say(
        `${output.talkPaint.yellow("not signed")}: ${safeLine(path, 400)}\n${indented(safeText(error).split("\n"))}${
          remediation === undefined
            ? ""
            : `\n${indented([`${output.talkPaint.cyan("hint")}: ${safeText(remediation)}`])}`
        }`
      )
    }
    const isSigned = done.signed.length > 0 || done.went_back !== undefined || done.locked !== undefined
    if (!isSigned && done.refused.length === 0) {
      yield* output.say(
        input.changed ? "Everything is signed already, and nothing has changed since." : "There is nothing to sign."
      )
    }
  })).pipe(
    Command.withDescription(
      "Sign items so that they run. You are shown each item, its changes since you last signed it and what it may " +
        "do; exactly those bytes are signed, with the key of kiwi identity. Changing, moving or renaming the file " +
        "invalidates the signature."
    ),
    Command.withShortDescription("Sign items, so that they run"),
    Command.withExamples([
      { command: "kiwi sign tool add" },
      { command: "kiwi sign tool 'math/*'", description: "All tools of a category" },
      { command: "kiwi sign tool '**' --changed", description: "Everything new or changed; you are shown what" }
    ]),
    withNext(["kiwi run TYPE ID", "use what you signed"], ["kiwi trust add", "trust somebody else's signatures"])
  )
