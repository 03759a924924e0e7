// Prints a failure: for people an error line, its subject and a hint; for programs one JSON object. Never a stack
// trace: a defect gets an id instead, which is the same for the same defect.
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

/** The command line is wrong. */
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

/** Kiwi has a defect. */
export class Unexpected extends Schema.TaggedError<Unexpected>()("Unexpected", {
  /** Equal for the same defect, for a report. */
  id: Schema.String
}) {
  override get message() {
    return `Kiwi failed because of a defect in Kiwi (${this.id})`
  }
  get remediation() {
    return "Run `kiwi doctor`, which checks the usual causes; if it finds none, report this with the id"
  }
}

/** Details that the message has already are left out. */
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

/** An id from the defect's message and stack, so that the same defect has the same id. */
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
  // One mistake often causes others: an unknown command also counts as an argument too many.
  if (first === undefined) return { path, message: `${path.join(" ")} needs a command` }
  const all = first._tag === "UnknownSubcommand" ? [first] : [first, ...others]
  return { path, message: all.map((e) => e.message.replaceAll(/\n\s*\n/g, "\n")).join("\n") }
}

/** Prints a failure and returns the exit code. */
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
