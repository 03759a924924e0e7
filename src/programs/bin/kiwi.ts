/** The `kiwi` program: what the command line takes from its process, and how the process ends. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { userInfo } from "node:os"
import { runKiwi } from "../cli/kiwi.ts"
import type { Pipe } from "../cli/Shell.ts"
import { Shell } from "../cli/Shell.ts"
import * as TerminalDevice from "../cli/TerminalDevice.ts"
import { reserveStdout } from "../mcp/transport/reserveStdout.ts"

const toPipe = (stream: NodeJS.WriteStream): Pipe => {
  // A reader that went away is no failure: `kiwi logs | head` has what it wanted.
  stream.on("error", () => {})
  return {
    isTerminal: stream.isTTY === true,
    // A terminal that does not know its size says 0.
    columns: stream.columns > 0 ? stream.columns : 80,
    write: (text) =>
      Effect.callback((resume) => {
        stream.write(text, () => resume(Effect.void))
      })
  }
}

const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return "you"
  }
}

const shell = Layer.sync(Shell, () => ({
  env: process.env,
  cwd: process.cwd(),
  user: userName(),
  platform: process.platform,
  node: process.versions.node,
  started: { node: process.execPath, script: process.argv[1] ?? "" },
  stdout: toPipe(process.stdout),
  stderr: toPipe(process.stderr),
  protocol: Effect.sync(() => ({ input: process.stdin, output: reserveStdout(process) }))
}))

// Help, completions and wrong usage need no kernel, and do not load it.
const kernel = Layer.unwrap(Effect.gen(function*() {
  const KeychainOs = yield* Effect.promise(() => import("../../layers/identity/KeychainOs.ts"))
  const Kernel = yield* Effect.promise(() => import("../../layers/Kernel.ts"))
  return Layer.merge(Kernel.layerProjects(), KeychainOs.layer)
}))

runKiwi(process.argv.slice(2), kernel).pipe(
  Effect.provide(Layer.mergeAll(NodeServices.layer, shell, TerminalDevice.layer)),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit) => process.exit(Exit.isSuccess(exit) ? Number(exit.value) : 130)
  })
)
