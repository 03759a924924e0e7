// The output of a command: its answer on stdout, for people or as exactly one JSON value, and everything else on
// stderr. Colour only on a terminal, and not if NO_COLOR is set.
import { Clock, Context, Effect, Fiber, Layer, Ref } from "effect"
import { escapeJson, safeLine } from "../../services/error/safeText.ts"
import { Shell, variable } from "./Shell.ts"
import type { Pipe } from "./Shell.ts"
import { colored, duration, uncolored } from "./text.ts"
import type { Paint } from "./text.ts"

export class Output extends Context.Service<Output, {
  readonly json: boolean
  /** For text on stdout. */
  readonly paint: Paint
  /** For text on stderr. */
  readonly talkPaint: Paint
  /** Columns for the layout of text: those of the terminal, at most 100. */
  readonly width: number
  /** Whether stdout is a terminal. Text that a terminal would act on has to be escaped then. */
  readonly isTerminal: boolean
  /** Prints the answer: one value with `--json`, else a text for people, given without a line break at its end. */
  readonly answer: (value: unknown, text: (paint: Paint) => string) => Effect.Effect<void>
  /** Prints one or more lines on stderr. */
  readonly say: (text: string) => Effect.Effect<void>
  /** Makes the command exit with 1 after its answer: a check found something. */
  readonly failed: Effect.Effect<void>
  readonly exitCode: Effect.Effect<number>
  /** Shows a spinner on a terminal while an effect runs for more than a second. `progress` changes its text. */
  readonly busy: <A, E, R>(
    what: string,
    run: (progress: (what: string) => Effect.Effect<void>) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
}>()("kiwi/programs/cli/Output") {}

/** Whether `--json` was given. Known before the arguments are parsed, so that wrong usage is reported as JSON too. */
export const wantsJson = (args: ReadonlyArray<string>): boolean => {
  const end = args.indexOf("--")
  const given = end === -1 ? args : args.slice(0, end)
  const at = given.findLastIndex((arg) => arg === "--json" || arg.startsWith("--json="))
  if (at === -1) return false
  const value = given[at] === "--json" ? given[at + 1] : given[at]?.slice("--json=".length)
  return !/^(false|no|off|0|n)$/.test(value ?? "")
}

const wantsColor = (env: Shell["Service"]["env"], pipe: Pipe): boolean => {
  if (variable(env, "NO_COLOR") !== undefined || variable(env, "TERM") === "dumb") return false
  return pipe.isTerminal
}

/** JSON in which characters that a terminal would act on or hide are escaped. The value is the same. */
export const printJson = (value: unknown, indent?: number): string =>
  escapeJson(JSON.stringify(value, null, indent) ?? "null")

const eraseLine = "\r\u001b[2K"

const makeBusy = (pipe: Pipe, paint: Paint): Output["Service"]["busy"] => (what, run) => {
  if (!pipe.isTerminal) return run(() => Effect.void)
  return Effect.gen(function*() {
    const label = yield* Ref.make(what)
    const drawn = yield* Ref.make(false)
    const start = yield* Clock.currentTimeMillis
    const draw = Effect.gen(function*() {
      const took = (yield* Clock.currentTimeMillis) - start
      const room = Math.max(10, pipe.columns - 12)
      yield* Ref.set(drawn, true)
      yield* pipe.write(`${eraseLine}${paint.dim(`${safeLine(yield* Ref.get(label), room)}… ${duration(took)}`)}`)
      yield* Effect.sleep("200 millis")
    })
    const drawing = yield* Effect.forkChild(Effect.andThen(Effect.sleep("1 second"), Effect.forever(draw)))
    const erase = Fiber.interrupt(drawing).pipe(
      Effect.andThen(Ref.get(drawn)),
      Effect.flatMap((was) => was ? pipe.write(eraseLine) : Effect.void)
    )
    return yield* Effect.ensuring(run((next) => Ref.set(label, next)), erase)
  })
}

export const make = Effect.fnUntraced(function*(json: boolean) {
  const { env, stderr, stdout } = yield* Shell
  const failed = yield* Ref.make(false)
  const paint = wantsColor(env, stdout) ? colored : uncolored
  const talkPaint = wantsColor(env, stderr) ? colored : uncolored
  return Output.of({
    json,
    paint,
    talkPaint,
    width: Math.max(40, Math.min(stdout.columns, 100)),
    isTerminal: stdout.isTerminal,
    answer: (value, text) =>
      Effect.suspend(() => {
        const printed = json ? printJson(value, stdout.isTerminal ? 2 : undefined) : text(paint)
        return printed === "" ? Effect.void : stdout.write(`${printed}\n`)
      }),
    say: (text) => stderr.write(`${text}\n`),
    failed: Ref.set(failed, true),
    exitCode: Effect.map(Ref.get(failed), (f) => f ? 1 : 0),
    busy: makeBusy(stderr, talkPaint)
  })
})

export const layer = (json: boolean) => Layer.effect(Output, make(json))
