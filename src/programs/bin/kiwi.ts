/** The `kiwi` program: gives the command line its process (arguments, streams, variables) and sets the exit code. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { Scheduler } from "effect/Scheduler"
import { userInfo } from "node:os"
import { isatty } from "node:tty"
import * as LineageNode from "../../layers/presence/LineageNode.ts"
import * as ProjectsOnDemand from "../../layers/ProjectsOnDemand.ts"
import * as KiwiHomeNode from "../../layers/workspace/KiwiHomeNode.ts"
import { parsePlainServe, plainServe } from "../cli/plainServe.ts"
import type { Pipe } from "../cli/Shell.ts"
import { Shell } from "../cli/Shell.ts"
import { toExitCode } from "../cli/toExitCode.ts"
import { reserveStdout } from "../mcp/transport/reserveStdout.ts"
import { TurnScheduler } from "./TurnScheduler.ts"

const toPipe = (stream: NodeJS.WriteStream): Pipe => {
  // A closed pipe is not a failure: in `kiwi logs | head`, head ends first.
  stream.on("error", () => {})
  return {
    isTerminal: stream.isTTY === true,
    // A terminal that does not know its size reports 0.
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
  stdin: { isTerminal: isatty(0) },
  stdout: toPipe(process.stdout),
  stderr: toPipe(process.stderr),
  protocol: Effect.sync(() => ({ input: process.stdin, output: reserveStdout(process) }))
}))

const args = process.argv.slice(2)

// Setting a title would overwrite the arguments, by which child processes recognise Kiwi.
if (/(^|\s)--title\b/.test([...process.execArgv, process.env["NODE_OPTIONS"]].join(" "))) {
  process.title = ["kiwi", ...args].join(" ")
}
const plain = parsePlainServe(args)

// Clients start `kiwi serve` for every session, so it loads the server only. Everything else loads the command line.
const program = plain === undefined
  ? Effect.flatMap(Effect.promise(() => import("./commands.ts")), ({ run }) => run(args))
  : plainServe(plain).pipe(
    Effect.provide(Layer.provideMerge(ProjectsOnDemand.layer, KiwiHomeNode.layer)),
    toExitCode(false),
    Effect.provide(Layer.merge(NodeFileSystem.layer, NodePath.layer))
  )

program.pipe(
  Effect.provide(Layer.merge(shell, LineageNode.layer)),
  Effect.provideService(Scheduler, new TurnScheduler()),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit) => process.exit(Exit.isSuccess(exit) ? Number(exit.value) : 130)
  })
)
