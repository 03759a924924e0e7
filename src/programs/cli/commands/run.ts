// run and explain: use an item, and show why it does not run.
import { Effect, Option, Result, Stdio, Stream } from "effect"
import type { Schema } from "effect"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { readText } from "../../../layers/files/readRegular.ts"
import { CallEvents } from "../../../services/call/CallEvents.ts"
import { newCallId } from "../../../services/call/callId.ts"
import { forCommand } from "../../../services/error/commandRemedy.ts"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { ItemType } from "../../../services/item/ItemId.ts"
import { LockMode } from "../../../services/lockfile/LockMode.ts"
import { maxOutputRange, Outputs } from "../../../services/primitive/Outputs.ts"
import { shellWord } from "../../../services/text/shellWord.ts"
import { withApproval } from "../../approvals.ts"
import { execute } from "../../execute.ts"
import { checkWords, explain } from "../../explain.ts"
import type { Explanation } from "../../explain.ts"
import { renderError } from "../failure.ts"
import { withNext } from "../help.ts"
import { withGate } from "../HumanGateTerminal.ts"
import { Output, printJson } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { Shell } from "../Shell.ts"
import { definitions, duration, indented } from "../text.ts"
import type { Paint } from "../text.ts"
import { tierFlag, typeArgument } from "./search.ts"

const invalid = (value: string, expected: string) =>
  new CliError.InvalidValue({
    option: "params",
    value: value.length <= 120 ? value : `${value.slice(0, 119)}…`,
    expected,
    kind: "flag"
  })

const isObject = (value: unknown): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const longestParams = 64 * 1_048_576

const readParams = Effect.fnUntraced(function*(given: string) {
  const { stdin } = yield* Stdio.Stdio
  const text = given === "-"
    ? yield* Effect.mapError(
      Stream.mkString(Stream.decodeText(stdin)),
      () => invalid(given, "a stdin that can be read")
    )
    : given.startsWith("@")
    ? yield* Effect.fromNullishOr(readText(given.slice(1), { maxBytes: longestParams, follow: true })).pipe(
      Effect.mapError(() => invalid(given, "a regular file that can be read, of at most 64 MiB"))
    )
    : given
  const parsed = Result.try((): unknown => JSON.parse(text))
  if (Result.isSuccess(parsed) && isObject(parsed.success)) return parsed.success
  return yield* invalid(text.trim(), `one JSON object, such as --params '{"a": 1, "b": 2}'`)
})

export const paramsFlag = Flag.String("params").pipe(
  Flag.withMetavar("JSON"),
  Flag.withDescription("The parameters as one JSON object; - reads it from stdin, @FILE from a file"),
  Flag.mapEffect(readParams),
  Flag.optional
)

interface Step {
  readonly name: string
  readonly description: string
  readonly action: string
}

const isSteps = (value: unknown): value is ReadonlyArray<Step> =>
  Array.isArray(value) && value.every((step) => isObject(step) && typeof step["action"] === "string")

const followText = (data: unknown, paint: Paint): string => {
  const member = (name: string): unknown => isObject(data) && Object.hasOwn(data, name) ? data[name] : undefined
  const steps = member("steps")
  const about = member("description") ?? member("title")
  const content = member("content")
  return [
    paint.bold(safeLine(String(member("name") ?? ""))),
    ...(typeof about === "string" && about !== "" ? [safeText(about)] : []),
    ...(isSteps(steps)
      ? steps.map(({ action, description, name }, at) =>
        `\n${at + 1}. ${paint.bold(safeLine(name))}${description === "" ? "" : ` – ${safeText(description)}`}\n${
          indented(safeText(action).trim().split("\n"), 3)
        }`
      )
      : []),
    ...(typeof content === "string" && content !== "" ? ["", safeText(content).trimEnd()] : [])
  ].join("\n")
}

/** Text is printed as it is into a pipe, and escaped on a terminal; any other value as JSON. */
const dataText = (data: unknown, isTerminal: boolean): string => {
  if (typeof data !== "string") return printJson(data, 2)
  return (isTerminal ? safeText(data) : data).replace(/\n$/, "")
}

/** Prints a stored output whole and unchanged. */
const pipeKept = Effect.fnUntraced(function*(uri: string) {
  const { stdout } = yield* Shell
  const outputs = yield* Outputs
  for (let offset = 0, total = 1; offset < total;) {
    const range = yield* outputs.read(uri, { offset, length: maxOutputRange })
    offset += range.bytes.length
    total = range.bytes.length === 0 ? 0 : range.total
    yield* stdout.write(range.bytes)
  }
})

export const runCommand = Command.make("run", {
  type: typeArgument,
  id: Argument.String("id").pipe(Argument.withDescription("Its id, or category/id: add, math/add")),
  params: paramsFlag,
  dryRun: Flag.Boolean("dry-run").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Check everything and show what would run, but do not run it"),
    Flag.withDefault(false)
  ),
  lockfileMode: Flag.Literals("lockfile-mode", LockMode.literals).pipe(
    Flag.withDescription("What a lockfile means for this run. Used if it is stricter than the setting"),
    Flag.optional
  ),
  tier: tierFlag
}, (input) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const parameters = Option.getOrElse(input.params, () => ({}))
    const call = output.busy(`Running ${input.id}`, (progress) =>
      Effect.flatMap(newCallId, (callId) =>
        execute({
          id: input.id,
          type: input.type,
          tier: Option.getOrUndefined(input.tier),
          parameters,
          dryRun: input.dryRun,
          lockfileMode: Option.getOrUndefined(input.lockfileMode),
          callId
        }, by)).pipe(
          Effect.provideService(CallEvents, {
            emit: (event) => event._tag === "Progress" ? progress(event.message) : Effect.void
          })
        ))
    const done = yield* inProject(() => withApproval(call, by, 0)).pipe(withGate(false))
    const { data, metadata, status, warnings } = done
    const kept = "output" in metadata ? metadata.output : undefined
    const piped = kept !== undefined && typeof data === "string" && data !== kept.uri && !output.json &&
      !output.isTerminal
    if (piped) yield* inProject(() => pipeKept(kept.uri))
    else {
      yield* output.answer(done, (paint) =>
        status === "ready" ? followText(data, paint) : dataText(data, output.isTerminal))
    }
    if (output.json) {
      return
    }
    for (const { message } of warnings) {
      yield* output.say(`${output.talkPaint.yellow("warning")}: ${safeText(message)}`)
    }
    if ("stderr" in metadata && metadata.stderr !== undefined) {
      yield* output.say(safeText(metadata.stderr).trimEnd())
    }
    if (kept !== undefined && !piped) {
      yield* output.say(`The whole output, ${kept.bytes} bytes, goes into a pipe or file: kiwi run … > FILE`)
      yield* output.say(`It is kept for some days: kiwi run tool output_read --params '{"id": "${kept.uri}"}'`)
    }
    if (output.isTerminal && "duration_ms" in metadata) {
      const { id, version } = metadata.tool
      const took = duration(metadata.duration_ms)
      yield* output.say(output.talkPaint.dim(`${id} ${version}, ${status === "success" ? took : "not run"}`))
    }
  })).pipe(
    Command.withDescription(
      "Run a tool, or show the steps of a directive with your inputs filled in. Kiwi checks that the tool and everything " +
        "it is built on are what was signed, checks the parameters against the tool's own schema, runs it in a process " +
        "of its own and records the call. The tool's answer goes to stdout, everything else to stderr."
    ),
    Command.withShortDescription("Run a tool, or show the steps of a directive"),
    Command.withExamples([
      { command: `kiwi run tool add --params '{"a": 1, "b": 2}'` },
      {
        command: `echo '{"title": "Été 2026"}' | kiwi run tool slug --params -`,
        description: "Parameters from a pipe"
      },
      { command: `kiwi run tool add --params '{"a": 1, "b": 2}' --dry-run`, description: "Show the command only" },
      { command: `kiwi run directive write_tool --params '{"name": "hello", "purpose": "Greet"}'` }
    ]),
    withNext(
      ["kiwi explain ID", "why it does not run, and what to do"],
      ["kiwi logs", "what has run"]
    )
  )

const planText = (plan: unknown): string => {
  const member = (value: unknown, name: string): unknown =>
    isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  const argv = member(plan, "argv")
  if (Array.isArray(argv)) return safeText(argv.map((word) => shellWord(String(word))).join(" "))
  const request = member(plan, "request")
  if (isObject(request)) return safeText(`${String(request["method"])} ${String(request["url"])}`)
  return printJson(plan)
}

const explanationText = (
  found: Explanation,
  words: ReadonlyMap<string, string>,
  paint: Paint,
  width: number
): string => {
  const mark = (passed: boolean) => passed ? paint.green("✓") : paint.red("✗")
  const { blocked } = found
  return [
    `${paint.bold(`${found.type} ${safeLine(found.id)}`)}  ${
      found.ready ? paint.green("can run now") : paint.red("cannot run now")
    }`,
    definitions([
      ["file", safeLine(found.path, 400)],
      ...(found.signer === undefined ? [] : [["signer", safeLine(found.signer)] as const]),
      ...(found.chain ?? []).map((link, at) =>
        [
          at === 0 ? "chain" : "",
          `${"  ".repeat(at)}${safeLine(link.id)} ${safeLine(link.version)}  ${safeLine(link.path)}${
            link.signer === undefined ? "" : `  ${safeLine(link.signer)}`
          }`
        ] as const
      ),
      ...(found.rule === undefined ? [] : [["rule", safeLine(found.rule)] as const]),
      ...(found.isolation === undefined ? [] : [["isolation", safeLine(found.isolation)] as const]),
      ...(found.interpreter === undefined ? [] : [["interpreter", safeLine(found.interpreter.path, 400)] as const]),
      ...(found.packages === undefined ? [] : [["packages", safeLine(found.packages.join(", "), 400)] as const]),
      ...(found.environment === undefined || found.environment.length === 0 ? [] : [
        ["variables", found.environment.map(({ name, origin }) => `${safeLine(name)} (${origin})`).join(", ")] as const
      ]),
      ...(found.hides.length === 0 ? [] : [["hides", found.hides.map((place) => safeLine(place)).join(", ")] as const]),
      ...(found.plan === undefined ? [] : [["would run", planText(found.plan)] as const]),
      ...(found.needs_parameters === undefined ? [] : [["would run", "give --params to see the command"] as const])
    ], width),
    "",
    found.checks.map(({ check, passed }) => `${mark(passed)} ${words.get(check) ?? check}`).join("\n"),
    ...(found.warnings ?? []).map(({ message }) => `${paint.yellow("!")} ${safeText(message)}`),
    ...(blocked === undefined ? [] : ["", renderError(blocked.error, paint)])
  ].join("\n")
}

const isItemType = (text: string): text is ItemType => ItemType.literals.some((type) => type === text)

export const explainCommand = Command.make("explain", {
  item: Argument.String("item").pipe(
    Argument.withDescription("An id, or a type and an id: add, tool add, math/add"),
    Argument.variadic({ min: 1, max: 2 }),
    Argument.filter(
      ([first = "", second]) => second === undefined || isItemType(first),
      () => "Expected directive, tool or knowledge before the id"
    )
  ),
  params: paramsFlag,
  tier: tierFlag
}, (input) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const [first = "", second] = input.item
    const type = second !== undefined && isItemType(first) ? first : undefined
    const parameters = Option.getOrUndefined(input.params)
    const callId = yield* newCallId
    const query = { id: second ?? first, type, tier: Option.getOrUndefined(input.tier) }
    const [explained, words] = yield* inProject(() => Effect.all([explain(query, parameters, callId, by), checkWords]))
    const found = forCommand(explained)
    yield* output.answer(found, (paint) => explanationText(found, words, paint, output.width))
  })).pipe(
    Command.withDescription(
      "Explain why something does not run. Makes the same checks as a run – trust, chain, signatures, " +
        "rules, environment – stops at the first that fails, and names the command that helps. Changes nothing."
    ),
    Command.withShortDescription("Why something does not run, and what to do"),
    Command.withExamples([
      { command: "kiwi explain add" },
      { command: `kiwi explain tool add --params '{"a": 1, "b": 2}'`, description: "With the command that would run" }
    ]),
    withNext(["kiwi doctor", "check the machine instead of one item"])
  )
