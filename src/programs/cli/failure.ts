// How a failure reaches a person or a program: one error line, what it is about, and a hint; or one JSON object. Never
// a stack trace: an unexpected failure gets an id that is the same for the same failure.
import { Cause, Effect, Schema } from "effect"
import * as CliError from "effect/cli/CliError"
import { sha256 } from "../../layers/identity/sha256.ts"
import { commandRemedy, forCommand } from "../../services/error/commandRemedy.ts"
import type { ErrorCause, ErrorObject } from "../../services/error/KiwiError.ts"
import { isKiwiError, toErrorObject } from "../../services/error/KiwiError.ts"
import { safeLine, safeText } from "../../services/error/safeText.ts"
import { Output } from "./Output.ts"
import { indented } from "./text.ts"
import type { Paint } from "./text.ts"

/** The command line is not one that Kiwi has. */
export class InvalidUsage extends Schema.TaggedError<InvalidUsage>()("InvalidUsage", {
  /** The words that name the command: "kiwi trust add". */
  command: Schema.String,
  issue: Schema.String
}) {
  override get message() {
    return this.issue
  }
  get remediation() {
    return `${this.command} --help`
  }
}

/** Kiwi failed in a way that it should not be able to. */
export class Unexpected extends Schema.TaggedError<Unexpected>()("Unexpected", {
  /** The same for the same failure: what to report. */
  id: Schema.String
}) {
  override get message() {
    return `Kiwi failed in a way that it should not be able to (${this.id})`
  }
  get remediation() {
    return "Run `kiwi doctor`, which looks at the usual causes; if it finds none, report this with the id"
  }
}

/** What a message already says is not said again. */
const causes = (message: string, cause: ErrorCause | undefined): ReadonlyArray<string> =>
  cause === undefined ? [] : [
    ...(message.includes(cause.message) ? [] : [`because: ${safeText(cause.message)}`]),
    ...causes(message, cause.cause)
  ]

/** `error: …`, further lines indented, an empty line, `hint: …`. */
export const renderError = (error: ErrorObject, paint: Paint): string => {
  const [first = "", ...rest] = safeText(error.message).trim().split("\n")
  const more = [
    ...rest,
    ...(error.chain === undefined || error.chain.length < 2
      ? []
      : [`chain: ${error.chain.map((id) => safeLine(id)).join(" → ")}`]),
    ...(error.failed_at === undefined ? [] : [`failed at: ${safeLine(error.failed_at.config_path, 400)}`]),
    ...causes(error.message, error.cause)
  ]
  const hint = (error.remediation && commandRemedy(error.remediation)) ??
    (error.retryable ? "The same command may work later" : undefined)
  const head = `${paint.red(paint.bold("error"))}${paint.dim(`[${error.code}]`)}: ${first}`
  return [
    head,
    ...(more.length === 0 ? [] : [indented(more)]),
    ...(hint === undefined ? [] : ["", `${paint.cyan("hint")}: ${safeText(hint)}`])
  ].join("\n")
}

const report = Effect.fnUntraced(function*(failed: ErrorObject) {
  const output = yield* Output
  const error = forCommand(failed)
  if (output.json) return yield* output.answer({ error }, () => "")
  yield* output.say(renderError(error, output.talkPaint))
})

/** The same failure has the same id: what it said, and the places in the program that it came through. */
const failureId = (cause: Cause.Cause<unknown>): string => {
  const defect = Cause.squash(cause)
  const text = defect instanceof Error ? `${defect.name}\n${defect.stack ?? defect.message}` : String(defect)
  return sha256(text.replaceAll(/\/\S*\//g, "")).slice(0, 8)
}

/** The words that name the command: `kiwi trust add`. */
const usageErrors = (error: CliError.CliError): { readonly path: ReadonlyArray<string>; readonly message: string } => {
  if (error._tag !== "ShowHelp") return { path: ["kiwi"], message: error.message }
  const [first, ...others] = error.errors
  const path = error.commandPath
  // One mistake often makes others: an unknown command is also an argument too many.
  if (first === undefined) return { path, message: `${path.join(" ")} needs to know what to do` }
  const all = first._tag === "UnknownSubcommand" ? [first] : [first, ...others]
  return { path, message: all.map((e) => e.message.replaceAll(/\n\s*\n/g, "\n")).join("\n") }
}

/** Prints a failure and says how the process is to end. */
export const fail = Effect.fnUntraced(function*(cause: Cause.Cause<unknown>) {
  const failure = cause.reasons.find(Cause.isFailReason)
  const error = failure?.error
  if (CliError.isCliError(error)) {
    const { message, path } = usageErrors(error)
    const issue = message.replaceAll("Unknown subcommand", "Unknown command")
    yield* report(toErrorObject(new InvalidUsage({ command: path.join(" "), issue })))
    return 2
  }
  const known = failure !== undefined && isKiwiError(error) ? error : new Unexpected({ id: failureId(cause) })
  yield* report(toErrorObject(known))
  return 1
})
