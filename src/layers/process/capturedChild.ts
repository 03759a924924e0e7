// Runs a program for a builtin, at the level of its call: output is captured and reported as for any tool.
import { Duration, Effect } from "effect"
import * as Redacted from "effect/Redacted"
import { Outputs } from "../../services/primitive/Outputs.ts"
import type { CapturedOutput, PrimitiveInput } from "../../services/primitive/Primitive.ts"
import { ToolFailed, ToolTimeout, ToolUnstartable } from "../../services/primitive/PrimitiveErrors.ts"
import { type ChildExit, ChildProcesses } from "../../services/process/ChildProcesses.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { makeCapture } from "../primitive/captureOutput.ts"
import { makeReporter } from "../primitive/reportLines.ts"

/** Milliseconds between TERM and KILL. */
const grace = 2_000
const errorTail = 4_096

export interface CapturedChild {
  /** The first is an absolute path. */
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  /** In addition to the tool's own environment. */
  readonly variables?: Readonly<Record<string, string>>
  /** In milliseconds. Default, and the longest: the setting `subprocess.timeout`. */
  readonly within?: number | undefined
}

export interface CapturedExit extends ChildExit {
  readonly stdout: CapturedOutput
  readonly stderr: CapturedOutput
}

/** Any exit of its own is an answer. Fails if it cannot start, takes too long or writes too much. */
export const runCaptured = Effect.fnUntraced(
  function*(input: PrimitiveInput, { argv, cwd, variables, within }: CapturedChild) {
    const children = yield* ChildProcesses
    const outputs = yield* Outputs
    const { outputInline: inline, outputMax: spill, subprocessTimeout } = yield* (yield* Settings).current
    const millis = Math.min(within ?? Infinity, Duration.toMillis(subprocessTimeout))
    const env: Record<string, string> = Object.create(null)
    for (const [name, variable] of input.env) env[name] = Redacted.value(variable.value)
    const limits = { inline, spill, secrets: input.secrets }
    const [stdout, stderr] = [makeCapture(outputs, limits), makeCapture(outputs, limits)]
    yield* Effect.addFinalizer(() => Effect.andThen(stdout.close, stderr.close))
    const report = makeReporter(input, yield* Effect.scope)
    yield* report.start
    const tail = () => `${stdout.tail(errorTail / 2)}\n${stderr.tail(errorTail / 2)}`.trim()
    const exit = yield* children.run({
      name: input.tool,
      isolation: input.isolation,
      argv,
      cwd,
      env: { ...env, ...variables },
      mark: "KIWI_CALL",
      stdout: (chunk) => {
        report.push("stdout", chunk)
        return stdout.take(chunk)
      },
      stderr: (chunk) => {
        report.push("stderr", chunk)
        return stderr.take(chunk)
      },
      within: { millis, expired: () => new ToolTimeout({ tool: input.tool, after: millis, output: tail() }) },
      grace
    }).pipe(Effect.catchTags({
      SpawnFailure: ({ code }) =>
        Effect.fail(
          new ToolUnstartable({ tool: input.tool, command: argv[0]!.split("/").at(-1)!, issue: code, field: "command" })
        ),
      OutputTooLarge: ({ limit }) =>
        Effect.fail(new ToolFailed({ tool: input.tool, how: `more than ${limit} bytes of output`, output: tail() }))
    }))
    yield* report.finish
    return {
      ...exit,
      stdout: yield* stdout.finish,
      stderr: yield* stderr.finish
    } satisfies CapturedExit as CapturedExit
  },
  Effect.scoped
)
