// Runs one command of the tree in this process, with a captured shell. The kernel is whatever a test gives.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Stdio, Stream } from "effect"
import { PassThrough } from "node:stream"
import type { KernelOptionInvalid } from "../../../src/layers/kernelOptions.ts"
import * as LineageMemory from "../../../src/layers/presence/LineageMemory.ts"
import { type KernelServices, runKiwi } from "../../../src/programs/cli/kiwi.ts"
import { type Pipe, Shell } from "../../../src/programs/cli/Shell.ts"
import { type OpenTerminal, TerminalDevice } from "../../../src/programs/cli/TerminalDevice.ts"
import type { HomeRefused } from "../../../src/services/workspace/KiwiHome.ts"

export interface CliOptions {
  readonly env?: Record<string, string>
  readonly cwd?: string
  readonly stdin?: string
  /** Whether stdout and stderr are a terminal. */
  readonly terminal?: boolean
  /** Whether stdin is one too, as a person's is. */
  readonly terminalStdin?: boolean
  readonly columns?: number
  /** What a person answers on the controlling terminal; none without one. */
  readonly answers?: ReadonlyArray<string>
  readonly kernel?: Layer.Layer<KernelServices, HomeRefused | KernelOptionInvalid>
}

export interface CliRun {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** What was written to the controlling terminal. */
  readonly shown: string
}

const silent: Pipe = { isTerminal: false, columns: 80, write: () => Effect.void }

export const testShell = (parts: Partial<Shell["Service"]>) =>
  Shell.of({
    env: {},
    cwd: "/",
    user: "tester",
    platform: "linux",
    node: "24.0.0",
    started: { node: "/usr/bin/node", script: "/opt/kiwi/bin/kiwi.cjs" },
    stdin: { isTerminal: false },
    stdout: silent,
    stderr: silent,
    protocol: Effect.succeed({ input: new PassThrough(), output: new PassThrough() }),
    ...parts
  })

/** A kernel that must not be needed. */
export const noKernel: Layer.Layer<KernelServices> = Layer.effectContext(Effect.die("the kernel was built"))

export const device = (answers: ReadonlyArray<string> | undefined, show: (text: string) => void, rows = 0) => {
  const left = [...answers ?? []]
  const next = Effect.sync(() => left.shift())
  const terminal: OpenTerminal = {
    name: "/dev/pts/7",
    size: () => ({ columns: 80, rows }),
    write: (text) => Effect.sync(() => show(text)),
    readLine: (prompt) => Effect.andThen(Effect.sync(() => show(prompt)), next),
    readKey: next,
    readPress: next,
    drop: Effect.void,
    readSecret: () => next
  }
  return TerminalDevice.of({ open: Effect.succeed(answers === undefined ? undefined : terminal) })
}

export const runCli = (args: ReadonlyArray<string>, options: CliOptions = {}): Effect.Effect<CliRun> =>
  Effect.gen(function*() {
    const written = { stdout: "", stderr: "", shown: "" }
    const pipe = (name: "stdout" | "stderr") => {
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
      return {
        isTerminal: options.terminal ?? false,
        columns: options.columns ?? 80,
        write: (data: string | Uint8Array) =>
          Effect.sync(() => {
            written[name] += typeof data === "string" ? data : decoder.decode(data, { stream: true })
          })
      }
    }
    const shell = testShell({
      env: options.env ?? {},
      cwd: options.cwd ?? "/",
      stdin: { isTerminal: options.terminalStdin ?? false },
      stdout: pipe("stdout"),
      stderr: pipe("stderr")
    })
    const terminal = device(options.answers, (text) => {
      written.shown += text
    })
    const code = yield* runKiwi(args, options.kernel ?? noKernel).pipe(
      Effect.provide(Layer.mergeAll(
        NodeServices.layer,
        Stdio.layerTest({ stdin: Stream.make(new TextEncoder().encode(options.stdin ?? "")) }),
        Layer.succeed(Shell, shell),
        Layer.succeed(TerminalDevice, terminal),
        LineageMemory.layer
      ))
    )
    return { code, ...written }
  })

/** Paths of every command of the tree, the root's own included as an empty one. */
export const commandPaths: ReadonlyArray<ReadonlyArray<string>> = [
  [],
  ["init"],
  ["serve"],
  ["demo"],
  ["search"],
  ["load"],
  ["run"],
  ["explain"],
  ["chain"],
  ["env"],
  ["env", "explain"],
  ["env", "secret"],
  ["env", "secret", "set"],
  ["env", "secret", "list"],
  ["env", "secret", "remove"],
  ["env", "sync"],
  ["env", "prune"],
  ["inbox"],
  ["approve"],
  ["reject"],
  ["status"],
  ["sign"],
  ["identity"],
  ["identity", "encrypt"],
  ["identity", "decrypt"],
  ["trust"],
  ["trust", "project"],
  ["trust", "add"],
  ["trust", "propose"],
  ["trust", "list"],
  ["trust", "remove"],
  ["client"],
  ["client", "add"],
  ["client", "list"],
  ["client", "remove"],
  ["permissions"],
  ["permissions", "list"],
  ["permissions", "allow"],
  ["permissions", "ask"],
  ["permissions", "deny"],
  ["permissions", "remove"],
  ["permissions", "check"],
  ["permissions", "explain"],
  ["profile"],
  ["profile", "list"],
  ["profile", "show"],
  ["lockfile"],
  ["lockfile", "freeze"],
  ["lockfile", "validate"],
  ["lockfile", "list"],
  ["lockfile", "prune"],
  ["lockfile", "diff"],
  ["lockfile", "verify"],
  ["lockfile", "outdated"],
  ["lockfile", "update"],
  ["logs"],
  ["audit"],
  ["audit", "verify"],
  ["audit", "tail"],
  ["audit", "show"],
  ["audit", "stats"],
  ["audit", "anchor"],
  ["audit", "export"],
  ["audit", "prune"],
  ["doctor"],
  ["completions"]
]
