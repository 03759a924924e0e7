// The `subprocess` primitive: an argv, never a shell. The child cannot read the server's stdin or write to its stdout.
// Output is captured as it arrives, and shaped when the child has exited.
import { Effect, Result, type Scope } from "effect"
import * as Redacted from "effect/Redacted"
import { randomUUID } from "node:crypto"
import * as Fs from "node:fs"
import { platform } from "node:os"
import * as Path from "node:path"
import { redactText } from "../../services/audit/redaction.ts"
import { parseJsonOutput } from "../../services/primitive/jsonOutput.ts"
import { Outputs } from "../../services/primitive/Outputs.ts"
import { type PrimitiveInput, type PrimitiveResult } from "../../services/primitive/Primitive.ts"
import {
  ParametersUnpassable,
  type PrimitiveError,
  ToolFailed,
  ToolOutputInvalid,
  ToolTimeout,
  ToolUnstartable
} from "../../services/primitive/PrimitiveErrors.ts"
import {
  limitsOf,
  planSubprocess,
  type ProcessLimits,
  type SubprocessPlan
} from "../../services/primitive/SubprocessConfig.ts"
import { type ChildExit, ChildProcesses, type SpawnFailure } from "../../services/process/ChildProcesses.ts"
import { isInside } from "../files/isInside.ts"
import { type Limited, limited, makeHost, notStarted } from "../process/limits.ts"
import { makeFindProgram, type ProgramQuery } from "../process/programFile.ts"
import { type Capture, type CaptureLimits, makeCapture } from "./captureOutput.ts"
import { makeReporter } from "./reportLines.ts"

/** How much of a tool's output an error includes, in characters. */
const errorTail = 4_096

/** What must be known of the machine before a program starts: this machine, or a fake one. */
export interface ProcessHost {
  /** The folder `asked` below `root`, or `root` itself; or what is wrong with it. */
  readonly folder: (root: string, asked: string | undefined) => Result.Result<string, string>
  /** The file for a command; or what is wrong, as text or as an error code of the operating system. */
  readonly program: (query: ProgramQuery) => Result.Result<string, string>
  /** The argv that runs another argv within limits. */
  readonly limited: (
    argv: ReadonlyArray<string>,
    limits: ProcessLimits,
    env: Readonly<Record<string, string>>
  ) => Result.Result<Limited, string>
}

/** The folder that the config names, inside the working directory. A link that leads out of it is refused. */
const workingDirectory: ProcessHost["folder"] = (cwd, asked) => {
  if (asked === undefined) return Fs.existsSync(cwd) ? Result.succeed(cwd) : Result.fail("is gone")
  if (asked.includes("\0")) return Result.fail("contains a NUL character")
  return Result.flatMap(
    Result.try({
      try: () => {
        const root = Fs.realpathSync(cwd)
        const folder = Fs.realpathSync(Path.resolve(root, asked))
        return { root, folder, isFolder: Fs.statSync(folder).isDirectory() }
      },
      catch: () => "does not exist"
    }),
    ({ folder, isFolder, root }) =>
      !isInside(root, folder)
        ? Result.fail("is outside the project")
        : isFolder
        ? Result.succeed(folder)
        : Result.fail("is not a folder")
  )
}

const startIssues: Readonly<Record<string, string>> = {
  ENOENT: "no such program",
  EACCES: "not executable for you",
  EPERM: "not permitted",
  ENOTDIR: "a part of its path is not a folder",
  ELOOP: "too many links in its path",
  E2BIG: "its arguments and environment are too large for this machine",
  EAGAIN: "this machine allows no more processes",
  ENOMEM: "out of memory",
  EMFILE: "too many open files",
  ENFILE: "too many open files",
  ERR_INVALID_ARG_VALUE: "an argument or a variable contains a NUL character"
}

/** Error codes of a machine that is overloaded for the moment. */
const passing: ReadonlySet<string> = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"])

/** Secrets are removed before shortening: a part of one with a slash would otherwise remain. */
const shownCommand = ({ secrets = [] }: PrimitiveInput, { config }: SubprocessPlan): string => {
  const command = redactText(config.command, secrets)
  return Path.isAbsolute(command) ? Path.basename(command) : command
}

const cannotStart = (input: PrimitiveInput, plan: SubprocessPlan, issue: string, transient = false): PrimitiveError =>
  new ToolUnstartable({
    tool: input.tool,
    command: shownCommand(input, plan),
    issue,
    field: "command",
    ...(transient ? { transient } : {})
  })

const unstartable = (input: PrimitiveInput, plan: SubprocessPlan, failure: SpawnFailure): PrimitiveError => {
  const rest = Object.entries(input.parameters).map(([name, value]) => [name, JSON.stringify(value).length] as const)
  const largest = rest.toSorted(([, a], [, b]) => b - a)[0]
  if (failure.code === "E2BIG" && plan.stdin === undefined && largest !== undefined) {
    return new ParametersUnpassable({
      tool: input.tool,
      issues: [{
        field: largest[0],
        error: `is too long for an argument or a variable (${
          largest[1].toLocaleString("en-US")
        } characters); with input: stdin it has any length`
      }]
    })
  }
  return cannotStart(input, plan, startIssues[failure.code] ?? failure.code, passing.has(failure.code))
}

const tailOf = (stdout: Capture, stderr: Capture, json: boolean): string => {
  const said = stderr.tail(errorTail).trim()
  const answered = said === "" || json ? stdout.tail(errorTail).trim() : ""
  if (said === "" || answered === "") return said === "" ? answered : said
  // A tool with JSON output reports its errors there, and logs to stderr.
  const half = errorTail / 2
  return `${stdout.tail(half).trim()}\n${stderr.tail(half).trim()}`
}

/** Signals that tell which limit was exceeded. */
const limitSignals: Readonly<Record<string, string>> = {
  SIGXCPU: " (its limit on CPU time)",
  SIGXFSZ: " (its limit on the size of a file)"
}

const howItEnded = (exit: ChildExit): string | undefined =>
  exit.signal !== null
    ? `signal ${exit.signal}${limitSignals[exit.signal] ?? ""}`
    : exit.code === 0
    ? undefined
    : `exit code ${exit.code}`

export interface SubprocessOptions extends CaptureLimits {
  /** Milliseconds between TERM and KILL. */
  readonly grace: number
  /** In milliseconds; for a tool without its own. */
  readonly timeout: number
  /** The limits for every tool, unless it asks for lower ones. If one cannot be set, nothing runs. */
  readonly limits?: ProcessLimits
}

export const makeWith = Effect.fnUntraced(function*(host: ProcessHost, options: SubprocessOptions) {
  const children = yield* ChildProcesses
  const outputs = yield* Outputs

  const shape = Effect.fnUntraced(
    function*(
      input: PrimitiveInput,
      json: boolean,
      exit: ChildExit,
      stdout: Capture,
      stderr: Capture
    ): Effect.fn.Return<PrimitiveResult, PrimitiveError> {
      const how = howItEnded(exit)
      if (how !== undefined) {
        return yield* new ToolFailed({ tool: input.tool, how, output: tailOf(stdout, stderr, json) })
      }
      const [out, err] = [yield* stdout.finish, yield* stderr.finish]
      const metadata = { exit_code: exit.code ?? 0, stdout: out, stderr: err }
      if (!json) return { data: out.text, metadata }
      const parsed = out.spilled === undefined && out.dropped === 0
        ? parseJsonOutput(out.text)
        : Result.fail(out.binary === true ? "it is not UTF-8" : `it is ${out.bytes.toLocaleString("en-US")} bytes long`)
      if (Result.isFailure(parsed)) {
        return yield* new ToolOutputInvalid({
          tool: input.tool,
          issue: parsed.failure,
          output: tailOf(stdout, stderr, true)
        })
      }
      return { data: parsed.success, metadata }
    }
  )

  const run = Effect.fnUntraced(
    function*(input: PrimitiveInput): Effect.fn.Return<PrimitiveResult, PrimitiveError, Scope.Scope> {
      const plan = yield* Effect.fromResult(planSubprocess(input))
      const { config } = plan
      const cwd = host.folder(input.cwd, config.cwd)
      if (Result.isFailure(cwd)) {
        return yield* new ToolUnstartable({
          tool: input.tool,
          command: shownCommand(input, plan),
          issue: `its working directory${config.cwd === undefined ? "" : ` ${config.cwd}`} ${cwd.failure}`,
          field: "cwd"
        })
      }
      const env: Record<string, string> = Object.create(null)
      for (const [name, variable] of input.env) env[name] = Redacted.value(variable.value)
      for (const [name, value] of plan.env) env[name] = value

      const program = host.program({
        command: config.command,
        folder: cwd.success,
        project: input.cwd,
        searchPath: env["PATH"]
      })
      if (Result.isFailure(program)) {
        return yield* cannotStart(input, plan, startIssues[program.failure] ?? program.failure)
      }
      const argv = [program.success, ...plan.argv.slice(1)]
      const within = host.limited(argv, limitsOf(config.limits, options.limits ?? {}), env)
      if (Result.isFailure(within)) return yield* cannotStart(input, plan, within.failure)
      const { refusal } = within.success

      const json = config.output === "json"
      const millis = config.timeout === undefined ? options.timeout : Math.max(1, Math.round(config.timeout * 1_000))
      const limits = { inline: options.inline, spill: options.spill, secrets: input.secrets }
      const stdout = makeCapture(outputs, limits)
      const stderr = makeCapture(outputs, limits)
      yield* Effect.addFinalizer(() => Effect.andThen(stdout.close, stderr.close))
      const report = makeReporter(input, yield* Effect.scope)

      const changed = input.confirm === undefined ? undefined : yield* input.confirm
      if (changed !== undefined) return yield* cannotStart(input, plan, changed)
      yield* report.start
      const exit = yield* children.run({
        name: input.tool,
        isolation: input.isolation,
        argv: within.success.argv,
        cwd: cwd.success,
        env,
        mark: "KIWI_CALL",
        stdin: plan.stdin,
        stdout: (chunk) => {
          if (!json) report.push("stdout", chunk)
          return stdout.take(chunk)
        },
        stderr: (chunk) => {
          report.push("stderr", chunk)
          return stderr.take(chunk)
        },
        serve: input.serve,
        within: {
          millis,
          expired: () => new ToolTimeout({ tool: input.tool, after: millis, output: tailOf(stdout, stderr, json) })
        },
        grace: options.grace
      }).pipe(
        Effect.catchTags({
          SpawnFailure: (failure) => Effect.fail(unstartable(input, plan, failure)),
          OutputTooLarge: ({ limit }) =>
            Effect.fail(
              new ToolFailed({
                tool: input.tool,
                how: `more than ${limit.toLocaleString("en-US")} bytes of output`,
                output: tailOf(stdout, stderr, json)
              })
            )
        })
      )
      yield* report.finish
      if (refusal !== "" && exit.code === notStarted) {
        const [, which] = stderr.tail(errorTail).split("\n").find((line) =>
          line.startsWith(`${refusal} `)
        )?.split(" ") ??
          []
        if (which !== undefined) {
          return yield* cannotStart(input, plan, `its limit ${which} cannot be set on this machine`)
        }
      }
      return yield* shape(input, json, exit, stdout, stderr)
    },
    Effect.scoped
  )

  return { run, plan: planSubprocess }
})

export const make = Effect.fnUntraced(function*(options: SubprocessOptions) {
  const machine = makeHost(platform())
  return yield* makeWith({
    folder: workingDirectory,
    program: makeFindProgram(),
    limited: (argv, limits, env) => limited(argv, limits, env, randomUUID, machine)
  }, options)
})
